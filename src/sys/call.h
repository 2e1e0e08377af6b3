/*
 * System calls without libc: they return -errno and touch neither errno nor any lock, so they
 * serve in a process that shares its memory with another one, and between clone() and exec().
 */
#pragma once

#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

#elif defined(__aarch64__)

static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

#else
#error "cordon knows the system call convention of x86_64 and aarch64 only"
#endif

/* sys_call(SYS_openat, fd, path, flags): integers and pointers alike, up to six. */
#define SYS_ARG(x) ((long)(x))
#define SYS_CALL1(nr) sys_call6(nr, 0, 0, 0, 0, 0, 0)
#define SYS_CALL2(nr, a) sys_call6(nr, SYS_ARG(a), 0, 0, 0, 0, 0)
#define SYS_CALL3(nr, a, b) sys_call6(nr, SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define SYS_CALL4(nr, a, b, c) sys_call6(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define SYS_CALL5(nr, a, b, c, d) \
    sys_call6(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)
#define SYS_CALL6(nr, a, b, c, d, e) \
    sys_call6(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), 0)
#define SYS_CALL7(nr, a, b, c, d, e, f) \
    sys_call6(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), SYS_ARG(f))
#define SYS_PICK(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define sys_call(...)                                                                      \
    SYS_PICK(__VA_ARGS__, SYS_CALL7, SYS_CALL6, SYS_CALL5, SYS_CALL4, SYS_CALL3, SYS_CALL2, \
             SYS_CALL1, unused)(__VA_ARGS__)
