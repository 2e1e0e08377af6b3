/*
 * The plan: a policy joined with what this host can do, as an ordered list of steps. Pure data:
 * it can be printed (--dry-run), compared and fuzzed without privileges, and everything that the
 * processes inside need stands here, so that nothing is computed or allocated after clone().
 */
#pragma once

#include "base/glob.h"
#include "plan/host.h"
#include "plan/plan_cgroup.h"
#include "plan/proof.h"
#include "policy/capability.h"
#include "policy/policy.h"

#define PLAN_NOBODY 65534
#define PLAN_GATE_PENDING_MS 100 /* a granted fork that is younger may not be seen yet */
#define PLAN_GATE_TASKS_MAX 8192 /* more tasks the fork gate never lets live: one walk must find them all */

enum step_kind {
    STEP_TMPFS,     /* an empty file system at target */
    STEP_DIR,       /* a directory */
    STEP_LINK,      /* a symbolic link with the text `source` */
    STEP_FILE,      /* a small file with the content `source` */
    STEP_SPARSE,    /* a file of zeros, as long as a file can be */
    STEP_BIND,      /* the host's `source` appears at target, its sub-mounts too */
    STEP_DEVICE,    /* one device node of the host's */
    STEP_DEVPTS,    /* a fresh devpts */
    STEP_PROC,      /* a fresh procfs with /proc/sys read-only */
    STEP_HOST_TREE, /* guard mode: the host's whole tree becomes the root */
};

enum step_flag {
    STEP_RDONLY = 1 << 0,   /* a tmpfs is sealed when everything stands in it */
    STEP_OPTIONAL = 1 << 1, /* a missing source, or a missing mount point of a tmpfs, is no error */
    STEP_MAKE = 1 << 2,     /* the mount point is ours to make; without it nothing is ever created */
    STEP_LISTED = 1 << 3,   /* asked for by the policy: a final link is refused, root id-maps it */
    STEP_OWN = 1 << 4,      /* the source is what stands at the target already: bound onto itself */
    STEP_FD = 1 << 5,       /* the caller has the source open, as `fd` */
    STEP_INNER = 1 << 6,    /* a mount inside a source, shown again unless its place is hidden */
    STEP_WORK = 1 << 7,     /* --work: a directory, and never optional */
    STEP_KEEP = 1 << 8,     /* bound onto itself for what is protected in it: if it is no directory, it is that itself */
};

struct plan_step {
    enum step_kind kind;
    unsigned flags; /* enum step_flag */
    unsigned mode;
    const char *source; /* what the kind says; of a tmpfs its mount options */
    const char *target; /* relative to the new root, no leading slash; "" is the root itself */
    int fd;             /* borrowed; with STEP_FD */
    uint64_t size;
};

struct plan_rule {
    const char *path; /* inside, absolute */
    uint64_t access;  /* LL_* of sys/landlock.h */
    unsigned flags;   /* STEP_LISTED: no final link, and it must be there; STEP_OPTIONAL: or not */
};

struct plan_rlimit {
    int resource;
    uint64_t soft, hard;
};

/* A pattern of names to hide, at work in one tree. */
struct plan_hide {
    const struct glob *glob;
    glob_states states;    /* where it stands in `prefix` */
    const char *prefix;    /* the directory beneath the tree where it begins; "" is the tree itself */
    size_t step;           /* whose tree it is */
    const char *target;    /* where that stands inside, as in plan_step */
    bool overlay;          /* the tree is read-only: an overlay hides; else names are covered one by one */
};

#define PLAN_MAX_RLIMITS 8
#define PLAN_HOSTNAME "cordon"

/* One claim of the ledger, before it is proven. */
struct plan_claim {
    bool requested;
    const char *mechanism; /* static; NULL: this host cannot, or nobody asked */
    uint32_t proof;        /* enum proof bits that must be seen */
    const char *why;       /* static; with mechanism NULL: the reason */
    const char *instead;   /* static; with mechanism NULL: what holds in its place, if `proof` is seen */
};

#define PLAN_DETAILS_SIZE 768

/* Of each stream, whatever the limit: a document must end somewhere, and a byte may be six of JSON. */
#define PLAN_CAPTURE_MAX (64u * 1024 * 1024)

/* A claim in words. */
struct plan_words {
    char requested[96]; /* JSON */
    char details[PLAN_DETAILS_SIZE];
};

/* An open directory that becomes /work, instead of what the policy says. */
struct plan_work {
    bool given;
    int fd;
    bool readonly;
    uid_t uid; /* root maps the files of these to the user of the run */
    gid_t gid;
};

enum plan_on_violation {
    VIOLATIONS_FAIL,   /* a run with one is a POLICY_VIOLATION, whatever the payload says */
    VIOLATIONS_REPORT, /* they are in the result, and that is all */
};

/*
 * Guard mode: what may be written although no mount can express it, and what becomes of refused
 * writes. Paths are the host's, absolute, without links on the way.
 */
struct plan_guard {
    const char *root;          /* of the project; NULL: nothing is granted */
    const char *const *caches; /* whole components beneath it, with * as in ".coverage.*"; "MARK/NAME": NAME where
                                  MARK stands in the same directory; NULL at the end */
    const char *test_notes;    /* a directory where a test runner keeps a file for each process, named by its
                                  number inside, with the name of the test that runs; NULL: none */
    enum plan_on_violation on_violation;
};

