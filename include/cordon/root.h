/*
 * The rooted filesystem: file operations on behalf of people who may race you. A root serves one
 * home directory and, if asked, two more bases; no operation reads, changes or creates anything
 * outside of them, whatever happens to the tree meanwhile.
 *
 * Paths      are the caller's, not the host's. A relative path, and an absolute one under a home
 *            alias, names something in the home; one under the scratch alias something in the
 *            scratch; any other absolute path something in the rootfs (without a rootfs: in the
 *            home). ".." is lexical and stops at the top of its base.
 * Errors     every function returns 0 or a negative errno, and fills `err` (which may be NULL)
 *            with the shape Node users know. The text is made of the request alone: no host path
 *            is ever in it. A root or a watch that is NULL, because it could not be opened, is an
 *            error (EINVAL).
 * Threads    a root may be used from any number of threads at once.
 * Ownership  results with a *_free function are the caller's to free; they hold no descriptor.
 */
#ifndef CORDON_ROOT_H
#define CORDON_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct cordon_root; /* opaque */

struct cordon_root_error {
    int32_t errnum;     /* negative, as Node has it; 0: `code` alone says it */
    bool has_path;      /* an empty path is a path: the top of the home */
    bool has_dest;
    char code[32];      /* "ENOENT", "LOCK", "ERR_FS_CP_EEXIST"; may be empty */
    char syscall[16];   /* "open"; may be empty */
    char path[4097];    /* as the caller would write it */
    char dest[4097];
    char message[8704]; /* "ENOENT: no such file or directory, open 'q'" */
};

enum cordon_root_flags {
    CORDON_ROOT_READONLY = 1,        /* every mutator fails */
    CORDON_ROOT_UNSAFE = 2,          /* no containment: links are followed anywhere */
    CORDON_ROOT_STRICT = 4,          /* no link is followed at all */
    CORDON_ROOT_NO_XDEV = 8,         /* no mount inside a base is entered */
    CORDON_ROOT_ALLOW_HARDLINK = 16, /* link() in safe mode */
    CORDON_ROOT_ALLOW_SYMLINK = 32,  /* symlink() in safe mode */
    CORDON_ROOT_LEAF_LINKS_ACT = 64  /* unlink, rm, rename, move, lstat and readlink act on a link
                                        that leaves the base, instead of refusing it */
};

enum cordon_root_sync {
    CORDON_ROOT_SYNC_NONE = 0, /* a crash of the process leaves old or new; one of the machine may
                                  lose the newest write on file systems that do not order it */
    CORDON_ROOT_SYNC_DATA = 1, /* content is on disk before it takes the place of other content, and before
                                  the call returns: of writes, copies and moves to another mount */
    CORDON_ROOT_SYNC_FULL = 2  /* the name as well, also of a rename, before the call returns */
};

/* A refusal: EACCES, EPERM, ESTALE, or a path that leads outside. Valid during the call only. */
struct cordon_root_denial {
    const char *method; /* "readFile" */
    const char *mode;   /* "safe" */
    const char *path;   /* as requested */
    const char *code;
    const char *message;
};

/* Called once for each refusal, from the thread that made the call. */
typedef void cordon_root_denial_fn(void *user, const struct cordon_root_denial *denial);

struct cordon_root_options {
    size_t size;        /* sizeof (struct cordon_root_options) */
    const char *home;   /* host directory; required. A relative one counts from where the root is opened */
    const char *rootfs; /* host directory or NULL */
    const char *scratch;
    const char *scratch_alias;        /* NULL: "/scratch" */
    const char *const *home_aliases;  /* NULL: "/root" */
    size_t home_alias_count;
    const char *host;                 /* label of sync events; NULL: "global" */
    const char *sync_dir;             /* host directory for the snapshots of sync; NULL: memory */
    const char *rustic_repo;          /* host directory of the backups; NULL: none */
    uint32_t flags;                   /* enum cordon_root_flags */
    uint32_t sync;                    /* enum cordon_root_sync */
    uint64_t max_read_bytes;          /* of one readFile; 0: 2 GiB */
    cordon_root_denial_fn *on_denial; /* or NULL */
    void *user;
};

