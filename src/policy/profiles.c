/* The built-in profiles as data. Lists are static: policy_add_*() copies before it writes. */
#include "policy/policy.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define SECOND UINT64_C(1000)

#define LIST(array) {.items = (array), .count = sizeof(array) / sizeof((array)[0])}

static const char *stage_allow[] = {
    "PATH",     "HOME",     "USER",
    "LANG",     "LC_ALL",   "LC_CTYPE",
    "NIX_PATH", "NIX_SSL_CERT_FILE", "SSL_CERT_FILE",
    "NOETHER_LOG_LEVEL", "RUST_LOG",
};
static struct policy_var stage_set[] = {{"HOME", "/work"}, {"USER", "nobody"}};

static const char *module_allow[] = {"PATH", "LANG", "LC_ALL", "APCORE_*"};
static const char *module_deny[] = {"APCORE_AUTH_*"};
static struct policy_var module_set[] = {{"HOME", "/work"}, {"TMPDIR", "/work"}};

/* Python runs the same twice and leaves no bytecode; a caller's own hash seed is kept. */
static struct policy_var repeatable_fallback[] = {{"PYTHONHASHSEED", "0"}};
static struct policy_var repeatable_set[] = {{"PYTHONDONTWRITEBYTECODE", "1"}};

static const char *agent_allow[] = {"PATH", "LANG", "LC_*", "TERM"};
static struct policy_var agent_set[] = {{"HOME", "/work"}};

/*
 * Files that run code of their own outside the sandbox, later, when a person opens the tree. Git
 * takes config and hooks from where commondir leads, and in a linked work tree from worktrees.
 */
static const char *agent_protect[] = {
    ".git/hooks",    ".git/config",   ".git/config.worktree", ".git/commondir", ".git/worktrees",
    ".envrc",        ".vscode",       ".idea",
    ".bashrc",       ".bash_profile", ".bash_login", ".bash_logout", ".profile",
    ".zshrc",        ".zshenv",       ".zprofile", ".zlogin",  ".zlogout",
    ".config/fish",
};

#define COMMON(tmp)                                                                        \
    .tmp_bytes = (tmp), .seccomp = SECCOMP_DEFAULT, .on_forbidden = FORBIDDEN_ERRNO,       \
    .backend = BACKEND_AUTO

static const struct policy profiles[PROFILE_COUNT] = {
    [PROFILE_STAGE] = {
        COMMON(64 * MIB),
        .profile = PROFILE_STAGE,
        .fs_mode = FS_VIEW, .system_ro = true, .work = WORK_PRIVATE, .private_tmp = true,
        .net = NET_NONE,
        .env = {.allow = LIST(stage_allow), .set = LIST(stage_set)},
        .limits = {.wall_ms = 30 * SECOND, .cpu_ms = 20 * SECOND, .mem_bytes = 512 * MIB,
                   .pids = 32, .nofile = 512, .output_bytes = MIB,
                   .on_overflow = OVERFLOW_TRUNCATE, .grace_ms = 2 * SECOND},
        .uid = UID_NOBODY,
    },
    [PROFILE_MODULE] = {
        COMMON(64 * MIB),
        .profile = PROFILE_MODULE,
        .fs_mode = FS_VIEW, .system_ro = true, .work = WORK_PRIVATE, .private_tmp = true,
        .net = NET_NONE,
        .env = {.allow = LIST(module_allow), .deny = LIST(module_deny), .set = LIST(module_set)},
        .limits = {.wall_ms = 300 * SECOND, .cpu_ms = POLICY_UNLIMITED, .mem_bytes = 512 * MIB,
                   .pids = 64, .nofile = 512, .output_bytes = 64 * MIB,
                   .on_overflow = OVERFLOW_KILL, .grace_ms = 2 * SECOND},
        .uid = UID_NOBODY,
    },
    [PROFILE_LIMITS] = {
        COMMON(64 * MIB),
        .profile = PROFILE_LIMITS,
        .fs_mode = FS_GUARD, .rw_cwd = true, .work = WORK_NONE, .private_tmp = true,
        .net = NET_HOST,
        .env = {.inherit = true, .fallback = LIST(repeatable_fallback),
                .set = LIST(repeatable_set)},
        .limits = {.wall_ms = 30 * SECOND, .cpu_ms = 20 * SECOND, .mem_bytes = 512 * MIB,
                   .pids = 32, .nofile = 512, .output_bytes = MIB,
                   .on_overflow = OVERFLOW_TRUNCATE, .grace_ms = 2 * SECOND},
        .uid = UID_CALLER,
    },
    [PROFILE_TEST] = {
        COMMON(64 * MIB),
        .profile = PROFILE_TEST,
        .fs_mode = FS_GUARD, .work = WORK_NONE,
        .net = NET_HOST,
        .env = {.inherit = true, .fallback = LIST(repeatable_fallback),
                .set = LIST(repeatable_set)},
        .limits = {.wall_ms = POLICY_UNLIMITED, .cpu_ms = POLICY_UNLIMITED,
                   .mem_bytes = POLICY_UNLIMITED, .pids = POLICY_UNLIMITED,
                   .nofile = POLICY_UNLIMITED, .output_bytes = POLICY_UNLIMITED,
                   .on_overflow = OVERFLOW_TRUNCATE, .grace_ms = 2 * SECOND},
        .uid = UID_CALLER,
    },
    [PROFILE_AGENT] = {
        COMMON(GIB), /* compilers and package managers unpack in /tmp and HOME */
        .profile = PROFILE_AGENT,
        .fs_mode = FS_VIEW, .system_ro = true, .work = WORK_PRIVATE, .private_tmp = true,
        .rw_cwd = true, .protect = LIST(agent_protect),
        .net = NET_NONE,
        .env = {.allow = LIST(agent_allow), .set = LIST(agent_set)},
        .limits = {.wall_ms = POLICY_UNLIMITED, .cpu_ms = POLICY_UNLIMITED,
                   .mem_bytes = POLICY_UNLIMITED, .pids = 512, .nofile = POLICY_UNLIMITED,
                   .output_bytes = POLICY_UNLIMITED,
                   .on_overflow = OVERFLOW_TRUNCATE, .grace_ms = 2 * SECOND},
        .uid = UID_CALLER,
    },
};

void policy_init(struct policy *policy, enum policy_profile profile)
{
    *policy = profiles[profile];
}

const char *policy_profile_about(enum policy_profile profile)
{
    static const char *const about[PROFILE_COUNT] = {
        [PROFILE_STAGE] = "a stage or tool: the toolchain, a private /work, nothing else",
        [PROFILE_MODULE] = "a module called with JSON: as stage, more time and output",
        [PROFILE_LIMITS] =
            "trusted code with limits: the host's tree, the current directory writable",
        [PROFILE_TEST] = "a test suite: the host's tree, writable only where `cordon test` says",
        [PROFILE_AGENT] = "a coding agent: the toolchain and the current directory",
    };
    return about[profile];
}
