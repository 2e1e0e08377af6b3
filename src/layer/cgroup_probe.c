#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/text.h"
#include "layer/cgroup.h"
#include "layer/cgroup_file.h"
#include "sys/process.h"

#define SELF_TEXT_SIZE 8192 /* a dozen hierarchies with long paths */
#define PATH_SIZE (CGROUP_PATH_SIZE + 64)

/* Out of line: where there is nothing to read, the pages of these buffers are never touched. */
#define ROOMY __attribute__((noinline))

/* Whether `list`, "cpu,cpuacct", names the controller. */
static bool list_has(const char *list, size_t len, const char *name)
{
    const size_t want = strlen(name);
    const char *const end = list + len;
    for (const char *item = list; item < end;) {
        const char *comma = memchr(item, ',', (size_t)(end - item));
        const char *stop = comma == NULL ? end : comma;
        if ((size_t)(stop - item) == want && memcmp(item, name, want) == 0)
            return true;
        item = stop + 1;
    }
    return false;
}

static void note_line(struct cgroup_lines *out, const struct cgroup_line *line)
{
    if (line->list_len == 0 && out->v2.path == NULL)
        out->v2 = *line;
    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        const char *name = cgroup_controller_name((enum cgroup_controller)i);
        if (out->v1[i].path == NULL && list_has(line->list, line->list_len, name))
            out->v1[i] = *line;
    }
}

void cgroup_read_lines(const char *self_text, struct cgroup_lines *out)
{
    *out = (struct cgroup_lines){0};
    for (const char *text = self_text; *text != '\0';) {
        const char *end = strchrnul(text, '\n');
        /* The list of v2 is empty, the path may hold colons. */
        const char *list = memchr(text, ':', (size_t)(end - text));
        const char *path = list == NULL ? NULL : memchr(list + 1, ':', (size_t)(end - list - 1));
        if (path != NULL)
            note_line(out, &(struct cgroup_line){.hierarchy = (unsigned)strtoul(text, NULL, 10),
                                                 .list = list + 1,
                                                 .list_len = (size_t)(path - list - 1),
                                                 .path = path + 1,
                                                 .path_len = (size_t)(end - path - 1)});
        text = end + (*end == '\n');
    }
}

static void missing(struct host_cgroup_controller *c, enum cgroup_lack lack, int errnum)
{
    c->version = CGROUP_NONE;
    c->lack = lack;
    c->errnum = errnum;
}

/* A path that fits: it was made in an array of that size. */
static void put_path(char out[static CGROUP_PATH_SIZE], const char *path)
{
    memcpy(out, path, strlen(path) + 1);
}

/* "DIR/NAME"; an empty string, which no call accepts as a path, if it does not fit. */
static void join_bytes(char out[static PATH_SIZE], const char *dir, const char *name, size_t name_len)
{
    const size_t len = strlen(dir);
    const bool fits = name_len < PATH_SIZE && len + 1 + name_len < PATH_SIZE;
    if (fits) {
        memcpy(out, dir, len);
        out[len] = '/';
        memcpy(out + len + 1, name, name_len);
    }
    out[fits ? len + 1 + name_len : 0] = '\0';
}

static void join(char out[static PATH_SIZE], const char *dir, const char *name)
{
    join_bytes(out, dir, name, strlen(name));
}

static ssize_t read_in(const char *dir, const char *name, char text[static CGROUP_FILE_SIZE])
{
    char path[PATH_SIZE];
    join(path, dir, name);
    return cgroup_read(AT_FDCWD, path, text);
}

/* 0 if directories can be made in `dir` and processes moved out of it, else -errno. */
static int writable(const char *dir)
{
    char path[PATH_SIZE];
    if (access(dir, W_OK) < 0)
        return -errno;
    join(path, dir, "cgroup.procs");
    return access(path, W_OK) == 0 ? 0 : -errno;
}

ROOMY static bool holds_this_process(const char *dir, bool alone)
{
    char text[CGROUP_FILE_SIZE];
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (read_in(dir, "cgroup.procs", text) < 0 || !cgroup_has_word(text, pid))
        return false;
    return !alone || strlen(text) == strlen(pid) + 1;
}

/*
 * The directory of the own group beneath a mount: 0 if it is writable, else -errno. Where a
 * container shows a part of a hierarchy but the paths of the whole, it is the mount's root, if any.
 */
