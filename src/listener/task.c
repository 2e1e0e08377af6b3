#include "listener/task.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "sys/files.h"

#define PAGE 4096u
#define FIRST_PART 256u /* most paths end within; more would only push the task's data out of the caches */
#define STATUS_SIZE 4096
#define PROC_PATH_SIZE 80

int task_bytes(uint32_t task, uint64_t address, void *out, size_t size)
{
    const struct iovec here = {.iov_base = out, .iov_len = size};
    const struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
    long n = sys_call(SYS_process_vm_readv, task, &here, 1, &there, 1, 0);
    return n < 0 ? (int)n : (size_t)n == size ? 0 : -EFAULT;
}

int task_string(uint32_t task, uint64_t address, char *out, size_t room)
{
    size_t len = 0;
    size_t most = FIRST_PART;
    while (len < room) {
        /* Up to the end of a page: what follows may not be mapped. */
        size_t part = PAGE - (size_t)((address + len) % PAGE);
        if (part > most)
            part = most;
        if (part > room - len)
            part = room - len;
        most = PAGE;
        int r = task_bytes(task, address + len, out + len, part);
        if (r < 0)
            return r;
        const char *end = memchr(out + len, '\0', part);
        if (end != NULL)
            return (int)(end - out);
        len += part;
    }
    return -ENAMETOOLONG;
}

/* /proc/TASK/NAME[NUMBER] */
static void proc_path(char out[PROC_PATH_SIZE], uint32_t task, const char *name, int number)
{
    memcpy(out, "/proc/", 6);
    char *p = sys_put_number(out + 6, task);
    *p++ = '/';
    const size_t len = strlen(name);
    memcpy(p, name, len);
    p += len;
    if (number >= 0)
        p = sys_put_number(p, (uint32_t)number);
    *p = '\0';
}

static int read_link(const char *path, char *out)
{
    long n = sys_call(SYS_readlinkat, AT_FDCWD, path, out, PATH_MAX);
    if (n >= PATH_MAX)
        return -ENAMETOOLONG;
    if (n >= 0)
        out[n] = '\0';
    return (int)n;
}

int task_open(uint32_t task, const char *name)
{
    char path[PROC_PATH_SIZE];
    proc_path(path, task, name, -1);
    return sys_open(AT_FDCWD, path, O_PATH, 0);
}

static int fd_path(char out[PROC_PATH_SIZE], uint32_t task, int fd)
{
    if (fd < 0 && fd != AT_FDCWD)
        return -EBADF;
    proc_path(out, task, fd < 0 ? "cwd" : "fd/", fd);
    return 0;
}

int task_fd_link(uint32_t task, int fd, char *out)
{
    char path[PROC_PATH_SIZE];
    int r = fd_path(path, task, fd);
    return r < 0 ? r : read_link(path, out);
}

int task_fd_open(uint32_t task, int fd)
{
    char path[PROC_PATH_SIZE];
    int r = fd_path(path, task, fd);
    return r < 0 ? r : sys_open(AT_FDCWD, path, O_PATH, 0);
}

int task_own_link(int fd, char *out)
{
    char path[SYS_FD_PATH_SIZE];
    sys_fd_path(path, fd);
    return read_link(path, out);
}

/* The text behind "Name:\t"; NULL if there is no such line. */
static const char *field(const char *status, const char *name)
{
    const size_t len = strlen(name);
    for (const char *line = status; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            return line + len + 1 + (line[len + 1] == '\t');
    }
    return NULL;
}

static unsigned number(const char *text, unsigned base)
{
    unsigned n = 0;
    for (; text != NULL && *text >= '0' && *text < (char)('0' + base); text++)
        n = n * base + (unsigned)(*text - '0');
    return n;
}

/* The last of several on a line: the innermost namespace's. */
static unsigned last_number(const char *text)
{
    const char *last = text;
    for (; text != NULL && *text != '\n' && *text != '\0'; text++) {
        if (*text == '\t')
            last = text + 1;
    }
    return number(last, 10);
}

/* A file of lines: "status", or "fdinfo/" and a descriptor. */
static int read_lines(uint32_t task, const char *name, int of, char out[STATUS_SIZE])
{
    char path[PROC_PATH_SIZE];
    proc_path(path, task, name, of);
    int fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0)
        return fd;
    long n = sys_read(fd, out, STATUS_SIZE - 1);
    sys_close(fd);
    out[n < 0 ? 0 : n] = '\0';
    return n < 0 ? (int)n : 0;
}

int task_facts(uint32_t task, struct task_facts *out)
{
    char status[STATUS_SIZE];
    int r = read_lines(task, "status", -1, status);
    if (r < 0)
        return r;
    *out = (struct task_facts){.process = number(field(status, "Tgid"), 10),
                               .parent = number(field(status, "PPid"), 10),
                               .pid = (int)last_number(field(status, "NStgid")),
                               .tid = (int)last_number(field(status, "NSpid")),
                               .umask = number(field(status, "Umask"), 8)};
    if (out->process != task && (r = read_lines(out->process, "status", -1, status)) < 0)
        return r;
    const char *name = field(status, "Name");
    const size_t len = name == NULL ? 0 : strcspn(name, "\n");
    if (len > 0)
        memcpy(out->comm, name, len < sizeof out->comm ? len : sizeof out->comm - 1);
    return 0;
}

bool task_fd_is_path(uint32_t task, int fd)
{
    char lines[STATUS_SIZE];
    return fd >= 0 && read_lines(task, "fdinfo/", fd, lines) == 0 && (number(field(lines, "flags"), 8) & O_PATH) != 0;
}