/* Opens no directory: a base that is missing now may appear later. */
int cordon_root_open(const struct cordon_root_options *options, struct cordon_root **out,
                     struct cordon_root_error *err);
void cordon_root_close(struct cordon_root *root); /* NULL is allowed */

struct cordon_root_counters {
    uint64_t calls;
    uint64_t failures;  /* calls that returned an error, refusals included */
    uint64_t denials;   /* refusals, see cordon_root_denial */
    uint64_t outside;   /* of these: a path that leads outside */
    uint64_t readonly;  /* of these: a mutator on a read-only root */
    uint64_t walks;     /* resolutions that openat2() could not do */
    uint64_t retries;   /* of a resolution, because the tree changed under it */
    uint64_t rebinds;   /* a base that was found replaced */
};
void cordon_root_counters(const struct cordon_root *root, struct cordon_root_counters *out);

/* ---- reading ---- */

struct cordon_root_data {
    char *data; /* a NUL follows, which is not counted */
    size_t len;
};
void cordon_root_data_free(struct cordon_root_data *data);

struct cordon_root_stat {
    uint64_t dev, ino, nlink, rdev, size, blksize, blocks;
    uint32_t mode, uid, gid;
    char type; /* f d l b c s p */
    double atime_ms, mtime_ms, ctime_ms, birthtime_ms;
};

/* lock_ms > 0: fails with code LOCK if the path is locked, else locks it for that long. */
int cordon_root_read_file(struct cordon_root *root, const char *path, uint64_t lock_ms,
                          struct cordon_root_data *out, struct cordon_root_error *err);
int cordon_root_lock_file(struct cordon_root *root, const char *path, uint64_t lock_ms,
                          struct cordon_root_error *err); /* 0 ms: unlock */
int cordon_root_stat(struct cordon_root *root, const char *path, struct cordon_root_stat *out,
                     struct cordon_root_error *err);
int cordon_root_lstat(struct cordon_root *root, const char *path, struct cordon_root_stat *out,
                      struct cordon_root_error *err);
int cordon_root_exists(struct cordon_root *root, const char *path, bool *out,
                       struct cordon_root_error *err);
int cordon_root_readlink(struct cordon_root *root, const char *path, struct cordon_root_data *out,
                         struct cordon_root_error *err);
int cordon_root_realpath(struct cordon_root *root, const char *path, struct cordon_root_data *out,
                         struct cordon_root_error *err);

struct cordon_root_entry {
    const char *name;        /* any bytes but '/' and NUL; not always UTF-8 */
    const char *parent;      /* readdir: its directory as the caller would write it */
    const char *link_target; /* getListing, links only; else NULL */
    uint64_t size;           /* getListing */
    double mtime_ms;         /* getListing */
    char type;               /* f d l b c s p, or ? */
};

struct cordon_root_entries {
    struct cordon_root_entry *entries;
    size_t count;
    void *memory; /* what the names live in */
};
void cordon_root_entries_free(struct cordon_root_entries *entries);

int cordon_root_get_listing(struct cordon_root *root, const char *path,
                            struct cordon_root_entries *out, struct cordon_root_error *err);

/*
 * Sorted by bytes. Recursive: `name` is relative to the path, parents come before children; a directory that
 * cannot be entered is shown without what is in it, and so is one so deep that nothing in it can be named.
 */
int cordon_root_readdir(struct cordon_root *root, const char *path, bool recursive,
                        struct cordon_root_entries *out, struct cordon_root_error *err);

struct cordon_root_constant {
    const char *name;
    int64_t value;
};
const struct cordon_root_constant *cordon_root_constants(size_t *count);

/* ---- changing ---- */

int cordon_root_append_file(struct cordon_root *root, const char *path, const void *data,
                            size_t len, struct cordon_root_error *err);

/*
 * Atomic: a reader sees the old content or the new. Not where it has to write in place: a file with
 * several names (CORDON_ROOT_ALLOW_HARDLINK, _UNSAFE), a directory that cannot be written, an owner or
 * a group that cannot be given, a name that is a mount. There the old content is kept if there is
 * no room for the new; a reader may see a mixture, and a crash may leave one.
 * save_last: remember it for watchers.
 */