static int own_dir(char out[static CGROUP_PATH_SIZE], const char *mount, const struct cgroup_line *own)
{
    const size_t mount_len = strlen(mount);
    const size_t own_len = own->path_len == 1 && own->path[0] == '/' ? 0 : own->path_len;
    if (own_len >= CGROUP_PATH_SIZE || mount_len + own_len >= CGROUP_PATH_SIZE)
        return -ENAMETOOLONG;
    if (own->path_len >= 3 && memcmp(own->path, "/..", 3) == 0)
        return -ENOENT; /* outside of what this cgroup namespace shows */
    memcpy(out, mount, mount_len);
    memcpy(out + mount_len, own->path, own_len);
    out[mount_len + own_len] = '\0';
    int r = writable(out);
    if (r != -ENOENT || !holds_this_process(mount, false))
        return r;
    memcpy(out, mount, mount_len + 1);
    return writable(out);
}

static bool counts_swap(const char *dir)
{
    char path[PATH_SIZE];
    join(path, dir, "memory.memsw.limit_in_bytes");
    return access(path, F_OK) == 0;
}

static void probe_v1(const struct cgroup_source *source, const struct cgroup_line *own, enum cgroup_controller which,
                     struct host_cgroup *out)
{
    struct host_cgroup_controller *c = &out->controllers[which];
    const char *name = cgroup_controller_name(which);
    char dir[CGROUP_PATH_SIZE];
    char mount[PATH_SIZE];
    if (own->path == NULL)
        return; /* not a v1 controller here: what v2 said holds */
    c->hierarchy = own->hierarchy;
    join_bytes(mount, source->root, own->list, own->list_len); /* "cpu,cpuacct", to which "cpu" is often a link */
    int r = own_dir(dir, mount, own);
    if (r == -ENOENT && own->list_len != strlen(name)) {
        join(mount, source->root, name);
        r = own_dir(dir, mount, own);
    }
    if ((r == 0 || r == -ENOENT) && source->mounted(mount) != CGROUP_V1) {
        missing(c, LACK_V1_MOUNT, 0);
    } else if (r < 0) {
        missing(c, LACK_ACCESS, -r);
    } else if (which == CGROUP_MEMORY && source->swap && !counts_swap(dir)) {
        missing(c, LACK_SWAP, 0);
    } else {
        c->version = CGROUP_V1;
        c->route = CGROUP_ROUTE_CHILD;
        put_path(out->dirs[which], dir);
    }
}

/* A place for the sandbox's group in v2, and the controllers that a child there would have. */
struct place {
    char dir[CGROUP_PATH_SIZE];
    enum cgroup_route route;
    unsigned controllers; /* bits by enum cgroup_controller */
    unsigned crowded;     /* what the own group could give if this process were alone in it */
    int rank;             /* the best one wins, the nearest among equals */
};

ROOMY static unsigned controllers_in(const char *dir, const char *file)
{
    char text[CGROUP_FILE_SIZE];
    unsigned bits = 0;
    if (read_in(dir, file, text) < 0)
        return 0;
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
        if (cgroup_has_word(text, cgroup_controller_name((enum cgroup_controller)c)))
            bits |= 1U << c;
    }
    return bits;
}

static void offer(struct place *best, const char *dir, enum cgroup_route route,
                  unsigned controllers)
{
    int rank = ((controllers & 1U << CGROUP_MEMORY) != 0 ? 2 : 0) +
               ((controllers & 1U << CGROUP_PIDS) != 0 ? 1 : 0);
    if (rank <= best->rank)
        return;
    put_path(best->dir, dir);
    best->route = route;
    best->controllers = controllers;
    best->rank = rank;
}

/*
 * A group that holds processes gives no controllers to its children, the root of all aside. So
 * the own group serves if it is that root, or if this process is alone in it and steps aside.
 */
ROOMY static void offer_own(struct place *best, const char *own)
{
    char path[PATH_SIZE];
    join(path, own, "cgroup.type");
    if (access(path, F_OK) < 0) { /* only the root of all has no type */
        offer(best, own, CGROUP_ROUTE_CHILD, controllers_in(own, "cgroup.subtree_control"));
        return;
    }
    char enabled[CGROUP_FILE_SIZE];
    if (read_in(own, "cgroup.subtree_control", enabled) < 0 ||
        enabled[strspn(enabled, " \n")] != '\0')
        return; /* threaded controllers are on: a child could hold no process */
    unsigned controllers = controllers_in(own, "cgroup.controllers");
    join(path, own, "cgroup.subtree_control");
    if (access(path, W_OK) < 0)
        controllers = 0;
    if (controllers != 0 && holds_this_process(own, true)) {
        offer(best, own, CGROUP_ROUTE_LEAF, controllers);
    } else {
        best->crowded = controllers;
        offer(best, own, CGROUP_ROUTE_CHILD, 0);
    }
}

