#include "listener/attempt.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "listener/task.h"
#include "sys/entry.h"
#include "sys/files.h"

/* Newer than Debian 12's headers; the same everywhere. */
#define CALL_setxattrat 463
#define CALL_removexattrat 466

#define NONE (-1)

/* Where its arguments are; NONE: it has no such argument. */
struct form {
    int number;
    enum act act;
    const char *op;
    int8_t dir, path, dir2, path2;
    int8_t flags, mode, extra;
    unsigned fixed; /* flags that the name implies */
};

#define AT_NAME(d, p) .dir = (d), .path = (p), .dir2 = NONE, .path2 = NONE
#define AT_NAMES(d, p, e, q) .dir = (d), .path = (p), .dir2 = (e), .path2 = (q)
#define WITH(f, m, x) .flags = (f), .mode = (m), .extra = (x)
#define OPENING "open for writing"
#define MODE "change mode"
#define OWNER "change owner"
#define TIMES "change times"
#define ATTRIBUTE "change attributes"

static const struct form forms[] = {
#if defined(__x86_64__)
    {SYS_open, ACT_OPEN, OPENING, AT_NAME(NONE, 0), WITH(1, 2, NONE), 0},
    {SYS_creat, ACT_OPEN, OPENING, AT_NAME(NONE, 0), WITH(NONE, 1, NONE), O_CREAT | O_WRONLY | O_TRUNC},
    {SYS_rename, ACT_RENAME, "rename", AT_NAMES(NONE, 0, NONE, 1), WITH(NONE, NONE, NONE), 0},
    {SYS_unlink, ACT_REMOVE, "remove", AT_NAME(NONE, 0), WITH(NONE, NONE, NONE), 0},
    {SYS_rmdir, ACT_REMOVE, "remove directory", AT_NAME(NONE, 0), WITH(NONE, NONE, NONE), AT_REMOVEDIR},
    {SYS_mkdir, ACT_MAKE, "make directory", AT_NAME(NONE, 0), WITH(NONE, 1, NONE), 0},
    {SYS_mknod, ACT_MAKE, "make node", AT_NAME(NONE, 0), WITH(NONE, 1, NONE), 0},
    {SYS_link, ACT_LINK, "link", AT_NAMES(NONE, 0, NONE, 1), WITH(NONE, NONE, NONE), 0},
    {SYS_symlink, ACT_MAKE, "make symbolic link", AT_NAME(NONE, 1), WITH(NONE, NONE, NONE), 0},
    {SYS_chmod, ACT_MODE, MODE, AT_NAME(NONE, 0), WITH(NONE, 1, NONE), 0},
    {SYS_chown, ACT_OWNER, OWNER, AT_NAME(NONE, 0), WITH(NONE, NONE, 1), 0},
    {SYS_lchown, ACT_OWNER, OWNER, AT_NAME(NONE, 0), WITH(NONE, NONE, 1), AT_SYMLINK_NOFOLLOW},
    {SYS_utime, ACT_TIMES, TIMES, AT_NAME(NONE, 0), WITH(NONE, NONE, 1), 0},
    {SYS_utimes, ACT_TIMES, TIMES, AT_NAME(NONE, 0), WITH(NONE, NONE, 1), 0},
    {SYS_futimesat, ACT_TIMES, TIMES, AT_NAME(0, 1), WITH(NONE, NONE, 2), 0},
#endif
    {SYS_openat, ACT_OPEN, OPENING, AT_NAME(0, 1), WITH(2, 3, NONE), 0},
#ifdef SYS_renameat
    {SYS_renameat, ACT_RENAME, "rename", AT_NAMES(0, 1, 2, 3), WITH(NONE, NONE, NONE), 0},
#endif
    {SYS_renameat2, ACT_RENAME, "rename", AT_NAMES(0, 1, 2, 3), WITH(4, NONE, NONE), 0},
    {SYS_unlinkat, ACT_REMOVE, "remove", AT_NAME(0, 1), WITH(2, NONE, NONE), 0},
    {SYS_mkdirat, ACT_MAKE, "make directory", AT_NAME(0, 1), WITH(NONE, 2, NONE), 0},
    {SYS_mknodat, ACT_MAKE, "make node", AT_NAME(0, 1), WITH(NONE, 2, NONE), 0},
    {SYS_linkat, ACT_LINK, "link", AT_NAMES(0, 1, 2, 3), WITH(4, NONE, NONE), 0},
    {SYS_symlinkat, ACT_MAKE, "make symbolic link", AT_NAME(1, 2), WITH(NONE, NONE, NONE), 0},
    {SYS_truncate, ACT_TRUNCATE, "truncate", AT_NAME(NONE, 0), WITH(NONE, NONE, NONE), 0},
    {SYS_fchmod, ACT_MODE, MODE, AT_NAME(0, NONE), WITH(NONE, 1, NONE), 0},
    {SYS_fchmodat, ACT_MODE, MODE, AT_NAME(0, 1), WITH(NONE, 2, NONE), 0},
    {SYS_fchmodat2, ACT_MODE, MODE, AT_NAME(0, 1), WITH(3, 2, NONE), 0},
    {SYS_fchown, ACT_OWNER, OWNER, AT_NAME(0, NONE), WITH(NONE, NONE, 1), 0},
    {SYS_fchownat, ACT_OWNER, OWNER, AT_NAME(0, 1), WITH(4, NONE, 2), 0},
    {SYS_utimensat, ACT_TIMES, TIMES, AT_NAME(0, 1), WITH(3, NONE, 2), 0},
    {SYS_setxattr, ACT_ATTRIBUTE, ATTRIBUTE, AT_NAME(NONE, 0), WITH(NONE, NONE, 1), 0},
    {SYS_lsetxattr, ACT_ATTRIBUTE, ATTRIBUTE, AT_NAME(NONE, 0), WITH(NONE, NONE, 1), AT_SYMLINK_NOFOLLOW},
    {SYS_fsetxattr, ACT_ATTRIBUTE, ATTRIBUTE, AT_NAME(0, NONE), WITH(NONE, NONE, 1), 0},
    {CALL_setxattrat, ACT_ATTRIBUTE, ATTRIBUTE, AT_NAME(0, 1), WITH(2, NONE, 3), 0},
    {SYS_removexattr, ACT_ATTRIBUTE, ATTRIBUTE, AT_NAME(NONE, 0), WITH(NONE, NONE, 1), 0},
    {SYS_lremovexattr, ACT_ATTRIBUTE, ATTRIBUTE, AT_NAME(NONE, 0), WITH(NONE, NONE, 1), AT_SYMLINK_NOFOLLOW},
    {SYS_fremovexattr, ACT_ATTRIBUTE, ATTRIBUTE, AT_NAME(0, NONE), WITH(NONE, NONE, 1), 0},
    {CALL_removexattrat, ACT_ATTRIBUTE, ATTRIBUTE, AT_NAME(0, 1), WITH(2, NONE, 3), 0},
};