struct plan {
    struct arena *arena; /* borrowed; everything below lives there */
    const struct policy *policy; /* borrowed */
    const struct host *host;     /* borrowed */
    struct plan_work work;       /* as it was requested */
    bool tty;                    /* the payload gets a terminal of its own */
    struct plan_guard guard;     /* as it was requested */
    const char *runtime_dir;     /* the caller's XDG_RUNTIME_DIR, where it was masked; or NULL */

    /* identity */
    uid_t uid_inside, uid_host;
    gid_t gid_inside, gid_host;
    bool switch_user; /* the caller is root: become uid_host */

    enum policy_backend backend; /* who carries it out: native, bwrap, posix or none */
    const char *bwrap;    /* with that backend: the program */
    bool bare;            /* native's tier without namespaces: none of the following, no tree of its own */
    bool gate;            /* bare: every fork asks init first; bwrap: every exec */
    bool rehearsal;       /* everything is made, nothing is executed */
    uint64_t gate_tasks;  /* and gets EAGAIN if there are so many tasks, or PLAN_GATE_TASKS_MAX */
    const char *work_dir; /* stands for /work and /tmp where there are no mounts, made and removed by this run; or NULL */

    /* namespaces: user, mount and uts always */
    bool netns, loopback, ipcns, cgroupns;
    bool pidns; /* false only where a test switched it off */

    /* files */
    enum policy_fs_mode fs_mode;
    bool own_tree; /* false with `bare`, and where a test switched it off */
    bool host_proc; /* /proc is the host's: it shows more than what is inside */
    bool listen; /* guard: calls that would write are looked at, named, and granted in caches */
    const char *gap; /* bare: what of it Landlock cannot express; NULL: nothing */
    struct plan_step *steps;
    size_t step_count;
    struct plan_rule *rules;
    size_t rule_count;
    int landlock_abi; /* 0: not used */
    struct plan_hide *hides; /* those of one tree in a row */
    size_t hide_count;
    const char *hide_gap; /* what of them cannot be hidden for good; NULL: nothing */

    /* the payload */
    const char *command;      /* as it was given */
    const char **candidates;  /* where it may be, in order; NULL at the end */
    char *const *argv, *const *envp; /* NULL at the end */
    const char *cwd;
    struct plan_rlimit rlimits[PLAN_MAX_RLIMITS];
    size_t rlimit_count;
    uint64_t nofile, nproc;   /* what RLIMIT_NOFILE and RLIMIT_NPROC must read back as */
    bool keyring, drop_caps, wipe;
    enum policy_seccomp seccomp;
    enum policy_forbidden on_forbidden;
    bool host_sockets; /* the network is the host's */
    bool deny_memfd;   /* memory that the watcher could not see */

    /* limits */
    struct plan_cgroup cgroup;
    bool use_cgroup;
    bool watch_memory, watch_cpu; /* by init, where no cgroup does it */
    uint64_t mem_bytes, cpu_ms;
    uint64_t wall_ms, grace_ms;
    uint64_t output_bytes;
    bool output_passing; /* the cap holds for output that passes through, too */
    enum policy_overflow on_overflow;

    /* the ledger */
    struct plan_claim claims[CAPABILITY_COUNT];
    uint32_t must;       /* proofs without which the payload never starts */
};

struct plan_request {
    const struct policy *policy;
    const struct host *host;
    enum policy_backend backend; /* auto means native */
    char *const *command;    /* NULL at the end */
    char *const *caller_env; /* NULL at the end */
    struct plan_work work;
    bool tty;
    struct plan_guard guard; /* counts in guard mode only */
};

/*
 * Pure: (policy, host, command, environment) -> plan; no system calls. A capability that is
 * requested and cannot be had is CORDON_ERROR_PARTIAL unless the policy allows it; the claims are
 * filled in either way.
 */
int plan_compile(struct plan *plan, struct arena *arena, const struct plan_request *request,
                 struct cordon_error *err);

/* Init is a process among the host's others, and not pid 1 of a namespace. */
static inline bool plan_hosted(const struct plan *plan)
{
    return plan->bare || plan->bwrap != NULL;
}

/* Only what POSIX has: no init, no layers. */
static inline bool plan_portable(const struct plan *plan)
{
    return plan->backend == BACKEND_POSIX || plan->backend == BACKEND_NONE;
}

/* The payload sees the host's files at their own paths. */
static inline bool plan_on_host_paths(const struct plan *plan)
{
    return plan->bare || plan_portable(plan);
}

/* Landlock keeps abstract sockets outside of reach. */
static inline bool plan_scopes_sockets(const struct plan *plan)
{
    return plan->landlock_abi >= 6;
}

/* ... and the processes: nothing inside can signal init or anybody else outside. */
static inline bool plan_scopes_signals(const struct plan *plan)
{
    return plan->landlock_abi >= 6;
}

void plan_describe(const struct plan *plan, enum capability c, struct plan_words *out);

/* For people: one step a line. */
struct buf;
void plan_print(const struct plan *plan, struct buf *out);
