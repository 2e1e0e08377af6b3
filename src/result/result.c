#include "result/result.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

const char *status_name(enum status s)
{
    static const char *const names[STATUS_COUNT] = {
        [STATUS_OK] = "OK",
        [STATUS_NONZERO_EXIT] = "NONZERO_EXIT",
        [STATUS_SIGNALED] = "SIGNALED",
        [STATUS_TIMEOUT] = "TIMEOUT",
        [STATUS_CPU_LIMIT] = "CPU_LIMIT",
        [STATUS_MEM_LIMIT] = "MEM_LIMIT",
        [STATUS_OUTPUT_LIMIT] = "OUTPUT_LIMIT",
        [STATUS_KILLED_TERM] = "KILLED_TERM",
        [STATUS_KILLED_KILL] = "KILLED_KILL",
        [STATUS_FORBIDDEN_SYSCALL] = "FORBIDDEN_SYSCALL",
        [STATUS_POLICY_VIOLATION] = "POLICY_VIOLATION",
        [STATUS_OUTPUT_PARSE_FAILED] = "OUTPUT_PARSE_FAILED",
        [STATUS_SPAWN_FAILED] = "SPAWN_FAILED",
        [STATUS_INTERNAL_ERROR] = "INTERNAL_ERROR",
    };
    return s < STATUS_COUNT ? names[s] : "?";
}

void result_init(struct result *r)
{
    *r = (struct result){0};
    result_init_zeroed(r);
}

void result_init_zeroed(struct result *r)
{
    r->status = STATUS_INTERNAL_ERROR;
    r->backend_kind = "none";
}

enum status status_of_signal(int sig)
{
    return sig == SIGTERM ? STATUS_KILLED_TERM : sig == SIGKILL ? STATUS_KILLED_KILL : STATUS_SIGNALED;
}

bool result_trace_valid(const char *id)
{
    return strlen(id) == 32 && id[strspn(id, "0123456789abcdef")] == '\0';
}

void result_trace(struct result *r, const char *given)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[16] = {0};
    if (given != NULL) {
        snprintf(r->trace_id, sizeof r->trace_id, "%s", given);
        return;
    }
    ssize_t ignored = getrandom(bytes, sizeof bytes, 0); /* a name, not a secret */
    (void)ignored;
    for (size_t i = 0; i < sizeof bytes; i++) {
        r->trace_id[2 * i] = hex[bytes[i] >> 4];
        r->trace_id[2 * i + 1] = hex[bytes[i] & 15];
    }
    r->trace_id[2 * sizeof bytes] = '\0';
}

void result_release(struct result *r)
{
    buf_free(&r->out.captured);
    buf_free(&r->err.captured);
    violations_free(&r->violations);
}

void result_reason(struct result *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->reason, sizeof r->reason, fmt, args);
    va_end(args);
}

void result_warn(struct result *r, const char *fmt, ...)
{
    va_list args;
    if (r->warning_count >= RESULT_WARNINGS)
        return;
    va_start(args, fmt);
    vsnprintf(r->warnings[r->warning_count++], sizeof r->warnings[0], fmt, args);
    va_end(args);
}

#define OF_POLICY (RESULT_WARNINGS / 2)

static void warn_of_policy(void *result, const char *pointer, const char *text)
{
    struct result *r = result;
    const bool placed = pointer[0] != '\0';
    /* Whoever carries it out knows more: which backend, and whether anything is missing. */
    if (strcmp(pointer, "/backend") == 0 || strcmp(pointer, "/allow_partial") == 0)
        return;
    if (r->warning_count < OF_POLICY - 1)
        result_warn(r, "%s%s%s%s", text, placed ? " (policy " : "", pointer, placed ? ")" : "");
    else if (r->warning_count == OF_POLICY - 1)
        result_warn(r, "there is more to be said of the policy: cordon policy check does");
}

void result_warn_document(struct result *r, const char *text)
{
    warn_of_policy(r, "", text);
}

void result_warn_policy(struct result *r, const struct policy *policy)
{
    policy_warnings(policy, warn_of_policy, r);
}

/* What the payload itself did: its code, or 128+n, or 1 if it never came so far. */
static int own_exit(const struct result *r)
{
    if (r->exited)
        return r->exit_code;
    return r->signal != 0 ? 128 + r->signal : 1;
}

/* What both tables agree on; -1 where they, or the run, decide. */
static int common_exit(enum status s)
{
    switch (s) {
    case STATUS_OK:
        return 0;
    case STATUS_TIMEOUT:
        return 124;
    case STATUS_CPU_LIMIT:
        return 152;
    case STATUS_MEM_LIMIT:
    case STATUS_KILLED_KILL:
        return 137;
    case STATUS_KILLED_TERM:
        return 143;
    case STATUS_FORBIDDEN_SYSCALL:
        return 159;
    default:
        return -1;
    }
}

/* A payload that exited 0 in a run that failed has not noticed, or has hidden it. */
static int failed_exit(const struct result *r)
{
    int own = own_exit(r);
    return own != 0 ? own : 1;
}

int result_exit_child(const struct result *r)
{
    if (r->status == STATUS_INTERNAL_ERROR) {
        const bool usage =
            r->error.kind == CORDON_ERROR_USAGE || r->error.kind == CORDON_ERROR_POLICY;
        return usage ? 2 : 125;
    }
    if (r->caller_signal != 0)
        return 128 + r->caller_signal;
    int common = common_exit(r->status);
    if (common >= 0)
        return common;
    switch (r->status) {
    case STATUS_OUTPUT_LIMIT:
        return 153; /* 128 + SIGXFSZ */
    case STATUS_OUTPUT_PARSE_FAILED:
        return 65;
    case STATUS_SPAWN_FAILED:
        return r->error.kind == CORDON_ERROR_NOT_EXECUTABLE ? 126 : 127;
    case STATUS_POLICY_VIOLATION:
        return failed_exit(r);
    default:
        return own_exit(r);
    }
}

int result_exit_normalized(const struct result *r)
{
    int common = common_exit(r->status);
    if (common >= 0)
        return common;
    /* Outside that table: the child's code, 128+n, or 1. */
    return r->status == STATUS_INTERNAL_ERROR ? 1 : failed_exit(r);
}