static const struct form *form_of(int number)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (forms[i].number == number)
            return &forms[i];
    }
    return NULL;
}

static uint64_t argument(const struct notify_call *call, int index)
{
    return index == NONE ? 0 : call->args[index];
}

/* EFAULT: a bad pointer, or memory that only its own process can read. */
static int unreadable(int error)
{
    return error == -EPERM || error == -EACCES || error == -EFAULT ? -EPERM : -ENOENT;
}

/* A null pointer stands for the descriptor only here; of all others the kernel says EFAULT. */
static bool null_is_itself(const struct attempt *a, int dir)
{
    switch (a->call->number) {
#if defined(__x86_64__)
    case SYS_futimesat:
#endif
    case SYS_utimensat:
        return dir != AT_FDCWD && a->flags == 0;
    case CALL_setxattrat:
    case CALL_removexattrat:
        return (a->flags & AT_EMPTY_PATH) != 0;
    default:
        return false;
    }
}

static int read_operand(struct attempt *a, const struct handed_call *handed, unsigned i, int dir, int path)
{
    const struct notify_call *call = &handed->call;
    struct operand *out = &a->what[i];
    out->dir = dir == NONE ? AT_FDCWD : (int)call->args[dir];
    const uint64_t address = argument(call, path);
    out->itself = path == NONE || (address == 0 && null_is_itself(a, out->dir));
    out->path[0] = '\0';
    if (out->itself)
        return 0;
    if (address == 0)
        return -ENOENT;
    if (handed->len[i] > 0) {
        memcpy(out->path, handed->text + (i == 0 ? 0 : handed->len[0]), handed->len[i]);
        return 0;
    }
    int r = task_string(call->task, address, out->path, sizeof out->path);
    return r < 0 ? unreadable(r) : 0;
}

#define ADDRESS_MAX (sizeof((struct sockaddr_un *)0)->sun_path + 1)

/* The name of a unix socket; "": any other address, which leaves nothing in the file system. 0 or -errno. */
static int read_address(const struct notify_call *call, char out[ADDRESS_MAX])
{
    struct sockaddr_un address = {0};
    const size_t head = offsetof(struct sockaddr_un, sun_path);
    const uint32_t size = (uint32_t)call->args[2];
    out[0] = '\0';
    if (size <= head || size > sizeof address)
        return 0;
    int r = task_bytes(call->task, call->args[1], &address, size);
    if (r < 0 || address.sun_family != AF_UNIX)
        return r;
    memcpy(out, address.sun_path, sizeof address.sun_path);
    out[sizeof address.sun_path] = '\0';
    return 0;
}

