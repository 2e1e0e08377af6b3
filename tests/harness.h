/*
 * A fork a test, TAP on stdout: what is tested here often cannot be undone. Tests register
 * themselves; names are sentences about behaviour.
 *
 *   TEST(refuses_a_duplicate_key) { CHECK_INT(f(), -EINVAL); }
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A sanitizer's own memory and threads are part of the process: some measures mean nothing then. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

typedef void test_fn(void);

struct test {
    const char *name;
    test_fn *run;
    int signal; /* the signal that must end it; 0: none */
    struct test *next;
};

void test_register(struct test *test);

/* Ends the test as skipped; `what` names what this machine lacks. */
_Noreturn void test_skip(const char *what);
/* As mkdtemp(); what is left of it goes with the test, however that ends. */
char *test_directory(char *template);
/* A number that the runner shows at its end, in the file that CORDON_FIGURES names. */
void test_figure(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void test_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define TEST_WITH(ident, sig)                                                       \
    static void ident(void);                                                        \
    __attribute__((constructor)) static void register_##ident(void)                 \
    {                                                                               \
        static struct test t = {.name = #ident, .run = (ident), .signal = (sig)};   \
        test_register(&t);                                                          \
    }                                                                               \
    static void ident(void)

#define TEST(ident) TEST_WITH(ident, 0)
#define TEST_KILLED_BY(ident, sig) TEST_WITH(ident, sig)

#define CHECK(cond)                                                  \
    do {                                                             \
        if (!(cond))                                                 \
            test_fail(__FILE__, __LINE__, "%s is false", #cond);     \
    } while (0)

#define CHECK_INT(got, want)                                                                  \
    do {                                                                                      \
        long long got_ = (long long)(got), want_ = (long long)(want);                         \
        if (got_ != want_)                                                                    \
            test_fail(__FILE__, __LINE__, "%s is %lld, expected %lld", #got, got_, want_);    \
    } while (0)

#define CHECK_STR(got, want)                                                                  \
    do {                                                                                      \
        const char *got_ = (got), *want_ = (want);                                            \
        if (got_ == NULL || strcmp(got_, want_) != 0)                                         \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", expected \"%s\"", #got,              \
                      got_ == NULL ? "(null)" : got_, want_);                                 \
    } while (0)

/* A call that must fail with -1 and this errno. */
#define CHECK_ERRNO(call, want)                                                               \
    do {                                                                                      \
        errno = 0;                                                                            \
        long long got_ = (long long)(call);                                                   \
        int errno_ = errno;                                                                   \
        if (got_ != -1 || errno_ != (want))                                                   \
            test_fail(__FILE__, __LINE__, "%s gave %lld with errno %d, expected -1 with %d",  \
                      #call, got_, errno_, (want));                                           \
    } while (0)
