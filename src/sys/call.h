/*
 * Raw system calls: the result or -errno, and nothing else touched. For code that shares its
 * memory with another process (errno and the C library's locks included) and for calls that
 * the C library does not know. sys_call(nr, ...) takes up to six arguments of any scalar type.
 */
#pragma once

#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
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

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}

#else
#error "no raw system calls for this architecture"
#endif

#define sys_call0(nr) sys_call6((long)(nr), 0, 0, 0, 0, 0, 0)
#define sys_call1(nr, a) sys_call6((long)(nr), (long)(a), 0, 0, 0, 0, 0)
#define sys_call2(nr, a, b) sys_call6((long)(nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define sys_call3(nr, a, b, c) sys_call6((long)(nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys_call4(nr, a, b, c, d) \
    sys_call6((long)(nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys_call5(nr, a, b, c, d, e) \
    sys_call6((long)(nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#ifdef __clang_analyzer__
/* It does not follow a pointer that became a number: what a call fills would be garbage to it. */
long sys_call(long nr, ...);
#else
#define SYS_CALL_ALL(nr, a, b, c, d, e, f) \
    sys_call6((long)(nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define SYS_CALL_PICK(nr, a, b, c, d, e, f, name, ...) name
#define sys_call(...)                                                                     \
    SYS_CALL_PICK(__VA_ARGS__, SYS_CALL_ALL, sys_call5, sys_call4, sys_call3, sys_call2, \
                  sys_call1, sys_call0, 0)(__VA_ARGS__)
#endif
