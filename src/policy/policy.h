/*
 * The policy: what somebody asked for, as plain data. It knows nothing of this host; whether it
 * can be enforced here is the plan's question.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/parse.h"

#define POLICY_UNLIMITED PARSE_UNLIMITED

#define POLICY_MAX_BINDS 8192
#define POLICY_MAX_NAMES 4096 /* environment names, hidden paths, requirements: each */
#define POLICY_MAX_PROTECT 64
#define POLICY_MAX_PROTECT_DEPTH 4 /* components of a protected name */
#define POLICY_MAX_BYTES (1024 * 1024)
#define POLICY_MAX_PATH 4095

enum policy_profile {
    PROFILE_STAGE,
    PROFILE_MODULE,
    PROFILE_LIMITS,
    PROFILE_TEST,
    PROFILE_AGENT,
    PROFILE_COUNT,
};

enum policy_fs_mode {
    FS_VIEW,  /* an empty root plus what is listed */
    FS_GUARD, /* the host's tree, read-only, plus what is listed as rw */
};

enum policy_net { NET_NONE, NET_LOOPBACK, NET_HOST };
enum policy_uid { UID_NOBODY, UID_CALLER };
enum policy_seccomp { SECCOMP_DEFAULT, SECCOMP_STRICT, SECCOMP_OFF };
enum policy_forbidden {
    FORBIDDEN_ERRNO,
    FORBIDDEN_KILL,
    FORBIDDEN_KILL_SOCKETS, /* enforce_network of the SandboxPolicy form: only socket() kills */
};
enum policy_overflow { OVERFLOW_TRUNCATE, OVERFLOW_KILL };
enum policy_backend { BACKEND_AUTO, BACKEND_NATIVE, BACKEND_BWRAP, BACKEND_POSIX, BACKEND_NONE };
enum policy_work {
    WORK_NONE,    /* no /work: always in guard mode */
    WORK_PRIVATE, /* an empty tmpfs */
    WORK_HOST,    /* a directory of the host's, read-write */
};

struct policy_bind {
    const char *host;    /* absolute, normalised */
    const char *sandbox; /* absolute, normalised */
    bool optional;       /* a missing source is not an error */
};

/* In all lists `room` is what the arena copy can hold; 0 while a list is a profile's static one. */
struct policy_binds {
    struct policy_bind *items;
    size_t count, room;
};

struct policy_names {
    const char **items;
    size_t count, room;
};

struct policy_var {
    const char *name;
    const char *value;
};

struct policy_vars {
    struct policy_var *items;
    size_t count, room;
};

struct policy_env {
    bool inherit;              /* start from everything the caller has (test, limits) */
    struct policy_names allow; /* NAME or PREFIX_* */
    struct policy_names deny;  /* the same; beats allow */
    struct policy_vars fallback; /* "default": if unset after allow and deny */
    struct policy_vars set;
};

struct policy_limits {
    uint64_t wall_ms, cpu_ms;      /* POLICY_UNLIMITED: none */
    uint64_t mem_bytes, pids, nofile;
    uint64_t output_bytes;         /* each stream */
    bool output_given;             /* asked for by name: holds for output that passes through too */
    enum policy_overflow on_overflow;
    uint64_t grace_ms;
    double cpus;                   /* cores, in whole thousandths; 0: no limit */
};

struct policy {
    enum policy_profile profile;
    enum policy_fs_mode fs_mode;
    bool system_ro;
    struct policy_binds rw, ro;
    bool rw_cwd;               /* the caller's own directory is writable at its own path */
    struct policy_names protect; /* relative names kept read-only in every writable tree, cwd too,
                                    unless a bind names them */
    struct policy_names hide; /* paths inside, and globs: absolute, or beneath any bind by a leading
                                  double star and slash */
    enum policy_work work;
    const char *work_host;     /* with WORK_HOST */
    uint64_t tmp_bytes;
    bool private_tmp;          /* guard: /tmp is an own tmpfs (limits) or read-only (test) */
    enum policy_net net;
    struct policy_env env;
    struct policy_limits limits;
    enum policy_uid uid;
    enum policy_seccomp seccomp;
    enum policy_forbidden on_forbidden;
    const char *cwd;           /* inside; NULL: the caller's own in guard mode and with rw_cwd, else
                                  /work, or / where there is none */
    enum policy_backend backend;
    struct policy_names require; /* CAPABILITY or CAPABILITY:MECHANISM */
    bool allow_partial;
};

/* The built-in profile; everything it points to is static. */
void policy_init(struct policy *policy, enum policy_profile profile);
const char *policy_profile_about(enum policy_profile profile); /* one line for people */

