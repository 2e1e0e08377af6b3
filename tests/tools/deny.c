/*
 * deny ERRNO CALL[,CALL...] -- COMMAND [ARG...]
 *
 * Runs a command with chosen system calls answering a chosen errno: yesterday's kernel, or a host
 * that filters. The calls are named by a short list of those that cordon has a fallback for, or by
 * number. Example: deny ENOSYS openat2,fchmodat2 -- ./rooted-core-test
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "name the audit architecture here"
#endif

#define CALLS_MAX 64

struct word {
    const char *name;
    int number;
};

static const struct word calls[] = {
    {"openat2", 437},        {"fchmodat2", 452},        {"statx", SYS_statx},
    {"renameat2", SYS_renameat2}, {"copy_file_range", SYS_copy_file_range},
    {"clone3", 435},         {"close_range", 436},      {"faccessat2", 439},
    {"pidfd_open", 434},     {"pidfd_send_signal", 424}, {"pidfd_getfd", 438},
    {"landlock_create_ruleset", 444}, {"landlock_add_rule", 445},
    {"landlock_restrict_self", 446},  {"seccomp", SYS_seccomp},
    {"mount_setattr", 442},  {"open_tree", 428},        {"move_mount", 429},
    {"memfd_create", SYS_memfd_create}, {"unshare", SYS_unshare},
    {"inotify_init1", SYS_inotify_init1}, {"getrandom", SYS_getrandom},
    {"utimensat", SYS_utimensat}, {"ioctl", SYS_ioctl},
    {"listxattrat", 465},    {"flock", SYS_flock},
};

static const struct word errors[] = {
    {"ENOSYS", ENOSYS}, {"EPERM", EPERM},   {"EACCES", EACCES}, {"EINVAL", EINVAL},
    {"EAGAIN", EAGAIN}, {"ENOSPC", ENOSPC}, {"EOPNOTSUPP", EOPNOTSUPP},
    {"ENOLCK", ENOLCK},
};

static int number_of(const struct word *words, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i].name, name) == 0)
            return words[i].number;
    }
    char *end = NULL;
    long number = strtol(name, &end, 10);
    return *name != '\0' && *end == '\0' && number >= 0 && number < 4096 ? (int)number : -1;
}

static int usage(const char *why)
{
    fprintf(stderr, "deny: %s\nusage: deny ERRNO CALL[,CALL...] -- COMMAND [ARG...]\n", why);
    return 2;
}

/* A call of another architecture is let through: this is a test tool, not a boundary. */
static int install(int errnum, const int *numbers, size_t count)
{
    struct sock_filter program[CALLS_MAX * 2 + 8];
    size_t n = 0;
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                offsetof(struct seccomp_data, arch));
    program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                    (unsigned)numbers[i], 0, 1);
        program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                                    SECCOMP_RET_ERRNO | (unsigned)errnum);
    }
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = (unsigned short)n, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv)
{
    if (argc < 5 || strcmp(argv[3], "--") != 0)
        return usage("needs an errno, calls and a command");
    int errnum = number_of(errors, sizeof errors / sizeof errors[0], argv[1]);
    if (errnum < 0)
        return usage("unknown errno");
    int numbers[CALLS_MAX];
    size_t count = 0;
    for (char *save = NULL, *c = strtok_r(argv[2], ",", &save); c != NULL;
         c = strtok_r(NULL, ",", &save)) {
        int number = number_of(calls, sizeof calls / sizeof calls[0], c);
        if (number < 0 || count == CALLS_MAX)
            return usage("unknown call, or too many");
        numbers[count++] = number;
    }
    if (install(errnum, numbers, count) < 0) {
        perror("deny: seccomp");
        return 125;
    }
    execvp(argv[4], argv + 4);
    perror("deny: exec");
    return 127;
}
