#include "layer/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "sys/files.h"

#define TABLE_MAX (4 * 1024 * 1024)
#define READ_SIZE 65536

static const char table[] = "/proc/self/mountinfo";

static int fail(struct cordon_error *err, int errnum, const char *what)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, errnum, what, table);
}

void layer_mount_unescape(char *s)
{
    char *out = s;
    for (; *s != '\0'; s++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] != '\0' && s[3] != '\0') {
            *out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
            s += 3;
        } else {
            *out++ = *s;
        }
    }
    *out = '\0';
}

static int read_table(struct buf *text, struct cordon_error *err)
{
    FD_AUTO fd = sys_open(AT_FDCWD, table, O_RDONLY, 0);
    if (fd < 0)
        return fail(err, -fd, "open");
    for (ssize_t n = 1; n > 0; text->len += (size_t)n) {
        char *room = buf_reserve(text, READ_SIZE);
        n = room == NULL ? -ENOMEM : sys_read(fd, room, READ_SIZE);
        if (n < 0)
            return fail(err, (int)-n, "read");
    }
    return buf_string(text) == NULL ? fail(err, ENOMEM, "read") : 0;
}

/* "36 35 98:0 /part /point ...": the third to the fifth field. */
static bool read_line(char *line, struct host_mount *out)
{
    char *fields[5];
    for (int i = 0; i < 5; i++) {
        fields[i] = strsep(&line, " ");
        if (fields[i] == NULL)
            return false;
    }
    layer_mount_unescape(fields[3]);
    layer_mount_unescape(fields[4]);
    *out = (struct host_mount){fields[2], fields[3], fields[4]};
    return line != NULL && fields[4][0] == '/';
}

int layer_mount_table(struct arena *arena, const struct host_mount **out, size_t *count, struct cordon_error *err)
{
    BUF_AUTO text = BUF_INIT(TABLE_MAX);
    int r = read_table(&text, err);
    if (r < 0)
        return r;
    size_t lines = 1;
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    struct host_mount *mounts = arena_array(arena, lines, sizeof *mounts);
    char *rest = arena_strndup(arena, text.data, text.len);
    if (mounts == NULL || rest == NULL)
        return fail(err, ENOMEM, "read");
    *count = 0;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"))
        *count += read_line(line, &mounts[*count]);
    *out = mounts;
    return 0;
}
