/* What bwrap made, read back from /proc. Raw calls only: init runs it. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "layer/bwrap.h"
#include "layer/mount_table.h"
#include "sys/files.h"
#include "sys/pidfd.h"

#define LINE_SIZE 4096

/* A file of /proc, line by line. */
struct lines {
    int fd;
    char data[2 * LINE_SIZE];
    size_t start, end;
};

static bool open_lines(struct lines *l, int proc, const char *path)
{
    l->fd = sys_open(proc, path, O_RDONLY, 0);
    l->start = l->end = 0;
    return l->fd >= 0;
}

/* The next one, terminated; NULL at the end. A line that is too long is cut in two. */
static char *next_line(struct lines *l)
{
    for (;;) {
        char *newline = memchr(l->data + l->start, '\n', l->end - l->start);
        if (newline != NULL) {
            char *line = l->data + l->start;
            *newline = '\0';
            l->start = (size_t)(newline - l->data) + 1;
            return line;
        }
        memmove(l->data, l->data + l->start, l->end - l->start);
        l->end -= l->start;
        l->start = 0;
        if (l->end == sizeof l->data)
            l->end = 0;
        long n = sys_read(l->fd, l->data + l->end, sizeof l->data - l->end);
        if (n <= 0)
            return NULL;
        l->end += (size_t)n;
    }
}

