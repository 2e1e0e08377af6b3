#include "layer/fork_gate.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include "sys/process.h"

/* Newer than Debian 12's headers. */
#define LISTENER 8u             /* SECCOMP_FILTER_FLAG_NEW_LISTENER */
#define WAIT_KILLABLE 32u       /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 5.19 */
#define NOTIF_SET_FLAGS 0x40082104u /* SECCOMP_IOCTL_NOTIF_SET_FLAGS, 6.6 */
#define NOTIF_SYNC_WAKE_UP 1u

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define IF(number, answer)                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, answer)
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)
#define DENIED (SECCOMP_RET_ERRNO | EPERM)

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#if defined(__x86_64__) /* x32 numbers its calls in a range of its own */
#define NO_X32 BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), BPF_STMT(BPF_RET | BPF_K, ABSENT),
#define OLD_FORKS IF(SYS_fork, SECCOMP_RET_USER_NOTIF), IF(SYS_vfork, SECCOMP_RET_USER_NOTIF),
#else
#define NO_X32
#define OLD_FORKS
#endif

/* Foreign architectures have their own numbers for the same calls: they do not exist in here, also
 * where the policy wants no other filter. */
#define OWN_CALLS_ONLY                                              \
    FIELD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0), \
        BPF_STMT(BPF_RET | BPF_K, ABSENT), FIELD(nr), NO_X32
#define REST BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define PROGRAM(instructions) {.len = sizeof(instructions) / sizeof((instructions)[0]), .filter = (instructions)}

/* clone3 hides its flags. */
static struct sock_filter forks[] = {
    OWN_CALLS_ONLY OLD_FORKS IF(SYS_clone, SECCOMP_RET_USER_NOTIF), IF(SYS_clone3, ABSENT), REST};

/* And what a process can do to another of its own user is refused. */
static struct sock_filter execs[] = {OWN_CALLS_ONLY IF(SYS_execve, SECCOMP_RET_USER_NOTIF),
                                     IF(SYS_execveat, SECCOMP_RET_USER_NOTIF),
                                     IF(SYS_ptrace, DENIED),
                                     IF(SYS_process_vm_readv, DENIED),
                                     IF(SYS_process_vm_writev, DENIED),
                                     IF(SYS_pidfd_getfd, DENIED),
                                     REST};

int layer_fork_gate_install(enum gate_kind kind)
{
    static const struct sock_fprog programs[] = {[GATE_FORKS] = PROGRAM(forks), [GATE_EXECS] = PROGRAM(execs)};
    const struct sock_fprog *program = &programs[kind];
    long fd = sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, LISTENER | WAIT_KILLABLE, program);
    if (fd == -EINVAL)
        fd = sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, LISTENER, program);
    return (int)fd;
}

bool layer_fork_gate_proven(enum gate_kind kind)
{
    if (kind == GATE_EXECS) /* nothing else refuses a process to be traced by its parent */
        return sys_call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) == -EPERM;
    /* Were it let through, the kernel would find these flags contradictory. */
    return sys_call(SYS_clone, CLONE_THREAD, 0, 0, 0, 0) == -FORK_GATE_PROOF;
}

int layer_fork_gate_next(int listener, struct fork_request *out)
{
    struct seccomp_notif request;
    memset(&request, 0, sizeof request); /* the kernel insists */
    long r = sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &request);
    *out = (struct fork_request){.id = request.id,
                                 .task = request.pid,
                                 .exec = request.data.nr == SYS_execve || request.data.nr == SYS_execveat};
    return (int)r;
}

void layer_fork_gate_answer(int listener, const struct fork_request *request, int error)
{
    struct seccomp_notif_resp response = {
        .id = request->id, .error = error, .flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0};
    sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

int layer_gate_give(int listener, const struct fork_request *request, int fd, int as)
{
    struct seccomp_notif_addfd give = {.id = request->id,
                                       .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                       .srcfd = (uint32_t)fd,
                                       .newfd = (uint32_t)as};
    long r = sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give);
    return r < 0 ? (int)r : 0;
}

void layer_fork_gate_tune(int listener)
{
    sys_call(SYS_ioctl, listener, NOTIF_SET_FLAGS, (unsigned long)NOTIF_SYNC_WAKE_UP);
}

union control {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

long layer_pass_descriptor(int socket, int fd)
{
    char byte = 0;
    union control control = {{0}};
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    long r = sys_call(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
    return r < 0 ? r : 0;
}

int layer_take_descriptor(int socket)
{
    char byte = 0;
    union control control = {{0}};
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long r = sys_call(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = r <= 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS)
        return r < 0 ? (int)r : -EPIPE;
    int fd = -1;
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}
