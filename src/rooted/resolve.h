/*
 * The choke point: the only place in this directory that turns a name of more than one component
 * into a descriptor. Everything else works on descriptors and single names.
 *
 * Guarantee  What is returned lay beneath the base at the moment it was reached, however the tree
 *            changes meanwhile. Links are followed as long as they stay inside; an absolute link
 *            is followed if its text maps into the same base.
 * How        openat2() with RESOLVE_BENEATH; where that is missing, filtered, or met a link that it
 *            may not judge, a walk of O_PATH steps that never follows a link in the kernel.
 * Unsafe     bases resolve as the kernel does for anybody; links lead anywhere.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Beside -errno; outside of its range. */
#define RESOLVE_OUTSIDE (-4096) /* the path leads out of its base */
#define RESOLVE_NOTDIR (-4097)  /* something in the middle of the path is not a directory */
#define RESOLVE_NO_BASE (-4098) /* the base is not there, or not configured */

/* What the text of an absolute link means; the first match counts. */
struct resolve_prefix {
    const char *text;
    bool inside; /* it is the top of this base; else it is something else's */
    bool weak;   /* one reading of several: if nothing is there, the link leads outside */
};

struct resolve_counts {
    _Atomic uint64_t walks;
    _Atomic uint64_t retries;
};

struct resolve_base {
    int fd;      /* borrowed; an O_PATH directory */
    bool unsafe;
    bool strict; /* no links at all */
    bool no_xdev;
    const struct resolve_prefix *prefixes; /* borrowed */
    size_t prefix_count;
    struct resolve_counts *counts; /* borrowed */
};

/* A name in its directory: what an *at() call wants. */
struct resolve_place {
    int dir;       /* of the directory */
    bool owned;    /* close dir */
    bool exists;   /* when looked at; st is valid */
    struct stat st; /* of the name itself, links not followed */
    char name[NAME_MAX + 1]; /* "" for the top of the base, then dir is the top itself */
};
#define RESOLVE_PLACE_INIT ((struct resolve_place){.dir = -1})

void resolve_place_release(struct resolve_place *place);
#define PLACE_AUTO __attribute__((cleanup(resolve_place_release))) struct resolve_place

/*
 * Opens what `name` (normalised, "" is the top) leads to, and never creates it; a descriptor or a negative
 * number. With O_NOFOLLOW the last component itself. Never blocks on a FIFO if flags has O_NONBLOCK.
 */
int resolve_open(const struct resolve_base *base, const char *name, int flags);

/* With `follow`, the place that the last link leads to, which need not exist, but must be known to. */
int resolve_place(const struct resolve_base *base, const char *name, bool follow,
                  struct resolve_place *out);

/* Where `name`, a link or not, leads: 0 if to something or nothing inside. Ignores strict. */
int resolve_check(const struct resolve_base *base, const char *name);

/* The name without links; `out` has PATH_MAX bytes. Never unsafe: it has no name for outside. */
int resolve_real(const struct resolve_base *base, const char *name, char *out);

/* Where no mount may be entered: -EXDEV if `fd`, which was found in `dir`, is on another one. 0 or -errno. */
int resolve_same_mount(int dir, int fd);

/* ---- the host side: the directory a base is made of ---- */

/*
 * The common case in one call: opens `name` beneath the host directory if neither its path nor the
 * name has a link in it. Without links there is no way out, and the host directory is the one that
 * is there now, so no look at it is needed. Any failure says nothing: resolve_open() has to judge.
 */
int resolve_direct(const char *host, const char *name, int flags);

/*
 * The same for a look at a name directly in the host directory: a single name that is no link cannot
 * lead anywhere else.
 */
struct sys_statx;
int resolve_direct_stat(const char *host, const char *name, unsigned mask, struct sys_statx *out);

struct resolve_identity {
    uint64_t dev, ino, mount;
};

/* One look at a host directory; -ENOTDIR if it is something else. */
int resolve_base_look(const char *host, struct resolve_identity *out);

/* Opens it, with its identity, and its path without links (malloc'd; NULL if that is not known). */
int resolve_base_open(const char *host, struct resolve_identity *out, char **canonical);

/* ---- acting on an O_PATH descriptor, which needs /proc on older kernels ---- */

int resolve_fd_chmod(int fd, mode_t mode);
int resolve_fd_utimes(int fd, const struct timespec times[2]);
int resolve_fd_watch(int inotify_fd, int dir_fd, uint32_t mask); /* a watch or -errno */