static uint64_t number_of(const char **p, unsigned base)
{
    uint64_t value = 0;
    while (**p == ' ' || **p == '\t')
        (*p)++;
    for (;; (*p)++) {
        const char c = **p;
        const unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

struct status {
    bool identity; /* all four numbers of both kinds are the plan's */
    uint64_t capabilities; /* of all sets together */
    uint64_t no_new_privs, seccomp, filters;
    unsigned seen; /* lines that were there */
};

#define STATUS_LINES 10 /* Uid, Gid, five sets, three flags */

static bool all_are(const char *p, uint64_t id)
{
    for (int i = 0; i < 4; i++) {
        if (number_of(&p, 10) != id)
            return false;
    }
    return true;
}

static void read_status(struct status *out, const struct plan *plan, int proc, const char *path)
{
    static struct lines l; /* init has one thread */
    *out = (struct status){.identity = true};
    if (!open_lines(&l, proc, path))
        return;
    for (char *line; (line = next_line(&l)) != NULL;) {
        const char *value = strchr(line, ':');
        if (value == NULL)
            continue;
        value++;
        out->seen++;
        if (text_starts_with(line, "Uid:"))
            out->identity = out->identity && all_are(value, plan->uid_host);
        else if (text_starts_with(line, "Gid:"))
            out->identity = out->identity && all_are(value, plan->gid_host);
        else if (text_starts_with(line, "Cap"))
            out->capabilities |= number_of(&value, 16);
        else if (text_starts_with(line, "NoNewPrivs:"))
            out->no_new_privs = number_of(&value, 10);
        else if (text_starts_with(line, "Seccomp:"))
            out->seccomp = number_of(&value, 10);
        else if (text_starts_with(line, "Seccomp_filters:"))
            out->filters = number_of(&value, 10);
        else
            out->seen--;
    }
    sys_close(l.fd);
}

static uint32_t prove_status(const struct plan *plan, const struct bwrap_outside *outside, int proc, int pid)
{
    struct status inside;
    uint32_t seen = 0;
    char path[SYS_PID_PATH_SIZE];
    sys_pid_path(path, pid, "status");
    read_status(&inside, plan, proc, path);
    if (inside.seen != STATUS_LINES)
        return 0;
    if (inside.identity && plan->uid_host != 0)
        seen |= PROOF_IDENTITY;
    if (inside.capabilities == 0)
        seen |= PROOF_NO_CAPS;
    if (inside.no_new_privs == 1)
        seen |= PROOF_NO_NEW_PRIVS;
    /* The gate, and one more. */
    if (inside.seccomp == 2 && outside->known && inside.filters == outside->filters + 2)
        seen |= PROOF_SECCOMP;
    return seen;
}

static const struct {
    const char *own, *link;
    unsigned number; /* of the ioctl */
    uint32_t proof;
} namespaces[BWRAP_NAMESPACES] = {
    {"self/ns/user", "ns/user", SYS_PIDFD_USER_NS, PROOF_USERNS}, {"self/ns/pid", "ns/pid", SYS_PIDFD_PID_NS, PROOF_PIDNS},
    {"self/ns/ipc", "ns/ipc", SYS_PIDFD_IPC_NS, PROOF_IPCNS},     {"self/ns/net", "ns/net", SYS_PIDFD_NET_NS, PROOF_NETNS},
    {"self/ns/mnt", "ns/mnt", SYS_PIDFD_MNT_NS, PROOF_MOUNTNS},
};

static uint64_t inode_of(int dir, const char *path, int flags)
{
    struct stat st;
    return sys_call(SYS_newfstatat, dir, path, &st, flags) == 0 ? st.st_ino : 0;
}

/* By the descriptor where the kernel can: what is looked up in /proc is cleared away at the end, while one waits. */
static uint64_t namespace_of(int pidfd, int proc, int pid, unsigned which)
{
    char path[SYS_PID_PATH_SIZE];
    int fd = sys_pidfd_namespace(pidfd, namespaces[which].number);
    if (fd >= 0) {
        const uint64_t inode = inode_of(fd, "", AT_EMPTY_PATH);
        sys_close(fd);
        return inode;
    }
    sys_pid_path(path, pid, namespaces[which].link);
    return inode_of(proc, path, 0);
}

static uint32_t prove_namespaces(const struct bwrap_outside *outside, int pidfd, int proc, int pid)
{
    uint32_t seen = 0;
    for (unsigned i = 0; i < BWRAP_NAMESPACES; i++) {
        const uint64_t inode = namespace_of(pidfd, proc, pid, i);
        seen |= inode != 0 && outside->namespaces[i] != 0 && inode != outside->namespaces[i] ? namespaces[i].proof : 0;
    }
    return seen;
}

void layer_bwrap_note(struct bwrap_outside *out, const struct plan *plan, int proc)
{
    struct status own;
    read_status(&own, plan, proc, "self/status");
    out->known = own.seen == STATUS_LINES;
    out->filters = own.filters;
    for (unsigned i = 0; i < BWRAP_NAMESPACES; i++)
        out->namespaces[i] = inode_of(proc, namespaces[i].own, 0);
}

/* Every interface of its network but lo. */
static bool quiet(int proc, int pid)
{
    static struct lines l;
    char path[SYS_PID_PATH_SIZE];
    bool quiet = true;
    sys_pid_path(path, pid, "net/dev");
    if (!open_lines(&l, proc, path))
        return false;
    for (char *line; (line = next_line(&l)) != NULL;) {
        const char *colon = strchr(line, ':');
        if (colon == NULL) /* two lines of titles */
            continue;
        const char *name = line + strspn(line, " ");
        quiet = quiet && colon - name == 2 && memcmp(name, "lo", 2) == 0;
    }
    sys_close(l.fd);
    return quiet;
}

static bool beneath(const char *path, const char *target)
{
    const size_t n = strlen(target);
    return strncmp(path, target, n) == 0 && (n == 0 || path[n] == '\0' || path[n] == '/');
}

/* The narrowest step above a mount point says whether it may be written. `path` has no leading slash. */
static bool may_write(const struct plan *plan, const char *path)
{
    if (beneath(path, "proc"))
        return !beneath(path, "proc/sys");
    const struct plan_step *best = NULL;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        const bool place = step->kind == STEP_TMPFS || step->kind == STEP_BIND || step->kind == STEP_HOST_TREE ||
                           step->kind == STEP_DEVICE || step->kind == STEP_SPARSE || step->kind == STEP_DEVPTS;
        if (place && beneath(path, step->target) && (best == NULL || strlen(step->target) >= strlen(best->target)))
            best = step;
    }
    return strcmp(path, "dev/tty") == 0 || (best != NULL && (best->flags & STEP_RDONLY) == 0);
}

/* What bwrap's --dev holds, beside our own /dev/shm. */
static bool known_device(const char *path)
{
    static const char *const known[] = {"dev",        "dev/null",    "dev/zero", "dev/full", "dev/random",
                                        "dev/urandom", "dev/tty",     "dev/pts",  "dev/shm", "dev/console"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(path, known[i]) == 0)
            return true;
    }
    return false;
}

