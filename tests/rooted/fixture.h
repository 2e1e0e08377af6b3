/*
 * Three bases and an outside, each in a fresh directory, and the ways to name what is in a base.
 * The canaries outside are checked when the fixture is closed: no test may change them.
 */
#pragma once

#include <cordon/root.h>
#include <limits.h>
#include <stdbool.h>

struct form {
    const char *name;
    const char *prefix; /* what a caller writes before a name */
    const char *dir;    /* of the base, beneath the fixture */
    const char *shown;  /* what errors show before a name */
    const char *top;    /* realpath of the base's top */
};

extern const struct form forms[4];
#define FOR_EACH_FORM(f) for (const struct form *f = forms; f < forms + 4; f++)

/* Safe, then unsafe. */
#define FOR_EACH_MODE(flags) \
    for (uint32_t flags = 0; flags <= CORDON_ROOT_UNSAFE; flags += CORDON_ROOT_UNSAFE)

struct fixture {
    char dir[256];
    struct cordon_root *root;
    struct cordon_root_error err;
    struct cordon_root_options options;
    char home[300], scratch[300], rootfs[300];
};

/* Makes the directories and opens a root with these flags. */
/* nonnull: gcc warns of a NULL that it imagines when it adds the checks of sanitizers. */
__attribute__((nonnull)) void fixture_open(struct fixture *f, uint32_t flags);
/* Opens the root again with the options as they are now. */
void fixture_reopen(struct fixture *f);
void fixture_close(struct fixture *f);

/* Borrowed until the 64th next call. */
const char *at(const struct form *form, const char *name);              /* the caller's path */
const char *host(const struct fixture *f, const struct form *form, const char *name);
const char *outside(const struct fixture *f, const char *name);
const char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Plain host side: fail the test if they cannot. */
void host_write(const char *path, const char *content);
void host_mkdir(const char *path);
void host_symlink(const char *target, const char *path);
const char *host_read(const char *path); /* NULL if it does not exist */
bool host_exists(const char *path);      /* links not followed */
void host_remove(const char *path);      /* a tree */

/* Creates the usual ways out in a base: esc, escd, esc_missing, abs ones and relative ones. */
void make_escapes(const struct fixture *f, const struct form *form);

/* A call that must fail with this code. */
#define FAILS(f, call, want)                                                                     \
    do {                                                                                         \
        (f)->err.code[0] = '\0';                                                                 \
        int rc_ = (call);                                                                        \
        if (rc_ >= 0 || strcmp((f)->err.code, (want)) != 0)                                      \
            test_fail(__FILE__, __LINE__, "%s gave %d \"%s\" (%s), expected %s", #call, rc_,     \
                      (f)->err.code, (f)->err.message, (want));                                  \
        check_no_leak((f), __FILE__, __LINE__);                                                  \
    } while (0)

#define WORKS(f, call)                                                                       \
    do {                                                                                     \
        (f)->err.message[0] = '\0';                                                          \
        int rc_ = (call);                                                                    \
        if (rc_ < 0)                                                                         \
            test_fail(__FILE__, __LINE__, "%s gave %d: %s", #call, rc_, (f)->err.message);   \
    } while (0)

#define OUTSIDE(f, call)                                                          \
    do {                                                                          \
        FAILS(f, call, "EACCES");                                                 \
        if (strstr((f)->err.message, "outside of sandbox") == NULL)               \
            test_fail(__FILE__, __LINE__, "%s: %s", #call, (f)->err.message);     \
    } while (0)

/* No field of the error holds a host location. */
__attribute__((nonnull)) void check_no_leak(const struct fixture *f, const char *file, int line);

/* Content through the interface, compared. */
void check_content(struct fixture *f, const char *path, const char *want, const char *file,
                   int line);
#define CHECK_CONTENT(f, path, want) check_content((f), (path), (want), __FILE__, __LINE__)
#define CHECK_HOST(path, want) CHECK_STR(host_read(path), want)

/* Runs `body` on a fresh fixture for each mode and each form. */
#define EVERYWHERE(name)                                                           \
    static void name##_body(struct fixture *f, const struct form *form, uint32_t flags); \
    TEST(name)                                                                     \
    {                                                                              \
        FOR_EACH_MODE(flags) FOR_EACH_FORM(form)                                   \
        {                                                                          \
            struct fixture f;                                                      \
            fixture_open(&f, flags);                                               \
            name##_body(&f, form, flags);                                          \
            fixture_close(&f);                                                     \
        }                                                                          \
    }                                                                              \
    static void name##_body(struct fixture *f, const struct form *form,            \
                            uint32_t flags __attribute__((unused)))

/* Through the interface, with text. */
int write_text(struct fixture *f, const char *path, const char *content);
int append_text(struct fixture *f, const char *path, const char *content);
bool exists(struct fixture *f, const char *path);
int rm(struct fixture *f, const char *path, bool recursive, bool force);

/* The body for each form, all at the same time: for tests that mostly wait. */
void for_each_form_at_once(void (*body)(const struct form *form));
