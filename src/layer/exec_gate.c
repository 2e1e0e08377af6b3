#include "layer/exec_gate.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>

#include "sys/pidfd.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define HALF(name, which) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name) + 4 * (which))
#define IF(number, answer) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, answer)
#define ASKS SECCOMP_RET_USER_NOTIF
#define DENIED (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)

/* Foreign architectures have their own numbers for the same calls: they do not exist in here, also
 * where the policy wants no other filter. */
static struct sock_filter instructions[] = {
    FIELD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, ABSENT),
    FIELD(nr),
#if defined(__x86_64__) /* x32 */
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, ABSENT),
#endif
    IF(SYS_execveat, ASKS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 6),
    HALF(args[5], 0), /* the low one: both architectures are little endian */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)EXEC_GATE_OWN, 0, 3),
    HALF(args[5], 1),
    IF((uint32_t)(EXEC_GATE_OWN >> 32), SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, ASKS),
    IF(SYS_ptrace, DENIED),
    IF(SYS_process_vm_readv, DENIED),
    IF(SYS_process_vm_writev, DENIED),
    IF(SYS_pidfd_getfd, DENIED),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int layer_exec_gate_install(void)
{
    static const struct sock_fprog program = {.len = sizeof instructions / sizeof instructions[0],
                                              .filter = instructions};
    return layer_notify_load(&program);
}

bool layer_exec_gate_proven(void)
{
    /* Nothing else refuses a process to be traced by its parent. */
    return sys_call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) == -EPERM;
}

bool layer_exec_gate_is_exec(const struct notify_call *call)
{
    return call->number == SYS_execve || call->number == SYS_execveat;
}

int layer_exec_gate_put(int listener, const struct notify_call *call, int fd, int as)
{
    struct seccomp_notif_addfd put = {.id = call->id,
                                      .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                      .srcfd = (uint32_t)fd,
                                      .newfd = (uint32_t)as};
    long r = sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &put);
    return r < 0 ? (int)r : 0;
}
