#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

size_t text_utf8(const char *s, size_t len)
{
    const unsigned char *u = (const unsigned char *)s;
    if (len == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;

    size_t n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (u[0] < 0xc2 || u[0] > 0xf4 || n > len)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
        (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
        return 0;
    return n;
}

/*
 * What turns the direction of the text around it, so that a name reads as another one: U+061C, U+200E,
 * U+200F, U+202A to U+202E, U+2066 to U+2069; and U+2028, U+2029, which end a line.
 */
static bool is_direction(const unsigned char *u, size_t n)
{
    if (n == 2)
        return u[0] == 0xd8 && u[1] == 0x9c;
    if (n != 3 || u[0] != 0xe2)
        return false;
    return (u[1] == 0x80 && (u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xa8 && u[2] <= 0xae))) ||
           (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9);
}

/* C0, DEL, and the C1 block (U+0080 to U+009F), which terminals obey as well. */
static bool is_control(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    if (n == 1)
        return u[0] < 0x20 || u[0] == 0x7f;
    return (n == 2 && u[0] == 0xc2 && u[1] < 0xa0) || is_direction(u, n);
}

size_t text_escape(char *out, size_t size, const char *in, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    size_t need = 0;
    size_t end = 0; /* bytes really written */

    for (size_t i = 0; i < len;) {
        char piece[16];
        size_t n = text_utf8(in + i, len - i);
        size_t p = 0;
        if (n > 0 && !is_control(in + i, n)) {
            memcpy(piece, in + i, n);
            p = n;
        } else if (in[i] == '\n' || in[i] == '\t') {
            piece[p++] = '\\';
            piece[p++] = in[i] == '\n' ? 'n' : 't';
            n = 1;
        } else {
            n = n == 0 ? 1 : n;
            for (size_t k = 0; k < n; k++) {
                unsigned char u = (unsigned char)in[i + k];
                piece[p++] = '\\';
                piece[p++] = 'x';
                piece[p++] = hex[u >> 4];
                piece[p++] = hex[u & 15];
            }
        }
        if (out != NULL && end == need && need + p < size) {
            memcpy(out + end, piece, p);
            end += p;
        }
        need += p;
        i += n;
    }
    if (size > 0)
        out[end] = '\0';
    return need;
}

void text_put(struct buf *out, const char *text)
{
    const size_t len = strlen(text);
    const size_t need = text_escape(NULL, 0, text, len);
    char *room = out->failed ? NULL : buf_reserve(out, need + 1);
    if (room == NULL)
        return;
    text_escape(room, need + 1, text, len);
    out->len += need;
}

struct name {
    int number;
    const char *name;
    const char *text;
};

/* musl and glibc word these differently and strerror() may take a lock; messages are a contract. */
static const struct name errors[] = {
    {EPERM, "EPERM", "operation not permitted"},
    {ENOENT, "ENOENT", "no such file or directory"},
    {ESRCH, "ESRCH", "no such process"},
    {EINTR, "EINTR", "interrupted"},
    {EIO, "EIO", "input/output error"},
    {ENXIO, "ENXIO", "no such device or address"},
    {E2BIG, "E2BIG", "argument list too long"},
    {ENOEXEC, "ENOEXEC", "exec format error"},
    {EBADF, "EBADF", "bad file descriptor"},
    {EAGAIN, "EAGAIN", "resource temporarily unavailable"},
    {ENOMEM, "ENOMEM", "out of memory"},
    {EACCES, "EACCES", "permission denied"},
    {EBUSY, "EBUSY", "device or resource busy"},
    {EEXIST, "EEXIST", "file exists"},
    {EXDEV, "EXDEV", "invalid cross-device link"},
    {ENODEV, "ENODEV", "no such device"},
    {ENOTDIR, "ENOTDIR", "not a directory"},
    {EISDIR, "EISDIR", "is a directory"},
    {EINVAL, "EINVAL", "invalid argument"},
    {ENFILE, "ENFILE", "too many open files in system"},
    {EMFILE, "EMFILE", "too many open files"},
    {ETXTBSY, "ETXTBSY", "text file busy"},
    {EFBIG, "EFBIG", "file too large"},
    {ENOSPC, "ENOSPC", "no space left on device"},
    {EROFS, "EROFS", "read-only file system"},
    {EMLINK, "EMLINK", "too many links"},
    {EPIPE, "EPIPE", "broken pipe"},
    {ERANGE, "ERANGE", "out of range"},
    {ENAMETOOLONG, "ENAMETOOLONG", "file name too long"},
    {ENOSYS, "ENOSYS", "not supported by this kernel, or refused by a filter"},
    {ENOTEMPTY, "ENOTEMPTY", "directory not empty"},
    {ELOOP, "ELOOP", "too many symbolic links"},
    {EOVERFLOW, "EOVERFLOW", "value too large"},
    {EUSERS, "EUSERS", "too many user namespaces"},
    {EOPNOTSUPP, "EOPNOTSUPP", "operation not supported"},
    {ETIMEDOUT, "ETIMEDOUT", "timed out"},
    {ESTALE, "ESTALE", "stale file handle"},
    {EDQUOT, "EDQUOT", "disk quota exceeded"},
    {ECHILD, "ECHILD", "no child processes"},
    {EAFNOSUPPORT, "EAFNOSUPPORT", "address family not supported"},
};

static const struct name *find_error(int errnum)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].number == errnum)
            return &errors[i];
    }
    return NULL;
}

const char *text_errno(int errnum)
{
    const struct name *e = find_error(errnum);
    return e != NULL ? e->text : "system error";
}

const char *text_errno_name(int errnum)
{
    const struct name *e = find_error(errnum);
    return e != NULL ? e->name : "errno";
}

const char *text_signal_name(int signum)
{
    static const struct name signals[] = {
        {SIGHUP, "SIGHUP", NULL},   {SIGINT, "SIGINT", NULL},   {SIGQUIT, "SIGQUIT", NULL},
        {SIGILL, "SIGILL", NULL},   {SIGTRAP, "SIGTRAP", NULL}, {SIGABRT, "SIGABRT", NULL},
        {SIGBUS, "SIGBUS", NULL},   {SIGFPE, "SIGFPE", NULL},   {SIGKILL, "SIGKILL", NULL},
        {SIGUSR1, "SIGUSR1", NULL}, {SIGSEGV, "SIGSEGV", NULL}, {SIGUSR2, "SIGUSR2", NULL},
        {SIGPIPE, "SIGPIPE", NULL}, {SIGALRM, "SIGALRM", NULL}, {SIGTERM, "SIGTERM", NULL},
        {SIGXCPU, "SIGXCPU", NULL}, {SIGXFSZ, "SIGXFSZ", NULL}, {SIGSYS, "SIGSYS", NULL},
        {SIGPROF, "SIGPROF", NULL}, {SIGVTALRM, "SIGVTALRM", NULL}, {SIGIO, "SIGIO", NULL},
    };
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i].number == signum)
            return signals[i].name;
    }
    return "signal";
}

bool text_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}
