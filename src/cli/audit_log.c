#include "cli/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cli/message.h"

#define LINE_MAX_BYTES 8192
#define SALT 16

/* From the file and not by getpwuid(), which a static program cannot have. */
static void user_name(char *out, size_t size)
{
    snprintf(out, size, "%u", (unsigned)getuid());
    FILE *file = fopen("/etc/passwd", "re");
    if (file == NULL)
        return;
    for (struct passwd *p = fgetpwent(file); p != NULL; p = fgetpwent(file)) {
        if (p->pw_uid == getuid()) {
            snprintf(out, size, "%s", p->pw_name);
            break;
        }
    }
    fclose(file);
}

/* With a salt of its own, so that equal inputs cannot be told from the log. */
static int hash_input(const struct audit_entry *entry, char salt[2 * SALT + 1], char hash[65])
{
    unsigned char bytes[SALT];
    BUF_AUTO text = BUF_INIT(entry->input_len + SALT);
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -EIO;
    buf_append(&text, bytes, sizeof bytes);
    buf_append(&text, entry->input, entry->input_len);
    if (text.failed)
        return -ENOMEM;
    sha256_hex(text.data, text.len, hash);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(salt + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int make_line(const struct audit_entry *entry, struct buf *line)
{
    struct json_writer w = JSON_WRITER(line, 0);
    char when[40];
    char user[64];
    char salt[2 * SALT + 1];
    char hash[65];
    struct tm utc;
    const time_t now = time(NULL);
    int r = entry->input == NULL ? 0 : hash_input(entry, salt, hash);
    if (r < 0)
        return r;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    user_name(user, sizeof user);
    json_begin(&w, '{');
    json_put_string(&w, "timestamp", when);
    json_put_string(&w, "user", user);
    json_put_string(&w, "module_id", entry->module_id);
    json_put_string(&w, "input_hash", entry->input == NULL ? NULL : hash);
    json_put_string(&w, "input_salt", entry->input == NULL ? NULL : salt);
    json_put_string(&w, "status", entry->status);
    json_put_int(&w, "exit_code", entry->exit_code);
    json_put_uint(&w, "duration_ms", entry->duration_ms);
    json_end(&w, '}');
    buf_puts(line, "\n");
    return line->failed ? -ENOMEM : 0;
}

int audit_log_open(const char *file)
{
    int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

void audit_log_append(const char *file, int fd, const struct audit_entry *entry)
{
    BUF_AUTO line = BUF_INIT(LINE_MAX_BYTES);
    int r = fd < 0 ? fd : make_line(entry, &line);
    if (r == 0)
        r = fd_write_all(fd, line.data, line.len); /* one write: lines never mix */
    fd_close(&fd);
    if (r < 0)
        message_warning("append to audit log '%s': %s", file, text_errno(-r));
}