static bool is_leaf(const char *dir)
{
    const char *name = strrchr(dir, '/');
    size_t len = strlen(dir);
    size_t suffix = strlen(CGROUP_LEAF_SUFFIX);
    return name != NULL && text_starts_with(name + 1, CGROUP_NAME_PREFIX) && len > suffix &&
           strcmp(dir + len - suffix, CGROUP_LEAF_SUFFIX) == 0;
}

/* From the own group upward; `r` says whether that one is writable. */
static void search_v2(const char *mount, const char *own, int r, struct place *best, char *leaf)
{
    char dir[CGROUP_PATH_SIZE];
    put_path(dir, own);
    enum cgroup_route route = CGROUP_ROUTE_CHILD;
    const size_t mount_len = strlen(mount);
    for (;; r = writable(dir)) {
        if (r == 0 && route == CGROUP_ROUTE_CHILD && is_leaf(dir)) {
            /* Another run of this process moved it here: its own group is one up. */
            put_path(leaf, dir);
            *strrchr(dir, '/') = '\0';
            if (writable(dir) == 0)
                offer(best, dir, CGROUP_ROUTE_LEAF, controllers_in(dir, "cgroup.controllers"));
        } else if (r == 0 && route == CGROUP_ROUTE_CHILD) {
            offer_own(best, dir);
        } else if (r == 0) {
            offer(best, dir, route, controllers_in(dir, "cgroup.subtree_control"));
        }
        if (best->rank >= 3 || strlen(dir) <= mount_len)
            return;
        *strrchr(dir, '/') = '\0';
        route = CGROUP_ROUTE_ANCESTOR;
    }
}

/* One controller at the place that was found, or why it is not to be had there. */
static void tell(struct host_cgroup *out, enum cgroup_controller which, const struct place *best)
{
    struct host_cgroup_controller *c = &out->controllers[which];
    const unsigned bit = 1U << which;
    /* Every group of v2 counts cpu time, whatever is enabled. */
    if (which != CGROUP_CPUACCT && (best->crowded & ~best->controllers & bit) != 0) {
        missing(c, LACK_CROWDED, 0);
    } else if (which != CGROUP_CPUACCT && (best->controllers & bit) == 0) {
        missing(c, LACK_DISABLED, 0);
    } else {
        c->version = CGROUP_V2;
        c->route = best->route;
        c->hierarchy = 0;
        put_path(out->dirs[which], best->dir);
    }
}

static void probe_v2(const struct cgroup_source *source, const struct cgroup_line *line, struct host_cgroup *out)
{
    char unified[PATH_SIZE];
    const char *mount = source->root;
    bool present = source->mounted(mount) == CGROUP_V2;
    if (!present) {
        join(unified, source->root, "unified");
        mount = unified;
        present = source->mounted(mount) == CGROUP_V2;
    }

    struct place best;
    best.rank = -1;
    best.route = CGROUP_ROUTE_CHILD;
    best.controllers = best.crowded = 0;
    char own[CGROUP_PATH_SIZE];
    int r = !present ? -ENODEV : line->path == NULL ? -ENODATA : own_dir(own, mount, line);
    if (r == 0 || r == -EACCES)
        search_v2(mount, own, r, &best, out->leaf);
    if (best.route != CGROUP_ROUTE_LEAF)
        out->leaf[0] = '\0';

    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (best.rank >= 0)
            tell(out, (enum cgroup_controller)i, &best);
        else
            missing(&out->controllers[i], present ? LACK_ACCESS : LACK_FILE_SYSTEM, -r);
    }
}

void layer_cgroup_probe_from(const struct cgroup_source *source, struct host_cgroup *out)
{
    struct cgroup_lines lines;
    cgroup_read_lines(source->self_text, &lines);
    memset(out->controllers, 0, sizeof out->controllers);
    out->swap = source->swap;
    out->leaf[0] = '\0';
    probe_v2(source, &lines.v2, out);
    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (out->controllers[i].version == CGROUP_NONE)
            probe_v1(source, &lines.v1[i], (enum cgroup_controller)i, out);
    }
}

static enum cgroup_version mounted(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs) < 0)
        return CGROUP_NONE;
    if ((unsigned long)fs.f_type == CGROUP2_SUPER_MAGIC)
        return CGROUP_V2;
    return (unsigned long)fs.f_type == CGROUP_SUPER_MAGIC ? CGROUP_V1 : CGROUP_NONE;
}

void layer_cgroup_probe(struct host_cgroup *out)
{
    char text[SELF_TEXT_SIZE];
    FD_AUTO fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = '\0';
    layer_cgroup_probe_from(
        &(struct cgroup_source){
            .root = HOST_CGROUP_ROOT, .self_text = text, .mounted = mounted, .swap = sys_has_swap()},
        out);
}