int cordon_root_write_file(struct cordon_root *root, const char *path, const void *data,
                           size_t len, bool save_last, struct cordon_root_error *err);

/*
 * `patch` is the JSON text of a list of hunks, `sha256` that of the content it was made from. Check
 * and write are one step for every writer of this root, and for patches of other roots and processes
 * (where the file system has flock); EBUSY if one of those holds the file for five seconds.
 */
int cordon_root_write_patch(struct cordon_root *root, const char *path, const char *patch,
                            size_t patch_len, const char *sha256, bool save_last,
                            struct cordon_root_error *err);

/* `base` NULL: not known. min_length counts UTF-16 units; the usual value is 1024. */
int cordon_root_write_file_delta(struct cordon_root *root, const char *path, const char *content,
                                 size_t len, const char *base, size_t base_len, size_t min_length,
                                 bool save_last, struct cordon_root_error *err);

/* The patch that leads from one text to another, as JSON. */
int cordon_root_make_patch(const char *from, size_t from_len, const char *to, size_t to_len,
                           struct cordon_root_data *out);

int cordon_root_truncate(struct cordon_root *root, const char *path, int64_t len,
                         struct cordon_root_error *err);
/* Set-user-ID and set-group-ID are for directories only (EPERM), but with CORDON_ROOT_UNSAFE. */
int cordon_root_chmod(struct cordon_root *root, const char *path, uint32_t mode,
                      struct cordon_root_error *err);
int cordon_root_utimes(struct cordon_root *root, const char *path, double atime_s, double mtime_s,
                       struct cordon_root_error *err);
int cordon_root_mkdir(struct cordon_root *root, const char *path, bool recursive, uint32_t mode,
                      struct cordon_root_error *err); /* the usual mode is 0777 */
int cordon_root_rmdir(struct cordon_root *root, const char *path, bool recursive,
                      struct cordon_root_error *err);
int cordon_root_unlink(struct cordon_root *root, const char *path, struct cordon_root_error *err);
int cordon_root_rename(struct cordon_root *root, const char *from, const char *to,
                       struct cordon_root_error *err);
/*
 * A directory is not replaced by what lies in it (ENOTEMPTY). To another mount: a copy, with owner,
 * attributes and ACL as far as they can be given, then a removal.
 */
int cordon_root_move(struct cordon_root *root, const char *from, const char *to, bool overwrite,
                     struct cordon_root_error *err);
int cordon_root_link(struct cordon_root *root, const char *existing, const char *path,
                     struct cordon_root_error *err);
int cordon_root_symlink(struct cordon_root *root, const char *target, const char *path,
                        struct cordon_root_error *err);
int cordon_root_copy_file(struct cordon_root *root, const char *from, const char *to,
                          struct cordon_root_error *err);

/* Entries and bytes done so far; anything but 0 stops the call with ECANCELED. */
typedef int cordon_root_progress_fn(void *user, uint64_t entries, uint64_t bytes);

struct cordon_root_cp_options {
    size_t size; /* sizeof (struct cordon_root_cp_options) */
    bool recursive;
    bool dereference;
    bool keep_existing;  /* Node's force: false */
    bool error_on_exist; /* with keep_existing */
    bool preserve_timestamps;
    cordon_root_progress_fn *progress;
    void *user;
};
int cordon_root_cp(struct cordon_root *root, const char *from, const char *to,
                   const struct cordon_root_cp_options *options, struct cordon_root_error *err);
/* `to` is a directory that exists; each source lands in it. */
int cordon_root_cp_list(struct cordon_root *root, const char *const *from, size_t count,
                        const char *to, const struct cordon_root_cp_options *options,
                        struct cordon_root_error *err);

struct cordon_root_rm_options {
    size_t size; /* sizeof (struct cordon_root_rm_options) */
    bool recursive;
    bool force; /* missing is fine */
    cordon_root_progress_fn *progress;
    void *user;
};
int cordon_root_rm(struct cordon_root *root, const char *const *paths, size_t count,
                   const struct cordon_root_rm_options *options, struct cordon_root_error *err);

/* ---- watching ---- */