static int read_bind(struct attempt *out, const struct handed_call *handed)
{
    char *path = out->what[0].path;
    int r = 0;
    if (handed->len[0] > 0)
        memcpy(path, handed->text, handed->len[0]);
    else
        r = read_address(&handed->call, path);
    if (r < 0 || path[0] == '\0')
        return r < 0 ? unreadable(r) : -ENOENT;
    out->act = ACT_MAKE;
    out->op = "bind socket";
    out->bind = true;
    out->count = 1;
    out->what[0].dir = AT_FDCWD;
    return 0;
}

/* What a name stands for stays as it is; an open that insists on a new file is one of these. */
static bool changes_names(const struct attempt *a)
{
    switch (a->act) {
    case ACT_OPEN:
        return (a->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    case ACT_MAKE:
    case ACT_REMOVE:
    case ACT_RENAME:
    case ACT_LINK:
        return true;
    default:
        return false;
    }
}

/* Whether a link in the last place is followed: by the kind of call, or by a flag. */
static bool follows(const struct attempt *a)
{
    switch (a->act) {
    case ACT_OPEN:
        return (a->flags & O_NOFOLLOW) == 0 && !changes_names(a);
    case ACT_LINK:
        return (a->flags & AT_SYMLINK_FOLLOW) != 0;
    case ACT_MAKE:
    case ACT_REMOVE:
    case ACT_RENAME:
        return false;
    default:
        return (a->flags & AT_SYMLINK_NOFOLLOW) == 0;
    }
}

/* What is set, and how; setxattrat() says it behind a pointer. */
static void note_value(struct attempt *out)
{
    const struct notify_call *call = out->call;
    const bool sets = call->number == SYS_setxattr || call->number == SYS_lsetxattr || call->number == SYS_fsetxattr;
    out->removes = !sets && call->number != CALL_setxattrat;
    out->value_size = sets ? call->args[3] : 0;
    out->value_flags = sets ? (unsigned)call->args[4] : 0;
}

static void note_kind(struct attempt *out, const struct form *form)
{
    out->node = form->number == SYS_mknodat;
    out->directory = form->number == SYS_mkdirat;
    out->symlink = form->number == SYS_symlinkat;
#if defined(__x86_64__)
    out->node = out->node || form->number == SYS_mknod;
    out->directory = out->directory || form->number == SYS_mkdir;
    out->symlink = out->symlink || form->number == SYS_symlink;
#endif
    if (out->act == ACT_REMOVE && (out->flags & AT_REMOVEDIR) != 0)
        out->op = "remove directory";
    if (out->act == ACT_ATTRIBUTE)
        note_value(out);
}

size_t attempt_name(struct handed_call *handed)
{
    const struct form *form = form_of(handed->call.number);
    size_t used = 0;
    if (handed->call.number == SYS_bind) {
        handed->len[0] = read_address(&handed->call, handed->text) < 0 ? 0 : (uint32_t)strlen(handed->text) + 1;
        handed->len[1] = 0;
        return HANDED_HEAD + handed->len[0];
    }
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t address = form == NULL ? 0 : argument(&handed->call, i == 0 ? form->path : form->path2);
        const int len = address == 0 ? -1 : task_string(handed->call.task, address, handed->text + used, PATH_MAX);
        handed->len[i] = len < 0 ? 0 : (uint32_t)len + 1;
        used += handed->len[i];
    }
    return HANDED_HEAD + used;
}

int attempt_read(struct attempt *out, const struct handed_call *handed)
{
    const struct notify_call *call = &handed->call;
    out->call = call;
    out->bind = out->node = out->directory = out->symlink = false;
    out->what[0].follow = out->what[1].follow = false;
    out->what[0].name = out->what[1].name = true;
    out->what[0].itself = out->what[1].itself = false;
    if (call->number == SYS_bind)
        return read_bind(out, handed);
    const struct form *form = form_of(call->number);
    if (form == NULL)
        return -ENOENT;
    out->act = form->act;
    out->op = form->op;
    out->flags = form->fixed | (unsigned)argument(call, form->flags);
    if (form->act == ACT_OPEN && (out->flags & O_PATH) != 0) /* whatever else it says */
        return -ENOENT;
    out->mode = (unsigned)argument(call, form->mode);
    out->extra = argument(call, form->extra);
    out->group = form->act == ACT_OWNER ? call->args[form->extra + 1] : 0;
    out->count = form->path2 == NONE ? 1 : 2;
    note_kind(out, form);
    int r = read_operand(out, handed, 0, form->dir, form->path);
    if (r == 0 && out->count == 2)
        r = read_operand(out, handed, 1, form->dir2, form->path2);
    out->what[0].follow = follows(out);
    out->what[0].name = changes_names(out);
    if ((out->flags & AT_EMPTY_PATH) != 0 && out->act != ACT_OPEN && out->what[0].path[0] == '\0')
        out->what[0].itself = true;
    return r;
}

bool operand_wants_directory(const struct operand *operand)
{
    const size_t len = strlen(operand->path);
    return len > 0 && operand->path[len - 1] == '/';
}
