#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "doctor/acts.h"
#include "sys/files.h"
#include "sys/landlock.h"
#include "sys/process.h"
#include "sys/seccomp.h"

#define ANSWER 4242
#define WAIT_MS 5000

void act_landlock(struct attempt *a)
{
    int abi = sys_landlock_abi();
    if (attempt_failed(a, abi, "landlock_create_ruleset"))
        return;
    a->number = (uint64_t)abi;
    const struct sys_landlock_ruleset attr = {.handled_fs = LL_READ_DIR};
    int ruleset = sys_landlock_create(&attr, 8);
    if (attempt_failed(a, ruleset, "landlock_create_ruleset"))
        return;
    struct sys_landlock_path rule = {.allowed = LL_READ_DIR};
    rule.parent_fd = sys_open(AT_FDCWD, "/proc", O_PATH, 0);
    if (rule.parent_fd >= 0 && attempt_failed(a, sys_landlock_allow(ruleset, &rule), "landlock_add_rule"))
        return;
    FD_AUTO before = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (attempt_failed(a, before < 0 ? -errno : 0, "open / without Landlock") ||
        attempt_failed(a, sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0), "set no_new_privs") ||
        attempt_failed(a, sys_landlock_restrict(ruleset), "landlock_restrict_self"))
        return;
    FD_AUTO after = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    attempt_failed(a, after < 0 && errno == EACCES ? 0 : -ENOTSUP, "be refused by it");
}

/* ioctl() by raw calls here: musl takes its request as an int, and these do not fit one. */

/* A filter that answers getpriority() by `action` and allows all else: the descriptor or 0. */
static long load_filter(unsigned action, unsigned flags)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

void act_seccomp(struct attempt *a)
{
    if (attempt_failed(a, sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0), "set no_new_privs") ||
        attempt_failed(a, load_filter(SECCOMP_RET_ERRNO | EXDEV, 0), "load a seccomp filter"))
        return;
    long r = sys_call(SYS_getpriority, PRIO_PROCESS, 0);
    attempt_failed(a, r == -EXDEV ? 0 : -ENOTSUP, "be refused by it");
}

/* Makes the call that is being listened to, twice; exits with 0 if the answers are as told. */
_Noreturn static void call_twice(void)
{
    long first = sys_call(SYS_getpriority, PRIO_PROCESS, 0);
    long second = sys_call(SYS_getpriority, PRIO_PROCESS, 0);
    _exit(first != ANSWER ? 1 : second < 0 ? 2 : 0);
}

static long receive(int listener, uint64_t *id)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    struct seccomp_notif call = {0};
    if (poll(&p, 1, WAIT_MS) != 1)
        return -ETIMEDOUT;
    long r = sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &call);
    *id = call.id;
    return r;
}

static long answer(int listener, uint64_t id, int64_t value)
{
    struct seccomp_notif_resp reply = {.id = id, .val = value};
    return sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

void act_notify(struct attempt *a)
{
    const unsigned listen = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    uint64_t id = 0;
    if (attempt_failed(a, sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0), "set no_new_privs"))
        return;
    long fd = load_filter(SECCOMP_RET_USER_NOTIF,
                          listen | (unsigned)SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (fd >= 0)
        a->number |= NOTIFY_WAIT_KILLABLE;
    else
        fd = load_filter(SECCOMP_RET_USER_NOTIF, listen);
    if (attempt_failed(a, fd, "load a seccomp filter with a listener"))
        return;
    const int listener = (int)fd;
    if (sys_call(SYS_ioctl, listener, SYS_SECCOMP_SET_FLAGS, SYS_SECCOMP_SYNC_WAKE_UP) == 0)
        a->number |= NOTIFY_SYNC_WAKE_UP;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        call_twice();
    }
    if (attempt_failed(a, pid < 0 ? -errno : 0, "fork") ||
        attempt_failed(a, receive(listener, &id), "be told of a call") ||
        attempt_failed(a, answer(listener, id, ANSWER), "answer a call") ||
        attempt_failed(a, receive(listener, &id), "be told of a call"))
        return;
    struct seccomp_notif_addfd gift = {.id = id, .flags = SECCOMP_ADDFD_FLAG_SEND};
    gift.srcfd = (uint32_t)listener;
    if (sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &gift) >= 0)
        a->number |= NOTIFY_ADDFD_SEND;
    else if (attempt_failed(a, answer(listener, id, 0), "answer a call"))
        return;
    int status = -1;
    waitpid(pid, &status, 0);
    attempt_failed(a, status == 0 ? 0 : -EBADMSG, "see the answer arrive");
}

void act_openat2(struct attempt *a)
{
    int root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
    if (attempt_failed(a, root, "open /"))
        return;
    attempt_failed(a, sys_open_in_root(root, "/", O_PATH | O_DIRECTORY), "openat2");
}

void act_clone3(struct attempt *a)
{
    /* Not sys_fork(), which knows a way round. */
    struct clone_args args = {.flags = 0};
    siginfo_t info = {0};
    long pid = sys_call(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        sys_exit(7);
    if (attempt_failed(a, pid, "clone3"))
        return;
    sys_waitid(P_PID, (int)pid, &info, WEXITED | __WALL, NULL);
    attempt_failed(a, info.si_status == 7 ? 0 : -ECHILD, "wait for its child");
}

void act_close_range(struct attempt *a)
{
    int fd = dup(STDIN_FILENO);
    if (fd < 0)
        fd = sys_open(AT_FDCWD, "/", O_PATH, 0);
    if (attempt_failed(a, fd, "open /") ||
        attempt_failed(a, sys_close_range((unsigned)fd, (unsigned)fd, 0), "close_range"))
        return;
    attempt_failed(a, fcntl(fd, F_GETFD) < 0 && errno == EBADF ? 0 : -EBADF, "see it closed");
}

/* Got with the child, signalled and waited by. */
void act_pidfd(struct attempt *a)
{
    siginfo_t info = {0};
    int pidfd = -1;
    long pid = sys_fork(0, &pidfd);
    if (pid == 0) {
        for (;;)
            pause();
    }
    if (attempt_failed(a, pid, "clone with a pidfd"))
        return;
    if (attempt_failed(a, sys_pidfd_signal(pidfd, SIGKILL), "pidfd_send_signal"))
        kill((pid_t)pid, SIGKILL);
    else if (!attempt_failed(a, sys_waitid(P_PIDFD, pidfd, &info, WEXITED | __WALL, NULL),
                             "waitid by pidfd"))
        return;
    sys_waitid(P_PID, (int)pid, &info, WEXITED | __WALL, NULL);
}

void act_memfd(struct attempt *a)
{
    int fd = (int)sys_call(SYS_memfd_create, "cordon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (attempt_failed(a, fd, "memfd_create"))
        return;
    attempt_failed(a, write(fd, "x", 1) < 0 ? -errno : 0, "write to it");
}

void act_keyring(struct attempt *a)
{
    long joined = sys_call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
    if (attempt_failed(a, joined, "join a new session keyring"))
        return;
    long seen = sys_call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
    attempt_failed(a, seen == joined ? 0 : -EKEYREJECTED, "see another keyring");
}
