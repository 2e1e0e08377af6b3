#include "layer/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

ssize_t cgroup_read(int dir_fd, const char *name, char text[static CGROUP_FILE_SIZE])
{
    text[0] = '\0'; /* no garbage where the file is missing */
    FD_AUTO fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = fd_read_full(fd, text, CGROUP_FILE_SIZE - 1);
    if (n >= 0)
        text[n] = '\0';
    return n;
}

int cgroup_write(int dir_fd, const char *name, const char *text)
{
    FD_AUTO fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return fd_write_all(fd, text, strlen(text));
}

int cgroup_write_u64(int dir_fd, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return cgroup_write(dir_fd, name, text);
}

int cgroup_number(const char *p, uint64_t *out)
{
    if (strncmp(p, "max", 3) == 0) {
        *out = UINT64_MAX;
        return 0;
    }
    if (*p < '0' || *p > '9')
        return -EINVAL;
    uint64_t value = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return -ERANGE;
    }
    *out = value;
    return 0;
}

int cgroup_exchange_u64(int dir_fd, const char *name, uint64_t value, uint64_t *in_force)
{
    char text[64];
    FD_AUTO fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int len = snprintf(text, sizeof text, "%" PRIu64, value);
    int r = fd_write_all(fd, text, (size_t)len);
    if (r < 0)
        return r;
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return cgroup_number(text, in_force);
}

int cgroup_read_u64(int dir_fd, const char *name, uint64_t *out)
{
    char text[CGROUP_FILE_SIZE];
    ssize_t n = cgroup_read(dir_fd, name, text);
    return n < 0 ? (int)n : cgroup_number(text, out);
}

int cgroup_find_key(const char *text, const char *key, uint64_t *out)
{
    const size_t len = strlen(key);
    for (const char *line = text; *line != '\0';) {
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return cgroup_number(line + len + 1, out);
        const char *end = strchr(line, '\n');
        if (end == NULL)
            break;
        line = end + 1;
    }
    return -ENODATA;
}

int cgroup_read_key(int dir_fd, const char *name, const char *key, uint64_t *out)
{
    char text[CGROUP_FILE_SIZE];
    ssize_t n = cgroup_read(dir_fd, name, text);
    return n < 0 ? (int)n : cgroup_find_key(text, key, out);
}

bool cgroup_has_word(const char *text, const char *word)
{
    const size_t len = strlen(word);
    for (const char *p = text; (p = strstr(p, word)) != NULL; p += len) {
        bool starts = p == text || strchr(" \n", p[-1]) != NULL;
        bool ends = p[len] == '\0' || strchr(" \n", p[len]) != NULL;
        if (starts && ends)
            return true;
    }
    return false;
}
