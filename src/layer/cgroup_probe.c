#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
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

static bool list_has(const char *list, const char *name)
{
    const size_t len = strlen(name);
    for (const char *p = list; *p != '\0';) {
        size_t item = strcspn(p, ",");
        if (item == len && memcmp(p, name, len) == 0)
            return true;
        p += item + (p[item] == ',');
    }
    return false;
}

int cgroup_own_path(const char *self_text, const char *controller, unsigned *hierarchy,
                    char list[static 128], char path[static CGROUP_PATH_SIZE])
{
    /* NUMBER:LIST:PATH; the list of v2 is empty, the path may hold colons. */
    for (const char *line = self_text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        const char *first = memchr(line, ':', len);
        const char *second =
            first == NULL ? NULL : memchr(first + 1, ':', len - (size_t)(first + 1 - line));
        if (second != NULL && (size_t)(second - first - 1) < 128) {
            char names[128] = "";
            memcpy(names, first + 1, (size_t)(second - first - 1));
            if (controller == NULL ? names[0] == '\0' : list_has(names, controller)) {
                size_t path_len = len - (size_t)(second + 1 - line);
                if (path_len >= CGROUP_PATH_SIZE)
                    return -ENAMETOOLONG;
                memcpy(list, names, sizeof names);
                memcpy(path, second + 1, path_len);
                path[path_len] = '\0';
                *hierarchy = (unsigned)strtoul(line, NULL, 10);
                return 0;
            }
        }
        line += len + (line[len] == '\n');
    }
    return -ENODATA;
}

__attribute__((format(printf, 2, 3))) static void missing(struct host_cgroup_controller *c,
                                                          const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    c->version = CGROUP_NONE;
    vsnprintf(c->reason, sizeof c->reason, fmt, args);
    va_end(args);
}

/* "DIR/NAME"; an empty string, which no call accepts as a path, if it does not fit. */
static void join(char out[static PATH_SIZE], const char *dir, const char *name)
{
    if (snprintf(out, PATH_SIZE, "%s/%s", dir, name) >= PATH_SIZE)
        out[0] = '\0';
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
    join(path, dir, "cgroup.procs");
    return access(dir, W_OK) == 0 && access(path, W_OK) == 0 ? 0 : -errno;
}

static bool holds_this_process(const char *dir, bool alone)
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
static int own_dir(char out[static CGROUP_PATH_SIZE], const char *mount, const char *own)
{
    if (strncmp(own, "/..", 3) == 0)
        return -ENOENT; /* outside of what this cgroup namespace shows */
    int n = snprintf(out, CGROUP_PATH_SIZE, "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
    if (n >= CGROUP_PATH_SIZE)
        return -ENAMETOOLONG;
    int r = writable(out);
    if (r != -ENOENT || !holds_this_process(mount, false))
        return r;
    snprintf(out, CGROUP_PATH_SIZE, "%s", mount);
    return writable(out);
}

/* Why the own group of a hierarchy cannot be used. */
static void explain(struct host_cgroup_controller *c, int errnum, const char *name)
{
    switch (errnum) {
    case EROFS:
        missing(c, "the cgroup file system of the %s controller is mounted read-only", name);
        break;
    case EACCES:
    case EPERM:
        missing(c, "the caller's cgroup for the %s controller is not writable by uid %u", name,
                (unsigned)geteuid());
        break;
    default:
        missing(c, "the caller's cgroup for the %s controller is not visible: %s", name,
                text_errno(errnum));
    }
}

static bool counts_swap(const char *dir)
{
    char path[PATH_SIZE];
    join(path, dir, "memory.memsw.limit_in_bytes");
    return access(path, F_OK) == 0;
}

static void probe_v1(const struct cgroup_source *source, enum cgroup_controller which,
                     struct host_cgroup_controller *c)
{
    const char *name = cgroup_controller_name(which);
    char list[128];
    char own[CGROUP_PATH_SIZE];
    int r = cgroup_own_path(source->self_text, name, &c->hierarchy, list, own);
    if (r == -ENODATA)
        return; /* not a v1 controller here: what v2 said holds */
    if (r < 0) {
        explain(c, -r, name);
        return;
    }

    char mount[PATH_SIZE];
    join(mount, source->root, list); /* "cpu,cpuacct", to which "cpu" is often a link */
    r = own_dir(c->dir, mount, own);
    if (r == -ENOENT && strcmp(list, name) != 0) {
        join(mount, source->root, name);
        r = own_dir(c->dir, mount, own);
    }
    if ((r == 0 || r == -ENOENT) && source->mounted(mount) != CGROUP_V1) {
        missing(c, "the %s controller belongs to cgroup v1 and is not mounted beneath %s", name,
                source->root);
        return;
    }
    if (r < 0) {
        explain(c, -r, name);
        return;
    }
    if (which == CGROUP_MEMORY && source->swap && !counts_swap(c->dir)) {
        missing(c, "the memory controller does not count what this host swaps out; the kernel does so when "
                   "it is booted with swapaccount=1");
        return;
    }
    c->version = CGROUP_V1;
    c->reason[0] = '\0';
    c->route = CGROUP_ROUTE_CHILD;
}

/* A place for the sandbox's group in v2, and the controllers that a child there would have. */
struct place {
    char dir[CGROUP_PATH_SIZE];
    enum cgroup_route route;
    unsigned controllers; /* bits by enum cgroup_controller */
    unsigned crowded;     /* what the own group could give if this process were alone in it */
    int rank;             /* the best one wins, the nearest among equals */
};

static unsigned controllers_in(const char *dir, const char *file)
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
    snprintf(best->dir, sizeof best->dir, "%s", dir);
    best->route = route;
    best->controllers = controllers;
    best->rank = rank;
}

