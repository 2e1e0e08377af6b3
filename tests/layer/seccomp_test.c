/*
 * The filter in the kernel: each act is done twice in a child of its own, first bare, then under
 * the filter. Only an answer that changed proves anything.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "layer/seccomp.h"
#include "sys/call.h"

#define KILLED LONG_MIN /* outcome(): ended by SIGSYS */
#define HIGH (1L << 40) /* above the 32 bits that the kernel looks at */
#define FCHMODAT2 452

static const struct seccomp_choice plain = {SECCOMP_DEFAULT, FORBIDDEN_ERRNO, false, WORLD_OWN};
static const struct seccomp_choice strict = {SECCOMP_STRICT, FORBIDDEN_ERRNO, false, WORLD_OWN};
static const struct seccomp_choice no_memfd = {SECCOMP_DEFAULT, FORBIDDEN_ERRNO, true, WORLD_OWN};
static const struct seccomp_choice kills = {SECCOMP_DEFAULT, FORBIDDEN_KILL, false, WORLD_OWN};
static const struct seccomp_choice kills_sockets = {SECCOMP_DEFAULT, FORBIDDEN_KILL_SOCKETS, false,
                                                     WORLD_OWN};

static void confine(const struct seccomp_choice *choice)
{
    const struct sock_fprog *program = layer_seccomp_program(choice);

    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_INT(layer_seccomp_load(program), 0);
    CHECK(layer_seccomp_proven(program));
}