/* ID PARENT DEV ROOT POINT OPTIONS...: the fifth and sixth word. */
static bool split(char *line, char **point, char **options)
{
    char *p = line;
    for (int i = 0; i < 4 && p != NULL; i++) {
        p = strchr(p, ' ');
        p = p == NULL ? NULL : p + 1;
    }
    *point = p;
    char *end = p == NULL ? NULL : strchr(p, ' ');
    if (end == NULL)
        return false;
    *end = '\0';
    *options = end + 1;
    layer_mount_unescape(p);
    return p[0] == '/';
}

static uint32_t prove_mounts(const struct plan *plan, int proc, int pid)
{
    static struct lines l;
    char name[SYS_PID_PATH_SIZE];
    bool readonly = true;
    bool devices = true;
    bool root = false;
    bool dev = false;
    bool sealed = false;
    sys_pid_path(name, pid, "mountinfo");
    if (!open_lines(&l, proc, name))
        return 0;
    for (char *line; (line = next_line(&l)) != NULL;) {
        char *point;
        char *options;
        if (!split(line, &point, &options)) {
            readonly = devices = false;
            continue;
        }
        const char *path = point + 1;
        const bool ro = text_starts_with(options, "ro,") || text_starts_with(options, "ro ");
        root = root || path[0] == '\0';
        if (strcmp(path, "dev") == 0)
            dev = devices = true; /* what stood there before is covered */
        sealed = sealed || strcmp(path, "proc/1") == 0;
        readonly = readonly && (ro || may_write(plan, path));
        devices = devices && (!beneath(path, "dev") || known_device(path));
    }
    sys_close(l.fd);
    return (readonly && root ? (uint32_t)PROOF_READONLY : 0) | (devices && dev ? (uint32_t)PROOF_DEVICES : 0) |
           (sealed ? (uint32_t)PROOF_INNER_SEALED : 0);
}

/* Device and inode of what is open, which is closed; false: nothing was. */
static bool take_identity(int fd, struct stat *out)
{
    const long r = fd < 0 ? fd : sys_fstat(fd, out);
    sys_close(fd);
    return r == 0;
}

const char *layer_bwrap_swapped(const struct plan *plan, int root)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
        struct stat inside;
        struct stat source;
        if (step->kind != STEP_BIND || (step->flags & (STEP_LISTED | STEP_OWN)) != STEP_LISTED)
            continue;
        const int named = sys_open_without_links(step->source, O_PATH);
        if ((named == -ENOENT || named == -ENOTDIR) && (step->flags & STEP_OPTIONAL) != 0)
            continue;
        const int shown = sys_openat2(root, step->target, &how);
        const bool is_named = take_identity(named, &source);
        const bool is_shown = take_identity(shown, &inside);
        if (!is_named || !is_shown || source.st_dev != inside.st_dev || source.st_ino != inside.st_ino)
            return step->target;
    }
    return NULL;
}

uint32_t layer_bwrap_proven(const struct plan *plan, const struct bwrap_outside *outside, int pidfd, int proc, int pid)
{
    return prove_status(plan, outside, proc, pid) | prove_namespaces(outside, pidfd, proc, pid) |
           prove_mounts(plan, proc, pid) | (quiet(proc, pid) ? (uint32_t)PROOF_NET_QUIET : 0);
}