/* The words of the documents: closed sets. Never NULL. */
const char *policy_profile_name(enum policy_profile v);
const char *policy_fs_mode_name(enum policy_fs_mode v);
const char *policy_net_name(enum policy_net v);
const char *policy_uid_name(enum policy_uid v);
const char *policy_seccomp_name(enum policy_seccomp v);
const char *policy_forbidden_name(enum policy_forbidden v);
const char *policy_overflow_name(enum policy_overflow v);
const char *policy_backend_name(enum policy_backend v);
const char *policy_work_name(enum policy_work v);

/* The same sets as data, for tables and messages. */
struct policy_words {
    const char *const *names;
    int count;
};
extern const struct policy_words policy_profile_words, policy_fs_mode_words, policy_net_words,
    policy_uid_words, policy_seccomp_words, policy_forbidden_words, policy_overflow_words,
    policy_backend_words, policy_work_words;
/* The index of `s`, or -1. */
int policy_words_parse(const struct policy_words *words, const char *s);
/* "a, b, c" for messages; cut if it does not fit. */
void policy_words_list(const struct policy_words *words, char *out, size_t size);
/* The index of `name`, or a usage error of the step `what` that lists the words. */
int policy_words_find(const struct policy_words *words, const char *what, const char *name, struct cordon_error *err);

/*
 * The limits that are plain numbers, for everybody who reads, checks or prints them. Zero means
 * the profile's default where `zero` says so and is refused elsewhere.
 */
enum policy_unit { UNIT_MS, UNIT_BYTES, UNIT_COUNT };
enum policy_zero { ZERO_REFUSED, ZERO_DEFAULT, ZERO_TAKEN };

struct policy_limit {
    const char *key;     /* in "limits" of a document, but for tmp_bytes, which is in "fs" */
    const char *pointer; /* JSON pointer of the same */
    size_t offset;       /* of an uint64_t in struct policy */
    enum policy_unit unit;
    enum policy_zero zero;
    bool unlimited;      /* null in a document, "none" in an option */
    uint64_t min, max;   /* of what is neither zero nor unlimited */
};
#define POLICY_LIMIT_COUNT 8
extern const struct policy_limit policy_limit_table[POLICY_LIMIT_COUNT];
const struct policy_limit *policy_limit_find(const char *key);
uint64_t policy_limit_get(const struct policy *policy, const struct policy_limit *limit);
void policy_limit_set(struct policy *policy, const struct policy_limit *limit, uint64_t value);

/* NULL, or the reason why `value` cannot be this limit, in static memory or `room`. */
const char *policy_limit_wrong(const struct policy_limit *limit, uint64_t value, char *room,
                               size_t size);

/*
 * Adding to a list copies it into `arena` (profiles are static). Paths are normalised lexically;
 * a relative host path is an error here: the caller makes it absolute.
 */
int policy_add_bind(struct policy_binds *list, struct arena *arena, const char *host,
                    const char *sandbox, bool optional, struct cordon_error *err);
int policy_add_name(struct policy_names *list, struct arena *arena, const char *name,
                    struct cordon_error *err);
int policy_add_var(struct policy_vars *list, struct arena *arena, const char *name,
                   const char *value, struct cordon_error *err);

/* A copy that lives in `arena` alone. */
int policy_copy(struct policy *out, const struct policy *from, struct arena *arena, struct cordon_error *err);

/*
 * What every policy must satisfy, one small function a rule: names of variables, absolute and
 * normalised paths, limits in range, contradictions (a bind that work would hide, a bind over
 * /proc or /dev, the same target twice in one list, ...). `err->subject` is a JSON pointer.
 */
int policy_validate(const struct policy *policy, struct cordon_error *err);

/* What is allowed and still deserves a word; `pointer` is a JSON pointer. */
typedef void policy_warning_fn(void *context, const char *pointer, const char *text);
void policy_warnings(const struct policy *policy, policy_warning_fn *warn, void *context);

/*
 * Whether `policy` asks for nothing beyond `ceiling`: no path, variable, limit or loosening that
 * the ceiling does not grant. `err->subject` points at the first excess. `cwd` is the caller's own
 * directory; NULL: unknown.
 */
int policy_within(const struct policy *policy, const struct policy *ceiling, const char *cwd,
                  struct cordon_error *err);

unsigned policy_path_depth(const char *path); /* slashes: of an absolute path its components */
/* `path` is `dir` or beneath it; both normalised. */
bool policy_path_beneath(const char *path, const char *dir);

/* NULL, or what is wrong with a variable's name ("contains ..."); `star`: PREFIX_* is allowed. */
const char *policy_variable_wrong(const char *name, bool star);
/* NAME or PREFIX_* against a name. */
bool policy_name_matches(const char *pattern, const char *name);
/* Variables that make a loader or interpreter run foreign code: LD_*, PYTHONPATH, ... */
bool policy_loader_variable(const char *name);

/* Lexical: collapses //, . and ..; NULL if out of memory. The path must be absolute. */
char *policy_normalize_path(struct arena *arena, const char *path);
