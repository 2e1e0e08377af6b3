#include "supervisor/admit.h"

#include <errno.h>
#include <string.h>

#include "layer/bwrap.h"
#include "layer/privileges.h"
#include "supervisor/init.h"
#include "sys/files.h"
#include "sys/pidfd.h"
#include "sys/process.h"

#define PATH_SIZE 4096

void admit_open(struct admission *a, const struct plan *plan, int proc)
{
    *a = (struct admission){.proc = proc, .command = -1, .root = -1, .program = -1};
    layer_bwrap_note(&a->outside, plan, proc);
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
    return sys_openat2(root, path, &how);
}

/* The file names an interpreter or loader. Only asked when its exec has failed: nothing has run that could change it. */
static bool runs_by_another(int program)
{
    char start[4] = "";
    char path[SYS_FD_PATH_SIZE];
    sys_fd_path(path, program);
    int file = sys_open(AT_FDCWD, path, O_RDONLY, 0);
    long n = file < 0 ? 0 : sys_read(file, start, sizeof start);
    sys_close(file);
    return n == 4 && (memcmp(start, "#!", 2) == 0 || memcmp(start, "\177ELF", 4) == 0);
}

static int open_root(const struct admission *a, int pid)
{
    char path[SYS_PID_PATH_SIZE];
    sys_pid_path(path, pid, "root");
    return sys_open(a->proc, path, O_PATH | O_DIRECTORY, 0);
}

/* Whether there is something to execute, along the candidates as execvp() looks: 0 or -errno. */
static int look_up(struct admission *a, const struct plan *plan)
{
    const int root = a->root;
    if (root < 0)
        return root;
    int answer = -ENOENT;
    for (const char **c = plan->candidates; *c != NULL && answer != 0; c++) {
        struct stat st;
        int fd = find(plan, root, *c);
        if (fd == -ENOSYS || fd == -EPERM) /* no path is answered so: the host refuses the call */
            return fd;
        if (fd < 0)
            continue;
        const bool file = sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
        answer = file && sys_call(SYS_faccessat2, fd, "", 1 /* X_OK */, AT_EMPTY_PATH) == 0 ? 0 : -EACCES;
        if (answer == 0)
            a->program = fd;
        else
            sys_close(fd);
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

static int refuse_swapped(struct spawn *s, const char *target)
{
    err_set(&s->shared->error, CORDON_ERROR_SETUP, CORDON_LAYER_MOUNTS, 0, "show by bwrap at", target);
    err_why(&s->shared->error, "its source was replaced while the run was prepared");
    s->shared->failed = true;
    return -EPERM;
}

/* The process that is about to become the payload: proven, limited, and given its standard error. */
static int admit(struct admission *a, struct spawn *s, int listener, const struct notify_call *request)
{
    const struct plan *plan = s->plan;
    const int pid = (int)request->task;
    a->command = (int)sys_call(SYS_pidfd_open, pid, 0);
    uint32_t seen = layer_bwrap_proven(plan, &a->outside, a->command, a->proc, pid);
    int r = layer_rlimits_apply(plan, pid, &seen, &s->shared->error);
    const uint32_t proof = __atomic_or_fetch(&s->shared->proof, seen, __ATOMIC_RELAXED);
    if (r < 0) {
        s->shared->failed = true;
        return r;
    }
    if ((proof & plan->must) != plan->must)
        return refuse(s);
    a->root = open_root(a, pid);
    const char *swapped = a->root < 0 ? NULL : layer_bwrap_swapped(plan, a->root);
    if (swapped != NULL)
        return refuse_swapped(s, swapped);
    r = plan->rehearsal ? -ECANCELED : look_up(a, plan);
    if (r == -ENOSYS || r == -EPERM) {
        init_fail(s, CORDON_LAYER_PROCESS, r, "find the command in bwrap's tree", "openat2");
        s->shared->failed = true;
        return r;
    }
    s->shared->executing = true;
    if (plan->rehearsal)
        return r;
    s->shared->exec_errno = -r;
    return r < 0 ? r : layer_exec_gate_put(listener, request, s->stdio[2], 2);
}

int admit_exec(struct admission *a, struct spawn *s, int listener, const struct notify_call *request)
{
    if (a->decided && s->shared->exec_errno == 0 && !s->shared->failed)
        return 0;
    if (!a->decided) {
        a->decided = true;
        a->answer = admit(a, s, listener, request);
        sys_close(s->stdio[2]);
    }
    return a->answer;
}

static int mount_namespace(const struct admission *a, int pid)
{
    char path[SYS_PID_PATH_SIZE];
    int fd = sys_pidfd_namespace(a->command, SYS_PIDFD_MNT_NS);
    if (fd >= 0)
        return fd;
    sys_pid_path(path, pid, "ns/mnt");
    return sys_open(a->proc, path, O_RDONLY, 0);
}

void admit_settle(struct admission *a, const struct spawn *s, const struct notify_call *request)
{
    sys_close(a->root);
    a->root = -1;
    layer_bwrap_forget(s->bwrap);
    if (s->quick_end)
        init_defer_teardown(mount_namespace(a, (int)request->task));
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
    if (shared->payload_failed || latch_look(&shared->worded) != LATCH_OPEN)
        return;
    if (!shared->executing && !shared->failed) {
        char why[256];
        layer_bwrap_complaint(s->bwrap, why, sizeof why);
        err_set(&shared->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, 0, "set up by", s->plan->bwrap);
        err_why(&shared->error, why[0] == '\0' ? "it ended without a word" : why);
        struct stat st;
        if (sys_stat(AT_FDCWD, s->plan->bwrap, &st) == 0 && (st.st_mode & S_ISUID) != 0)
            err_remedy(&shared->error, "allow user namespaces (cordon doctor says how): beneath cordon no program "
                                       "gains rights, so the set-user-ID bit of this one has no effect");
        shared->failed = true;
        return;
    }
    const bool gave_up = WIFEXITED(shared->status) && WEXITSTATUS(shared->status) == 1;
    if (shared->exec_errno == 0 && gave_up && !layer_bwrap_executed(s->bwrap)) {
        shared->interpreter = runs_by_another(a->program);
        shared->exec_errno = shared->interpreter ? ENOENT : ENOEXEC;
    }
    shared->status = payload_status(a, shared->status);
}