/*
 * A group that holds processes gives no controllers to its children, the root of all aside. So
 * the own group serves if it is that root, or if this process is alone in it and steps aside.
 */
static void offer_own(struct place *best, const char *own)
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
    snprintf(dir, sizeof dir, "%s", own);
    enum cgroup_route route = CGROUP_ROUTE_CHILD;
    const size_t mount_len = strlen(mount);
    for (;; r = writable(dir)) {
        if (r == 0 && route == CGROUP_ROUTE_CHILD && is_leaf(dir)) {
            /* Another run of this process moved it here: its own group is one up. */
            snprintf(leaf, CGROUP_PATH_SIZE, "%s", dir);
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
static void tell(struct host_cgroup_controller *c, enum cgroup_controller which, const struct place *best)
{
    const char *name = cgroup_controller_name(which);
    const unsigned bit = 1U << which;
    /* Every group of v2 counts cpu time, whatever is enabled. */
    if (which != CGROUP_CPUACCT && (best->crowded & ~best->controllers & bit) != 0) {
        missing(c, "the caller's cgroup can give the %s controller only to a caller that is "
                   "alone in it, and holds other processes", name);
    } else if (which != CGROUP_CPUACCT && (best->controllers & bit) == 0) {
        missing(c, "the %s controller is not enabled in a cgroup that uid %u may write", name,
                (unsigned)geteuid());
    } else {
        c->version = CGROUP_V2;
        c->route = best->route;
        c->hierarchy = 0;
        memcpy(c->dir, best->dir, sizeof c->dir);
    }
}

static void probe_v2(const struct cgroup_source *source, struct host_cgroup *out)
{
    char mount[PATH_SIZE];
    snprintf(mount, sizeof mount, "%s", source->root);
    if (source->mounted(mount) != CGROUP_V2)
        join(mount, source->root, "unified");

    struct place best = {.rank = -1};
    unsigned hierarchy;
    char list[128];
    char path[CGROUP_PATH_SIZE];
    char own[CGROUP_PATH_SIZE];
    bool present = source->mounted(mount) == CGROUP_V2;
    int r = !present ? -ENODEV : cgroup_own_path(source->self_text, NULL, &hierarchy, list, path);
    if (r == 0)
        r = own_dir(own, mount, path);
    if (r == 0 || r == -EACCES)
        search_v2(mount, own, r, &best, out->leaf);
    if (best.route != CGROUP_ROUTE_LEAF)
        out->leaf[0] = '\0';

    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        struct host_cgroup_controller *c = &out->controllers[i];
        if (best.rank >= 0)
            tell(c, (enum cgroup_controller)i, &best);
        else if (present)
            explain(c, -r, cgroup_controller_name((enum cgroup_controller)i));
        else
            missing(c, "no cgroup file system is mounted on %s", source->root);
    }
}

void layer_cgroup_probe_from(const struct cgroup_source *source, struct host_cgroup *out)
{
    *out = (struct host_cgroup){.swap = source->swap};
    probe_v2(source, out);
    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (out->controllers[i].version == CGROUP_NONE)
            probe_v1(source, (enum cgroup_controller)i, &out->controllers[i]);
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