/* What `act` returns in a child; `choice` may be NULL. */
static long outcome(long (*act)(void), const struct seccomp_choice *choice)
{
    int channel[2];
    long result = 0;
    int status = 0;

    CHECK_INT(pipe(channel), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (choice != NULL)
            confine(choice);
        result = act();
        _exit(write(channel[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    close(channel[1]);
    ssize_t got = read(channel[0], &result, sizeof result);
    close(channel[0]);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
        return KILLED;
    CHECK_INT(got, sizeof result);
    return result;
}

static void check_act(const char *name, long (*act)(void), const struct seccomp_choice *choice,
                      long want)
{
    long bare = outcome(act, NULL), confined = outcome(act, choice);

    if (bare == want)
        test_fail(__FILE__, __LINE__, "%s gives %ld without the filter too", name, bare);
    if (confined != want)
        test_fail(__FILE__, __LINE__, "%s gives %ld, expected %ld", name, confined, want);
}

#define CHECK_REFUSED(act, choice, number) check_act(#act, act, &(choice), -(long)(number))
#define CHECK_KILLED(act, choice) check_act(#act, act, &(choice), KILLED)

static char place[] = "/tmp/seccomp-test-XXXXXX";

/* A directory to make files in, gone after the test. */
static void remove_place(void)
{
    CHECK_INT(chdir("/"), 0);
    CHECK_INT(rmdir(place), 0);
}

static void enter_place(void)
{
    CHECK(test_directory(place) != NULL);
    CHECK_INT(chdir(place), 0);
    umask(0);
}

/* --- namespaces and mounts --- */

static long act_unshare(void)
{
    return sys_call(SYS_unshare, CLONE_FILES);
}

static long act_setns(void)
{
    return sys_call(SYS_setns, -1, 0);
}

static long clone_with(long flags)
{
    long pid = sys_call(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        (void)sys_call(SYS_wait4, pid, 0, 0, 0);
    return pid > 0 ? 0 : pid;
}

static long act_clone_newuser(void)
{
    return clone_with(CLONE_NEWUSER);
}

static long act_clone_newuser_high(void)
{
    return clone_with(CLONE_NEWUSER | HIGH);
}

static long act_clone_plain(void)
{
    return clone_with(HIGH);
}

static long act_clone3(void)
{
    return sys_call(SYS_clone3, 0, 0);
}

static long act_umount(void)
{
    return sys_call(SYS_umount2, "/", 0xff);
}

static long act_mount(void)
{
    return sys_call(SYS_mount, 0, 0, 0, 0, 0);
}

static long act_chroot(void)
{
    return sys_call(SYS_chroot, 0);
}

TEST(namespaces_and_mounts_are_out_of_reach)
{
    CHECK_REFUSED(act_unshare, plain, EPERM);
    CHECK_REFUSED(act_setns, plain, EPERM);
    if (outcome(act_clone_newuser, NULL) != 0)
        test_skip("user namespaces");
    CHECK_REFUSED(act_clone_newuser, plain, EPERM);
    CHECK_REFUSED(act_clone_newuser_high, plain, EPERM);
    CHECK_INT(outcome(act_clone_plain, &plain), 0);
    CHECK_REFUSED(act_clone3, plain, ENOSYS);
    CHECK_REFUSED(act_umount, plain, EPERM);
    CHECK_REFUSED(act_mount, plain, EPERM);
    CHECK_REFUSED(act_chroot, plain, EPERM);
}

/* --- kernel interfaces --- */

static long act_keyctl(void)
{
    return sys_call(SYS_keyctl, 9999);
}

static long act_perf(void)
{
    return sys_call(SYS_perf_event_open, 0, 0, -1, -1, ~0UL);
}

static long act_userfaultfd(void)
{
    return sys_call(SYS_userfaultfd, 0x8001); /* user mode only, and a flag that does not exist */
}

static long act_kcmp(void)
{
    return sys_call(SYS_kcmp, getpid(), getpid(), 1, 0, 0);
}

static long act_process_madvise(void)
{
    return sys_call(SYS_process_madvise, -1, 0, 0, 0, 1);
}

static long act_openat2(void)
{
    return sys_call(SYS_openat2, AT_FDCWD, "/", 0, 0);
}

static long act_io_uring(void)
{
    return sys_call(SYS_io_uring_enter, -1, 0, 0, 0, 0, 0);
}

TEST(kernel_interfaces_with_a_record_are_closed)
{
    CHECK_REFUSED(act_keyctl, plain, EPERM);
    CHECK_REFUSED(act_perf, plain, EPERM);
    CHECK_REFUSED(act_userfaultfd, plain, EPERM);
    CHECK_REFUSED(act_kcmp, plain, EPERM);
    CHECK_REFUSED(act_process_madvise, plain, EPERM);
    CHECK_REFUSED(act_openat2, plain, ENOSYS);
    CHECK_REFUSED(act_io_uring, plain, EPERM);
}

/* --- modes: each act cleans up after itself --- */

static long made(long result)
{
    (void)unlink("x");
    (void)rmdir("x");
    return result < 0 ? result : 0;
}

static long act_fchmod(void)
{
    int fd = open("x", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    return made(fd < 0 ? -errno : sys_call(SYS_fchmod, fd, 04755));
}

static long act_fchmodat(void)
{
    int fd = open("x", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    return made(fd < 0 ? -errno : sys_call(SYS_fchmodat, AT_FDCWD, "x", 02755 | HIGH));
}

static long act_fchmodat2(void)
{
    int fd = open("x", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    return made(fd < 0 ? -errno : sys_call(FCHMODAT2, AT_FDCWD, "x", 04755, 0));
}

static long act_mkdirat(void)
{
    return made(sys_call(SYS_mkdirat, AT_FDCWD, "x", 02755));
}

static long act_mknodat_setuid(void)
{
    return made(sys_call(SYS_mknodat, AT_FDCWD, "x", S_IFREG | 04755, 0));
}

static long act_mknodat_device(void)
{
    return made(sys_call(SYS_mknodat, AT_FDCWD, "x", S_IFCHR | 0600, 0)); /* 0:0 is free to all */
}

static long act_mknodat_fifo(void)
{
    return made(sys_call(SYS_mknodat, AT_FDCWD, "x", S_IFIFO | 0600, 0));
}

static long act_openat_setuid(void)
{
    return made(sys_call(SYS_openat, AT_FDCWD, "x", O_CREAT | O_WRONLY, 04755));
}

static long act_openat_tmpfile(void)
{
    return made(sys_call(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_WRONLY, 04755));
}

static long act_openat_garbage_mode(void)
{
    return made(sys_call(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0xffffffff));
}

static long act_openat_plain(void)
{
    return made(sys_call(SYS_openat, AT_FDCWD, "x", O_CREAT | O_WRONLY, 01777));
}

TEST(no_call_leaves_a_setuid_file_or_a_device)
{
    enter_place();
    CHECK_REFUSED(act_fchmod, plain, EPERM);
    CHECK_REFUSED(act_fchmodat, plain, EPERM);
    CHECK_REFUSED(act_fchmodat2, plain, EPERM);
    CHECK_REFUSED(act_mkdirat, plain, EPERM);
    CHECK_REFUSED(act_mknodat_setuid, plain, EPERM);
    CHECK_REFUSED(act_mknodat_device, plain, EPERM);
    CHECK_REFUSED(act_openat_setuid, plain, EPERM);
    CHECK_REFUSED(act_openat_tmpfile, plain, EPERM);
    CHECK_INT(outcome(act_mknodat_fifo, &plain), 0);
    CHECK_INT(outcome(act_openat_plain, &plain), 0);
    CHECK_INT(outcome(act_openat_garbage_mode, &plain), 0);
    remove_place();
}

#if defined(__x86_64__)
static long act_chmod(void)
{
    int fd = open("x", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    return made(fd < 0 ? -errno : sys_call(SYS_chmod, "x", 06755));
}

static long act_mkdir(void)
{
    return made(sys_call(SYS_mkdir, "x", 04755));
}

static long act_mknod_setuid(void)
{
    return made(sys_call(SYS_mknod, "x", S_IFREG | 02755, 0));
}

static long act_mknod_device(void)
{
    return made(sys_call(SYS_mknod, "x", S_IFCHR | 0600, 0));
}

static long act_creat(void)
{
    return made(sys_call(SYS_creat, "x", 04755));
}

static long act_open_setuid(void)
{
    return made(sys_call(SYS_open, "x", O_CREAT | O_WRONLY, 02755));
}

static long act_open_garbage_mode(void)
{
    return made(sys_call(SYS_open, "/", O_RDONLY, 0xffffffff));
}

TEST(nor_do_their_older_forms)
{
    enter_place();
    CHECK_REFUSED(act_chmod, plain, EPERM);
    CHECK_REFUSED(act_mkdir, plain, EPERM);
    CHECK_REFUSED(act_mknod_setuid, plain, EPERM);
    CHECK_REFUSED(act_mknod_device, plain, EPERM);
    CHECK_REFUSED(act_creat, plain, EPERM);
    CHECK_REFUSED(act_open_setuid, plain, EPERM);
    CHECK_INT(outcome(act_open_garbage_mode, &plain), 0);
    remove_place();
}
#endif

/* --- sockets --- */

static long act_socket_packet(void)
{
    long fd = sys_call(SYS_socket, AF_PACKET, SOCK_DGRAM, 0);
    return fd < 0 ? fd : 0;
}

static long act_socket_uevent(void)
{
    long fd = sys_call(SYS_socket, AF_NETLINK, SOCK_DGRAM, 15);
    return fd < 0 ? fd : 0;
}

static long act_socket_route(void)
{
    long fd = sys_call(SYS_socket, AF_NETLINK, SOCK_DGRAM, 0);
    return fd < 0 ? fd : 0;
}

static long act_socket_inet(void)
{
    long fd = sys_call(SYS_socket, AF_INET | HIGH, SOCK_STREAM, 0);
    return fd < 0 ? fd : 0;
}

static long act_socket_unix(void)
{
    long fd = sys_call(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    return fd < 0 ? fd : 0;
}

static long act_socketpair(void)
{
    int pair[2];
    return sys_call(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
}

TEST(only_contained_socket_families_exist)
{
    CHECK_REFUSED(act_socket_packet, plain, EAFNOSUPPORT);
    CHECK_REFUSED(act_socket_uevent, plain, EPROTONOSUPPORT);
    CHECK_INT(outcome(act_socket_route, &plain), 0);
    CHECK_INT(outcome(act_socket_inet, &plain), 0);
    CHECK_INT(outcome(act_socket_unix, &plain), 0);
    CHECK_INT(outcome(act_socketpair, &plain), 0);
}

TEST(kill_sockets_kills_for_the_network_and_nothing_else)
{
    CHECK_KILLED(act_socket_inet, kills_sockets);
    CHECK_KILLED(act_socket_route, kills_sockets);
    CHECK_KILLED(act_socket_packet, kills_sockets);
    CHECK_INT(outcome(act_socket_unix, &kills_sockets), 0);
    CHECK_INT(outcome(act_socketpair, &kills_sockets), 0);
    CHECK_REFUSED(act_unshare, kills_sockets, EPERM);
}

/* --- terminals --- */

static long terminal_request(long request)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || setsid() < 0)
        return -EBADF;
    int slave = open(ptsname(master), O_RDWR | O_CLOEXEC); /* becomes the controlling terminal */
    if (slave < 0)
        return -errno;
    int word = 0;
    return sys_call(SYS_ioctl, slave, request, &word);
}

static long act_tiocsti(void)
{
    return terminal_request(0x5412);
}

static long act_tiocsti_high(void)
{
    return terminal_request(0x5412 | HIGH);
}

static long act_tiocsetd(void)
{
    return terminal_request(0x5423);
}

static long act_terminal_attributes(void)
{
    return terminal_request(0x540f); /* TIOCGPGRP */
}

TEST(nothing_types_into_a_terminal)
{
    if (outcome(act_terminal_attributes, NULL) != 0)
        test_skip("pseudo terminals");
    CHECK_REFUSED(act_tiocsti, plain, EPERM);
    CHECK_REFUSED(act_tiocsti_high, plain, EPERM);
    CHECK_REFUSED(act_tiocsetd, plain, EPERM);
    CHECK_INT(outcome(act_terminal_attributes, &plain), 0);
}

/* --- variants --- */

static long act_memfd(void)
{
    long fd = sys_call(SYS_memfd_create, "x", 0);
    return fd < 0 ? fd : 0;
}

static long act_shmget(void)
{
    long id = sys_call(SYS_shmget, IPC_PRIVATE, 4096, 0600);
    if (id >= 0)
        (void)sys_call(SYS_shmctl, id, IPC_RMID, 0);
    return id < 0 ? id : 0;
}

static long act_semget(void)
{
    return sys_call(SYS_semget, IPC_PRIVATE, -1, 0600);
}

static long act_msgget(void)
{
    return sys_call(SYS_msgget, 0x7ea12345, 0600);
}

TEST(memory_that_no_watcher_sees_can_be_denied)
{
    CHECK_REFUSED(act_memfd, no_memfd, ENOSYS);
    CHECK_REFUSED(act_shmget, no_memfd, ENOSYS);
    CHECK_REFUSED(act_semget, no_memfd, ENOSYS);
    CHECK_REFUSED(act_msgget, no_memfd, ENOSYS);
    CHECK_INT(outcome(act_memfd, &plain), 0);
    CHECK_INT(outcome(act_shmget, &plain), 0);
}

static long act_ptrace(void)
{
    return sys_call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
}

static long act_personality_exec(void)
{
    long old = sys_call(SYS_personality, READ_IMPLIES_EXEC);
    return old < 0 ? old : 0;
}

static long act_personality_fixed(void)
{
    long old = sys_call(SYS_personality, ADDR_NO_RANDOMIZE);
    return old < 0 ? old : 0;
}

static long act_personality_ask(void)
{
    long old = sys_call(SYS_personality, 0xffffffff);
    return old < 0 ? old : 0;
}

static long act_affinity(void)
{
    unsigned long mask[16];
    long size = sys_call(SYS_sched_getaffinity, 0, sizeof mask, mask);
    return size < 0 ? size : sys_call(SYS_sched_setaffinity, 0, size, mask);
}

static long act_read_own_memory(void)
{
    char from = 1, to = 0;
    struct {
        void *base;
        size_t length;
    } local = {&to, 1}, remote = {&from, 1};
    return sys_call(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0);
}

TEST(strict_closes_what_the_default_leaves_open)
{
    CHECK_REFUSED(act_ptrace, strict, EPERM);
    CHECK_REFUSED(act_personality_ask, strict, EPERM);
    CHECK_REFUSED(act_affinity, strict, EPERM);
    CHECK_REFUSED(act_read_own_memory, strict, EPERM);
    CHECK_REFUSED(act_shmget, strict, EPERM);
    CHECK_INT(outcome(act_ptrace, &plain), 0);
    CHECK_INT(outcome(act_affinity, &plain), 0);
    CHECK_INT(outcome(act_read_own_memory, &plain), 1);
    CHECK_INT(outcome(act_shmget, &plain), 0);
}

TEST(personality_may_not_relax_memory_protection)
{
    CHECK_REFUSED(act_personality_exec, plain, EPERM);
    CHECK_INT(outcome(act_personality_fixed, &plain), 0);
    CHECK_INT(outcome(act_personality_ask, &plain), 0);
}

TEST(kill_kills_for_what_is_known_and_forbidden_only)
{
    CHECK_KILLED(act_unshare, kills);
    CHECK_KILLED(act_clone_newuser, kills);
    CHECK_KILLED(act_keyctl, kills);
    CHECK_KILLED(act_socket_packet, kills);
    CHECK_KILLED(act_tiocsti, kills);
    CHECK_REFUSED(act_clone3, kills, ENOSYS);
    CHECK_REFUSED(act_openat2, kills, ENOSYS);
    CHECK_INT(outcome(act_socket_inet, &kills), 0);
    CHECK_INT(outcome(act_clone_plain, &kills), 0);
}

/* --- ways around a filter --- */

#if defined(__x86_64__)
static long act_int80(void)
{
    long result;

    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20L) : "memory", "r8", "r9", "r10", "r11");
    return result < 0 ? result : 0; /* getpid of the other table */
}

static long act_x32(void)
{
    long fd = sys_call(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0);
    return fd < 0 ? fd : 0; /* many kernels have no x32: then ENOSYS without the filter too */
}

TEST(another_architecture_is_no_way_around)
{
    if (outcome(act_int80, NULL) != 0)
        test_skip("32-bit system calls");
    CHECK_REFUSED(act_int80, plain, ENOSYS);
    CHECK_KILLED(act_int80, kills);
    CHECK_INT(outcome(act_x32, &plain), -ENOSYS);
    CHECK_KILLED(act_x32, kills);
}
#endif

/* --- the layer's own promises --- */

TEST(the_proof_needs_this_very_program)
{
    const struct sock_fprog *first = layer_seccomp_program(&plain);
    const struct sock_fprog *second = layer_seccomp_program(&strict);

    CHECK(!layer_seccomp_proven(first));
    CHECK_INT(sys_call(SECCOMP_PROOF_CALL, 0, 0, 0), -ENOSYS);
    confine(&plain);
    CHECK(!layer_seccomp_proven(second));
    CHECK_INT(sys_call(SECCOMP_PROOF_CALL, 0, 0, 0), -SECCOMP_PROOF_ERRNO);
    confine(&strict); /* a second sandbox inside: the newest answers */
    CHECK(!layer_seccomp_proven(first));
    _exit(0); /* LeakSanitizer traces at exit, and strict has no ptrace */
}

TEST(errno_is_left_alone)
{
    errno = 12345;
    CHECK_INT(layer_seccomp_load(NULL), -EFAULT);
    CHECK_INT(errno, 12345);
    confine(&plain);
    errno = 12345;
    CHECK(layer_seccomp_proven(layer_seccomp_program(&plain)));
    CHECK_INT(errno, 12345);
}

/* Exit status of a program under a variant; -1 if a signal ended it. */
static int run_under(unsigned variant, const char *const argv[])
{
    int status = 0;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        struct seccomp_choice choice = seccomp_choice_of(variant);
        char *copy[4] = {NULL};
        for (size_t i = 0; i < 3 && argv[i] != NULL; i++)
            copy[i] = strdup(argv[i]);
        confine(&choice);
        execv(copy[0], copy);
        _exit(127);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_shell_works_under_every_variant)
{
    const char *script =
        "d=$(mktemp -d) && cd $d || exit 9; echo hi > a; cp -p a b && chmod 640 b; changed=$?;"
        "set -e; ln -s b c;"
        "mkfifo f; (cat f > d &) ; echo x > f; mkdir -p e/g; ls -l >/dev/null;"
        "find . | sort | head -n 3 >/dev/null; id >/dev/null; nice true; sleep 0;"
        "mv a h; rm -r $d; exit $changed";

    /* Without namespaces nobody changes modes and times: Landlock could not tell whose. */
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++)
        CHECK_INT(run_under(variant, (const char *[]){"/bin/sh", "-c", script, NULL}),
                  seccomp_choice_of(variant).world == WORLD_OWN ? 0 : 1);
}

TEST(an_interpreter_with_threads_children_and_pools_works_under_every_variant)
{
    const char *script =
        "import threading, subprocess, multiprocessing, tempfile, os, select, mmap, socket\n"
        "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
        "subprocess.run(['true'], check=True)\n"
        "__import__('pwd').getpwuid(0)\n"
        "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"
        "m = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m[0] = 1\n"
        "select.epoll().close()\n"
        "with tempfile.TemporaryDirectory() as d: open(d + '/f', 'w').write('x')\n"
        "with multiprocessing.Pool(2) as p: assert p.map(abs, [-1, 2]) == [1, 2]\n";

    if (access("/usr/bin/python3", X_OK) != 0)
        test_skip("python3");
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++)
        CHECK_INT(run_under(variant, (const char *[]){"/usr/bin/python3", "-c", script, NULL}), 0);
}
