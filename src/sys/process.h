/* Processes, futexes and privileges by raw calls. All return a value or -errno. */
#pragma once

#include <errno.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>

#include "sys/call.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/*
 * Like fork() with flags: 0 in the child. No signal announces the child's end and no wait() for
 * any child sees it, so a program that embeds cordon keeps its own children apart: wait with the
 * descriptor and __WALL.
 */
static inline long sys_fork(uint64_t flags, int *pidfd)
{
    struct clone_args args = {.flags = flags | CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)pidfd};
    long r = sys_call(SYS_clone3, &args, sizeof args);
    /* Filters of containers hide it, because they cannot look at its flags. */
    return r == -ENOSYS || (r == -EPERM && flags == 0) ? sys_call(SYS_clone, flags | CLONE_PIDFD, 0, pidfd, 0, 0) : r;
}

#define SYS_CLONE_INTO_CGROUP UINT64_C(0x200000000)

/* The same into a cgroup of v2, by its directory. 5.7. */
static inline long sys_fork_into(uint64_t flags, int cgroup, int *pidfd)
{
    struct clone_args args = {.flags = flags | CLONE_PIDFD | SYS_CLONE_INTO_CGROUP,
                              .pidfd = (uint64_t)(uintptr_t)pidfd,
                              .cgroup = (unsigned)cgroup};
    return sys_call(SYS_clone3, &args, sizeof args);
}

_Noreturn static inline void sys_exit(int status)
{
    for (;;)
        sys_call(SYS_exit_group, status);
}

static inline bool sys_has_swap(void)
{
    struct sysinfo machine = {0};
    return sys_call(SYS_sysinfo, &machine) == 0 && machine.totalswap > 0;
}

/* Whether two processes have one memory; false also where the kernel does not tell. */
static inline bool sys_same_memory(int one, int other)
{
    return sys_call(SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0;
}

/* The kernel's struct sigaction, all zero: SIG_DFL, no flags, no mask. */
static inline long sys_default_action(int sig)
{
    static const uint64_t standard[4] = {0};
    return sys_call(SYS_rt_sigaction, sig, standard, 0, 8);
}

/* Of all signals; KILL and STOP refuse, and have no other. */
static inline void sys_default_actions(void)
{
    for (int sig = 1; sig <= 64; sig++)
        sys_default_action(sig);
}

/* The mask of blocked signals: a bit for each. */
static inline void sys_set_signals(uint64_t blocked)
{
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, 0, sizeof blocked);
}

/* All of them; returns the mask that was set before. */
static inline uint64_t sys_block_signals(void)
{
    const uint64_t all = ~UINT64_C(0);
    uint64_t before = 0;
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    return before;
}

static inline long sys_kill(int pid, int sig)
{
    return sys_call(SYS_kill, pid, sig);
}

static inline long sys_pidfd_signal(int pidfd, int sig)
{
    return sys_call(SYS_pidfd_send_signal, pidfd, sig, 0, 0);
}

/* Ends a child that was not waited for yet, so that its number is still its own. */
static inline void sys_kill_child(int pidfd, int pid)
{
    if (sys_pidfd_signal(pidfd, SIGKILL) < 0)
        sys_kill(pid, SIGKILL); /* a filter of the host's refuses the newer call */
}

/* One child of any kind; `id` and `idtype` as for waitid(). */
static inline long sys_waitid(int idtype, int id, siginfo_t *info, int options,
                              struct rusage *usage)
{
    return sys_call(SYS_waitid, idtype, id, info, options, usage);
}

static inline long sys_prctl(int op, unsigned long a, unsigned long b)
{
    return sys_call(SYS_prctl, op, a, b, 0, 0);
}

/* Of the process `pid`; 0: one's own. */
static inline long sys_prlimit(int pid, int resource, const struct rlimit *set, struct rlimit *old)
{
    return sys_call(SYS_prlimit64, pid, resource, set, old);
}

/* Not the private kind: the word lies in memory that several processes map. */
static inline long sys_futex_wait(uint32_t *word, uint32_t while_equal, const struct timespec *most)
{
    return sys_call(SYS_futex, word, FUTEX_WAIT, while_equal, most, 0, 0);
}

static inline void sys_futex_wake(uint32_t *word)
{
    sys_call(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
}

static inline long sys_capset(const struct __user_cap_header_struct *header,
                              const struct __user_cap_data_struct data[2])
{
    return sys_call(SYS_capset, header, data);
}

static inline long sys_capget(struct __user_cap_header_struct *header,
                              struct __user_cap_data_struct data[2])
{
    return sys_call(SYS_capget, header, data);
}

static inline uint64_t sys_clock_us(clockid_t clock)
{
    struct timespec t;
    sys_call(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline uint64_t sys_now_us(void)
{
    return sys_clock_us(CLOCK_MONOTONIC);
}

static inline uint64_t sys_cpu_us(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}
