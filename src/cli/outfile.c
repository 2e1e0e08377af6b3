#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/input.h"

#define NAME_TRIES 16
#define READER_PAUSE_MS 10
#define READER_TRIES 100

static int fail(const struct outfile *f, int errnum, const char *what, struct cordon_error *err)
{
    return err_set(err, CORDON_ERROR_IO, CORDON_LAYER_OUTPUT, errnum, what, f->spec);
}

static void random_name(struct outfile *f)
{
    uint64_t random = 0;
    ssize_t ignored = getrandom(&random, sizeof random, 0);
    (void)ignored; /* a clash is found out by O_EXCL */
    snprintf(f->temporary, sizeof f->temporary, ".cordon-%016llx", (unsigned long long)random);
}

/* Where the payload cannot reach it; memory if nothing else is to be had. */
static int open_elsewhere(void)
{
    int fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        fd = open("/var/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("cordon-output", MFD_CLOEXEC);
}

/* -1: `spec` names no descriptor of our own; -2: it should, and does not. */
static int descriptor_of(const char *spec)
{
    static const char *const directories[] = {"/dev/fd/", "/proc/self/fd/"};
    uint64_t number = 0;
    if (strcmp(spec, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(spec, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (int i = 0; i < 2; i++) {
        if (text_starts_with(spec, directories[i]) && parse_u64(spec + strlen(directories[i]), &number) == 0 &&
            number <= INT_MAX)
            return (int)number;
    }
    return input_descriptor(spec);
}

/* Whoever is to read a fifo may be about to come. */
static int open_waiting(const struct outfile *f, mode_t mode)
{
    static const struct timespec pause = {.tv_nsec = READER_PAUSE_MS * 1000000L};
    for (int i = 0;; i++) {
        int fd = openat(f->dir, f->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0 || errno != ENXIO || !S_ISFIFO(mode) || i == READER_TRIES)
            return fd;
        nanosleep(&pause, NULL);
    }
}

static int explain(const struct outfile *f, int errnum, const char *why, const char *remedy,
                   struct cordon_error *err)
{
    fail(f, errnum, "open for writing", err);
    err_why(err, why);
    err_remedy(err, remedy);
    return -errnum;
}

/*
 * A device, a fifo or a socket is written to, not replaced. A link is followed to nowhere: in a
 * directory that a payload could write it may be the payload's. 0: there is nothing, or a regular
 * file that may be replaced.
 */
static int open_special(struct outfile *f, struct cordon_error *err)
{
    struct stat st;
    if (fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode))
        return 0;
    if (S_ISDIR(st.st_mode))
        return fail(f, EISDIR, "open for writing", err);
    if (S_ISLNK(st.st_mode))
        return explain(f, ELOOP, "it is a symbolic link, which is not followed", "name what it leads to", err);
    f->direct = true;
    f->fd = open_waiting(f, st.st_mode);
    if (f->fd < 0 && errno == ENXIO && S_ISFIFO(st.st_mode))
        return explain(f, ENXIO, "nobody reads this fifo", "start its reader first", err);
    if (f->fd < 0 || fcntl(f->fd, F_SETFL, 0) < 0)
        return fail(f, errno, "open for writing", err);
    return 0;
}

int outfile_open(struct outfile *f, const char *spec, struct cordon_error *err)
{
    char parent[4096];
    *f = OUTFILE_INIT;
    f->spec = spec;
    int number = descriptor_of(spec);
    if (number != -1) {
        f->direct = true;
        input_claim(number);
        f->fd = number < 0 ? -1 : fcntl(number, F_DUPFD_CLOEXEC, 3);
        if (f->fd < 0)
            return fail(f, number < 0 ? EINVAL : errno, "open for writing", err);
        const int mode = fcntl(f->fd, F_GETFL) & O_ACCMODE;
        if (mode == O_WRONLY || mode == O_RDWR)
            return 0;
        outfile_release(f);
        return fail(f, EBADF, "open for writing", err);
    }
    const char *slash = strrchr(spec, '/');
    f->name = slash == NULL ? spec : slash + 1;
    int n = snprintf(parent, sizeof parent, "%.*s", slash == NULL ? 1 : (int)(slash - spec) + 1,
                     slash == NULL ? "." : spec);
    if (n < 0 || (size_t)n >= sizeof parent)
        return fail(f, ENAMETOOLONG, "open for writing", err);
    if (f->name[0] == '\0' || strcmp(f->name, ".") == 0 || strcmp(f->name, "..") == 0)
        return fail(f, EISDIR, "open for writing", err);

    f->dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (f->dir < 0)
        return fail(f, errno, "open for writing", err);
    int r = open_special(f, err);
    if (r < 0 || f->direct) {
        fd_close(&f->dir);
        return r;
    }
    f->fd = openat(f->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (f->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOSYS || errno == EINVAL) &&
        faccessat(f->dir, ".", W_OK, AT_EACCESS) == 0) {
        f->elsewhere = true;
        f->fd = open_elsewhere();
    }
    if (f->fd < 0) {
        int errnum = errno;
        outfile_release(f);
        return fail(f, errnum, "open for writing", err);
    }
    return 0;
}

bool outfile_same(const struct outfile *a, const struct outfile *b)
{
    struct stat one, two;
    return a->dir >= 0 && b->dir >= 0 && strcmp(a->name, b->name) == 0 && fstat(a->dir, &one) == 0 &&
           fstat(b->dir, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

int outfile_write(struct outfile *f, const void *data, size_t len, struct cordon_error *err)
{
    int r = fd_write_all(f->fd, data, len);
    return r < 0 ? fail(f, -r, "write", err) : 0;
}

static int copy_here(struct outfile *f)
{
    char chunk[16 * 1024];
    FD_AUTO here = openat(f->dir, f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (here < 0 || lseek(f->fd, 0, SEEK_SET) < 0)
        return -errno;
    for (;;) {
        ssize_t n = fd_read_full(f->fd, chunk, sizeof chunk);
        int r = n <= 0 ? (int)n : fd_write_all(here, chunk, (size_t)n);
        if (n <= 0 || r < 0)
            return r;
    }
}

/* Gives the content a random name in the directory. */
static int name_content(struct outfile *f)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
    for (int i = 0; i < NAME_TRIES; i++) {
        random_name(f);
        int r = f->elsewhere ? copy_here(f)
                : linkat(AT_FDCWD, path, f->dir, f->temporary, AT_SYMLINK_FOLLOW) < 0 ? -errno
                                                                                      : 0;
        if (r == 0)
            return 0;
        if (r == -EEXIST)
            f->temporary[0] = '\0'; /* somebody else's: not ours to remove */
        if (r != -EEXIST)
            return r;
    }
    return -EEXIST;
}

int outfile_commit(struct outfile *f, struct cordon_error *err)
{
    if (f->direct)
        return 0;
    int r = name_content(f);
    if (r == 0 && renameat(f->dir, f->temporary, f->dir, f->name) < 0)
        r = -errno;
    if (r < 0)
        return fail(f, -r, "write", err);
    f->temporary[0] = '\0';
    return 0;
}

void outfile_release(struct outfile *f)
{
    if (f->temporary[0] != '\0')
        unlinkat(f->dir, f->temporary, 0);
    f->temporary[0] = '\0';
    fd_close(&f->fd);
    fd_close(&f->dir);
}
