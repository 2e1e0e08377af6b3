#include "supervisor/admit.h"

#include <errno.h>
#include <string.h>

#include "layer/bwrap.h"
#include "layer/privileges.h"
#include "supervisor/descent.h"
#include "supervisor/init.h"
#include "sys/files.h"
#include "sys/pidfd.h"
#include "sys/process.h"

#define PATH_SIZE 4096

void admit_open(struct admission *a, int outer, int proc)
{
    *a = (struct admission){.outer = outer, .proc = proc, .command = -1, .root = -1};
}

/* A candidate as the payload would find it; an O_PATH descriptor or -errno. */
static int find(const struct plan *plan, int root, const char *candidate)
{
    char path[PATH_SIZE];
    const bool absolute = candidate[0] == '/';
    const size_t front = absolute ? 0 : strlen(plan->cwd);
    const size_t rest = strlen(candidate);
    if (front + 1 + rest >= sizeof path)
        return -ENAMETOOLONG;
    memcpy(path, plan->cwd, front);
    path[front] = '/';
    memcpy(path + front + 1, candidate, rest + 1);
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    return (int)sys_call(SYS_openat2, root, path, &how, sizeof how);
}

static bool begins_like_a_program(int root, const struct plan *plan, const char *candidate)
{
    char start[4] = "";
    int fd = find(plan, root, candidate);
    if (fd < 0)
        return false;
    char path[DESCENT_PATH_SIZE];
    descent_path(path, fd, "");
    path[strlen(path) - 1] = '\0';
    int fds = sys_open(AT_FDCWD, "/proc/self/fd", O_PATH | O_DIRECTORY, 0);
    int file = sys_open(fds, path, O_RDONLY, 0);
    long n = file < 0 ? 0 : sys_read(file, start, sizeof start);
    sys_close(file);
    sys_close(fds);
    sys_close(fd);
    return n == 4 && (memcmp(start, "#!", 2) == 0 || memcmp(start, "\177ELF", 4) == 0);
}

/* Whether there is something to execute, along the candidates as execvp() looks: 0 or -errno. */
static int look_up(struct admission *a, const struct plan *plan, int pid)
{
    char path[DESCENT_PATH_SIZE];
    descent_path(path, pid, "root");
    const int root = a->root = sys_open(a->proc, path, O_PATH | O_DIRECTORY, 0);
    if (root < 0)
        return root;
    int answer = -ENOENT;
    for (const char **c = plan->candidates; *c != NULL && answer != 0; c++) {
        struct stat st;
        int fd = find(plan, root, *c);
        if (fd < 0)
            continue;
        const bool file = sys_call(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode);
        answer = file && sys_call(SYS_faccessat2, fd, "", 1 /* X_OK */, AT_EMPTY_PATH) == 0 ? 0 : -EACCES;
        sys_close(fd);
        if (answer == 0)
            a->runs_by_another = begins_like_a_program(root, plan, *c);
    }
    return answer;
}

static int refuse(struct spawn *s)
{
    err_set(&s->shared->error, CORDON_ERROR_PARTIAL, CORDON_LAYER_PROCESS, 0, "prove what bwrap applied", s->plan->bwrap);
    err_why(&s->shared->error, "what was asked of it is not there when read back");
    s->shared->failed = true;
    return -EPERM;
}

/* The process that is about to become the payload: proven, limited, and given its standard error. */
static int admit(struct admission *a, struct spawn *s, int listener, const struct notify_call *request)
{
    const struct plan *plan = s->plan;
    const int pid = (int)request->task;
    uint32_t seen = layer_bwrap_proven(plan, a->proc, pid, a->outer);
    int r = layer_rlimits_apply(plan, pid, &seen, &s->shared->error);
    const uint32_t proof = __atomic_or_fetch(&s->shared->proof, seen, __ATOMIC_RELAXED);
    if (r < 0) {
        s->shared->failed = true;
        return r;
    }
    if ((proof & plan->must) != plan->must)
        return refuse(s);
    s->shared->executing = true;
    if (plan->rehearsal)
        return -ECANCELED;
    r = look_up(a, plan, pid);
    s->shared->exec_errno = -r;
    if (r < 0)
        return r;
    if (s->quick_end) {
        char path[DESCENT_PATH_SIZE];
        descent_path(path, pid, "ns/mnt");
        init_defer_teardown(a->proc, path);
    }
    r = layer_exec_gate_put(listener, request, s->stdio[2], 2);
    a->command = (int)sys_call(SYS_pidfd_open, pid, 0);
    return r;
}

int admit_exec(struct admission *a, struct spawn *s, int listener, const struct notify_call *request)
{
    if ((int)request->task == a->outer) /* our own exec of bwrap */
        return 0;
    if (a->decided && s->shared->exec_errno == 0 && !s->shared->failed)
        return 0;
    if (!a->decided) {
        a->decided = true;
        a->answer = admit(a, s, listener, request);
        sys_close(s->stdio[2]);
    }
    return a->answer;
}

/* bwrap tells a signal as 128 + its number; a kernel that knows better is asked first. */
static int payload_status(const struct admission *a, int of_bwrap)
{
    int exact = 0;
    if (a->command >= 0 && sys_pidfd_status(a->command, &exact) == 0)
        return exact;
    const int code = WIFEXITED(of_bwrap) ? WEXITSTATUS(of_bwrap) : 0;
    return code > 128 && code <= 128 + 64 ? code - 128 : of_bwrap;
}

void admit_close(struct admission *a, struct spawn *s)
{
    struct shared *shared = s->shared;
    if (shared->payload_failed)
        return;
    if (!shared->executing && !shared->failed) {
        char why[256];
        layer_bwrap_complaint(s->bwrap, why, sizeof why);
        err_set(&shared->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, 0, "set up by", s->plan->bwrap);
        err_why(&shared->error, why[0] == '\0' ? "it ended without a word" : why);
        shared->failed = true;
        return;
    }
    const bool gave_up = WIFEXITED(shared->status) && WEXITSTATUS(shared->status) == 1;
    if (shared->exec_errno == 0 && gave_up && !layer_bwrap_executed(s->bwrap)) {
        shared->interpreter = a->runs_by_another;
        shared->exec_errno = a->runs_by_another ? ENOENT : ENOEXEC;
    }
    shared->status = payload_status(a, shared->status);
}