struct cordon_root_watch; /* opaque; used by one thread at a time, except for _end() */

struct cordon_root_watch_options {
    size_t size;           /* sizeof (struct cordon_root_watch_options) */
    uint32_t max_queue;    /* 0: 2048 */
    bool throw_on_overflow; /* else the oldest event is dropped */
    bool close_on_unlink;
    bool stats;
    bool patch;
    uint32_t stability_ms; /* 0: at once; the usual value is 500 */
};

struct cordon_root_event {
    const char *event; /* add addDir change unlink unlinkDir; static */
    char name[256];    /* relative to what is watched; empty: that itself */
    bool has_stat;
    struct cordon_root_stat stat;
    struct cordon_root_data patch; /* JSON; data is NULL without one */
    uint64_t patch_seq;
};
void cordon_root_event_free(struct cordon_root_event *event);

/* Armed when it returns. */
int cordon_root_watch_open(struct cordon_root *root, const char *path,
                           const struct cordon_root_watch_options *options,
                           struct cordon_root_watch **out, struct cordon_root_error *err);

/* 1: an event; 0: none within timeout_ms (-1: wait for ever) or the watch has ended (see _done). */
int cordon_root_watch_next(struct cordon_root_watch *watch, int timeout_ms,
                           struct cordon_root_event *out, struct cordon_root_error *err);
bool cordon_root_watch_done(const struct cordon_root_watch *watch);
size_t cordon_root_watch_queue_size(const struct cordon_root_watch *watch);
void cordon_root_watch_ignore(struct cordon_root_watch *watch, uint32_t ms); /* 0: stop ignoring */
void cordon_root_watch_end(struct cordon_root_watch *watch);   /* from any thread; wakes next */
void cordon_root_watch_close(struct cordon_root_watch *watch); /* frees; before the root closes */

/* ---- heartbeats of editors ---- */

struct cordon_root_sync_event {
    char *path;       /* as the heartbeat gave it */
    const char *type; /* "change" or "delete"; static */
    struct cordon_root_data content;
    struct cordon_root_data patch; /* JSON; data is NULL without one */
    char sha256[65];
};
void cordon_root_sync_event_free(struct cordon_root_sync_event *event);

/* Somebody edits `path` (active), or stopped to. Interest lapses after 60 s without a call. */
int cordon_root_sync_fs_watch(struct cordon_root *root, const char *path, bool active,
                              struct cordon_root_error *err);

/* 1: an event; 0: none within timeout_ms. */
int cordon_root_sync_next(struct cordon_root *root, int timeout_ms,
                          struct cordon_root_sync_event *out, struct cordon_root_error *err);

/* ---- tools: other programs, each in a sandbox that shows it nothing but its directory ---- */

struct cordon_root_tool_options {
    size_t size;                /* sizeof (struct cordon_root_tool_options) */
    const char *const *options; /* flat: "-name", "*.c"; only what the tool may be told */
    size_t option_count;
    double timeout_ms;          /* less than the cap of the tool; else the cap holds. rustic has none: this, or two
                                   minutes */
    uint64_t max_output;        /* of both streams together; 0, or more than 10,000,000: that */
    const char *cwd;            /* ouch, rustic; NULL: the top of the home */
    int stop_fd;                /* borrowed; when it can be read, the tool is ended and the call
                                   fails with ECANCELED; 0: none */
};

struct cordon_root_tool_result {
    struct cordon_root_data out, err;
    int32_t code;   /* its exit code, which is no error of the call; -1: it was ended */
    bool truncated; /* because it took too long or wrote too much */
};
void cordon_root_tool_result_free(struct cordon_root_tool_result *result);

/*
 * Runs one of
 *     find PATH          fd PATH [PATTERN]          ripgrep PATH PATTERN          dust PATH
 *     ouch COMMAND PATH...                          rustic COMMAND [OPTION...] [ARG...]
 * with args being what follows the name. When it returns, nothing of the tool is running.
 */
int cordon_root_tool(struct cordon_root *root, const char *tool, const char *const *args,
                     size_t count, const struct cordon_root_tool_options *options,
                     struct cordon_root_tool_result *out, struct cordon_root_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
