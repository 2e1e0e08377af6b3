#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/input.h"

#define NAME_TRIES 16

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

/*
 * A device, a fifo or a socket is written to, not replaced; so is what /dev/stdout and its like
 * lead to. 0: there is nothing, or a regular file that may be replaced.
 */
static int open_special(struct outfile *f, struct cordon_error *err)
{
    struct stat st;
    if (fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode))
        return 0;
    const bool link = S_ISLNK(st.st_mode);
    if (link && fstatat(f->dir, f->name, &st, 0) < 0)
        st.st_mode = S_IFREG; /* leads nowhere */
    if (S_ISDIR(st.st_mode))
        return fail(f, EISDIR, "open for writing", err);
    if (link && S_ISREG(st.st_mode)) {
        fail(f, ELOOP, "open for writing", err);
        err_why(err, "is a symbolic link, which would be replaced");
        err_remedy(err, "name the file that it leads to");
        return -ELOOP;
    }
    f->direct = true;
    f->fd = openat(f->dir, f->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return f->fd < 0 ? fail(f, errno, "open for writing", err) : 0;
}

int outfile_open(struct outfile *f, const char *spec, struct cordon_error *err)
{
    char parent[4096];
    *f = OUTFILE_INIT;
    f->spec = spec;
    int number = input_descriptor(spec);
    if (number != -1) {
        f->direct = true;
        f->fd = number < 0 ? -1 : fcntl(number, F_DUPFD_CLOEXEC, 3);
        return f->fd < 0 ? fail(f, number < 0 ? EINVAL : errno, "open for writing", err) : 0;
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
