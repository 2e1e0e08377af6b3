/*
 * Runs a command on a host that says no: each named system call answers the named errno.
 *
 *     refuse CALL[=ERRNO]... -- COMMAND [ARG...]
 *
 * ENOSYS if no errno is named. "newuser" stands for user namespaces, as the filters of containers
 * refuse them: clone and unshare with CLONE_NEWUSER answer, and clone3, which hides its flags, does
 * not exist. "listener" stands for seccomp with a notification descriptor.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int number_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"EPERM", EPERM}, {"EACCES", EACCES}, {"ENOSPC", ENOSPC}, {"EUSERS", EUSERS},
                 {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL}, {"EAGAIN", EAGAIN}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0)
            return known[i].number;
    }
    return -1;
}

static int add(scmp_filter_ctx filter, char *spec)
{
    char *equals = strchr(spec, '=');
    const int error = equals == NULL ? ENOSYS : number_of(equals + 1);
    if (equals != NULL)
        *equals = '\0';
    if (error < 0)
        return -EINVAL;
    const uint32_t answer = SCMP_ACT_ERRNO((uint32_t)error);
    if (strcmp(spec, "newuser") == 0) {
        const struct scmp_arg_cmp flag = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER);
        int r = seccomp_rule_add(filter, answer, SCMP_SYS(clone), 1, flag);
        if (r == 0)
            r = seccomp_rule_add(filter, answer, SCMP_SYS(unshare), 1, flag);
        return r < 0 ? r : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    }
    if (strcmp(spec, "listener") == 0)
        return seccomp_rule_add(filter, answer, SCMP_SYS(seccomp), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, 8, 8));
    const int call = seccomp_syscall_resolve_name(spec);
    return call == __NR_SCMP_ERROR ? -EINVAL : seccomp_rule_add(filter, answer, call, 0);
}

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (add(filter, argv[i]) < 0) {
            fprintf(stderr, "refuse: cannot refuse '%s'\n", argv[i]);
            return 2;
        }
    }
    if (i + 1 >= argc || seccomp_load(filter) < 0) {
        fprintf(stderr, "usage: refuse CALL[=ERRNO]... -- COMMAND [ARG...]\n");
        return 2;
    }
    execvp(argv[i + 1], argv + i + 1);
    perror(argv[i + 1]);
    return 127;
}
