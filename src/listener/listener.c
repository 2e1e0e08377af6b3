#include "listener/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "layer/refusal.h"
#include "listener/serve.h"
#include "sys/files.h"
#include "sys/process.h"

#define END_MS 1000 /* much longer than the end of a process takes */

/* ---- the process ---- */

/* What it needs moves to the first places; everything else is somebody else's. */
static int close_others(int fds[], int count)
{
    const int above = 16; /* out of the way of the places that they go to */
    for (int i = 0; i < count; i++) {
        if (fds[i] >= 0)
            fds[i] = (int)sys_call(SYS_fcntl, fds[i], F_DUPFD_CLOEXEC, above);
    }
    for (int i = 0; i < count; i++) {
        if (fds[i] >= 0)
            fds[i] = (int)sys_call(SYS_dup3, fds[i], 3 + i, O_CLOEXEC);
        else
            sys_close(3 + i);
    }
    sys_close_range(0, 2, 0);
    return (int)sys_close_range((unsigned)(3 + count), ~0u, 0);
}

/*
 * Root becomes the user of this run, and keeps nothing but the right to look into its processes, which root
 * of a container may not have: its own processes can be looked into by an ordinary user, too.
 */
static long become_user(const struct plan *plan, struct view *view)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];
    memset(caps, 0, sizeof caps);
    if (plan->switch_user) {
        sys_capget(&header, caps);
        view->overrides = (caps[0].effective & 1u << CAP_DAC_OVERRIDE) != 0;
        const unsigned kept = caps[0].permitted & 1u << CAP_SYS_PTRACE;
        memset(caps, 0, sizeof caps);
        long r = sys_prctl(PR_SET_KEEPCAPS, 1, 0);
        if (r == 0)
            r = sys_call(SYS_setgroups, 0, 0);
        if (r == 0)
            r = sys_call(SYS_setresgid, plan->gid_host, plan->gid_host, plan->gid_host);
        if (r == 0)
            r = sys_call(SYS_setresuid, plan->uid_host, plan->uid_host, plan->uid_host);
        if (r < 0)
            return r;
        caps[0].effective = caps[0].permitted = kept;
    }
    return sys_capset(&header, caps);
}

_Noreturn static void run(struct listener *self, const struct plan *plan, int socket, int project)
{
    int fds[] = {socket, self->event, project};
    sys_call(SYS_setsid); /* a terminal's signals are not for it */
    sys_call(SYS_umask, 0); /* each grant brings the payload's own */
    struct view view = {.plan = plan, .root = -1};
    if (close_others(fds, 3) < 0 || sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0) < 0 || become_user(plan, &view) < 0)
        sys_exit(1);
    sys_prctl(PR_SET_DUMPABLE, 0, 0);
    struct serve s = {.plan = plan,
                      .records = self->records,
                      .socket = fds[0],
                      .event = fds[1],
                      .listener = -1,
                      .view = view,
                      .grant = {.guard = &plan->guard, .root = fds[2]}};
    serve(&s);
    sys_exit(0);
}

/* ---- the supervisor's side ---- */

static int fail(struct cordon_error *err, int errnum, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, errnum, "start the listener", subject);
}

static int open_project(const struct plan *plan, int project, struct cordon_error *err)
{
    if (plan->guard.root == NULL)
        return -1;
    int fd = project >= 0 ? fcntl(project, F_DUPFD_CLOEXEC, 0)
                          : sys_open_without_links(plan->guard.root, O_PATH | O_DIRECTORY);
    if (fd >= 0)
        return fd;
    int r = err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_PLAN, fd == -1 ? errno : -fd, "open the project's root",
                    plan->guard.root);
    if (r == -ENOSYS)
        err_remedy(err, REFUSAL_NESTED);
    return r;
}

int listener_start(struct listener *self, const struct plan *plan, int project, struct cordon_error *err)
{
    int pair[2];
    *self = LISTENER_INIT;
    FD_AUTO root = open_project(plan, project, err);
    if (root < -1)
        return root;
    self->records = mmap(NULL, sizeof *self->records, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0);
    if (self->records == MAP_FAILED) {
        self->records = NULL;
        return fail(err, errno, "mmap");
    }
    self->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->event < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail(err, errno, "socketpair");
    FD_AUTO theirs = pair[0];
    self->socket = fd_above_standard(pair[1]);
    if (self->socket < 0)
        return fail(err, -self->socket, "fcntl");

    const uint64_t mask = sys_block_signals();
    long pid = sys_fork(0, &self->pidfd);
    if (pid == 0)
        run(self, plan, theirs, root);
    sys_set_signals(mask);
    if (pid < 0)
        return fail(err, (int)-pid, "clone3");
    self->pid = (int)pid;
    return 0;
}

bool listener_tell(struct listener *self, struct result_violation *out)
{
    uint64_t ignored;
    if (self->told >= __atomic_load_n(&self->records->count, __ATOMIC_ACQUIRE)) {
        ssize_t n = read(self->event, &ignored, sizeof ignored);
        (void)n;
        /* One more may have come between the look and the read. */
        if (self->told >= __atomic_load_n(&self->records->count, __ATOMIC_ACQUIRE))
            return false;
    }
    *out = record_get(self->records, self->told++);
    return true;
}

bool listener_alive(struct listener *self)
{
    siginfo_t info = {0};
    if (sys_waitid(P_PIDFD, self->pidfd, &info, WSTOPPED | WNOHANG | __WALL, NULL) == 0 && info.si_pid != 0)
        sys_pidfd_signal(self->pidfd, SIGCONT);
    const uint32_t begun = __atomic_load_n(&self->records->begun, __ATOMIC_RELAXED);
    const uint32_t done = __atomic_load_n(&self->records->done, __ATOMIC_RELAXED);
    self->stuck = begun != done && begun == self->begun ? self->stuck + 1 : 0;
    self->begun = begun;
    return self->stuck < LISTENER_PATIENCE;
}

bool listener_finished(const struct listener *self)
{
    siginfo_t info = {0};
    return sys_waitid(P_PIDFD, self->pidfd, &info, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) == 0 &&
           info.si_pid != 0 && info.si_code == CLD_EXITED && info.si_status == 0;
}

void listener_collect(const struct listener *self, struct result_violations *out)
{
    if (self->records != NULL)
        record_collect(self->records, out);
}

/*
 * A file system may hold it where no signal comes, for ever. Who waited for it would keep no limit and answer
 * nobody, so then it is left alone: it is killed as soon as it returns.
 */
static void end(const struct listener *self)
{
    struct pollfd ended = {.fd = self->pidfd, .events = POLLIN};
    siginfo_t info;
    sys_kill_child(self->pidfd, self->pid);
    while (poll(&ended, 1, END_MS) < 0 && errno == EINTR) {
    }
    sys_waitid(P_PIDFD, self->pidfd, &info, WEXITED | WNOHANG | __WALL, NULL);
}

void listener_release(struct listener *self)
{
    if (self->pidfd >= 0)
        end(self);
    fd_close(&self->pidfd);
    fd_close(&self->socket);
    fd_close(&self->event);
    if (self->records != NULL)
        munmap(self->records, sizeof *self->records);
    self->records = NULL;
}
