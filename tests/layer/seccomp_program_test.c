/*
 * The programs themselves, run by a small interpreter: every variant, every number, many
 * arguments, against the tables and a plain-C reading of what each verdict means.
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "harness.h"
#include "layer/seccomp.h"

#define LONGEST 195      /* loading time grows with it */
#define LONGEST_HOST 225 /* in the host's world, where more time goes elsewhere */
#define NUMBERS 1024

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define NATIVE AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif

#define PASSES SECCOMP_RET_ALLOW
#define KILLS SECCOMP_RET_KILL_PROCESS
#define FAILS(number) (SECCOMP_RET_ERRNO | (uint32_t)(number))

static uint32_t interpret(const struct sock_fprog *program, const struct seccomp_data *data)
{
    uint32_t a = 0;

    for (size_t pc = 0; pc < program->len; pc++) {
        const struct sock_filter *i = &program->filter[pc];
        bool yes = false;

        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            CHECK(i->k % 4 == 0 && i->k < sizeof *data);
            memcpy(&a, (const char *)data + i->k, sizeof a);
            continue;
        case BPF_ALU | BPF_AND | BPF_K: a &= i->k; continue;
        case BPF_RET | BPF_K: return i->k;
        case BPF_JMP | BPF_JEQ | BPF_K: yes = a == i->k; break;
        case BPF_JMP | BPF_JGE | BPF_K: yes = a >= i->k; break;
        case BPF_JMP | BPF_JSET | BPF_K: yes = (a & i->k) != 0; break;
        default: test_fail(__FILE__, __LINE__, "instruction %#x at %zu", i->code, pc);
        }
        pc += yes ? i->jt : i->jf;
    }
    test_fail(__FILE__, __LINE__, "ran past the end");
}

static uint32_t decide(unsigned variant, uint32_t arch, uint32_t number, const uint64_t args[6])
{
    struct seccomp_choice choice = seccomp_choice_of(variant);
    struct seccomp_data data = {.nr = (int)number, .arch = arch};

    if (args != NULL)
        memcpy(data.args, args, sizeof data.args);
    return interpret(layer_seccomp_program(&choice), &data);
}

static uint32_t on_forbidden(const struct seccomp_choice *choice)
{
    return choice->on_forbidden == FORBIDDEN_KILL ? KILLS : FAILS(EPERM);
}

/* --- what a verdict means, said a second time --- */

static bool mode_ok(uint64_t mode)
{
    return (mode & 06000) == 0;
}

static bool node_ok(uint64_t mode)
{
    return mode_ok(mode) && !S_ISCHR((mode_t)mode) && !S_ISBLK((mode_t)mode);
}

static bool open_ok(uint64_t flags, uint64_t mode)
{
    return ((flags & O_CREAT) == 0 && (flags & 020000000) == 0) || mode_ok(mode);
}

/* Without namespaces, also what empties a file that is only opened for reading, or opens it for nothing. */
static uint32_t open_answer(const struct seccomp_choice *choice, uint64_t flags, uint64_t mode)
{
    if (choice->world != WORLD_OWN && (((flags & O_TRUNC) != 0 && (flags & 3) == O_RDONLY) || (flags & 3) == 3))
        return FAILS(EPERM);
    return open_ok(flags, mode) ? PASSES : on_forbidden(choice);
}

static uint32_t process_answer(const struct seccomp_choice *choice, uint32_t pid)
{
    if (choice->world != WORLD_OWN)
        return pid == 0 ? PASSES : FAILS(EPERM);
    return pid != 1 ? PASSES : on_forbidden(choice);
}

/* Of terminals, sockets, and what reads of a file or needs it open for writing. */
static bool host_ioctl_ok(uint32_t request)
{
    static const uint32_t files[] = {2,          0x80086601, 0x80087601, 0x801c581f,
                                     0xc020660b, 0x40049409, 0x4020940d};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (request == files[i])
            return true;
    }
    return (request >> 8 & 0xff) == 0x54 || (request >> 8 & 0xff) == 0x89;
}

/* Requests of btrfs and bcachefs, but for those by which any file system copies. */
static bool is_snapshot(uint32_t request)
{
    const uint32_t type = request >> 8 & 0xff;
    return type == 0xbc || (type == 0x94 && request != 0x40049409 && request != 0x4020940d);
}

static bool ioctl_ok(uint32_t request)
{
    return request != 0x5412 && request != 0x541c && request != 0x5423 && request != 0x541d;
}

static bool personality_ok(uint32_t p)
{
    return p == 0xffffffff || (p & ~(uint32_t)0x60008) == 0;
}

static uint32_t socket_answer(const struct seccomp_choice *choice, uint32_t family,
                              uint32_t protocol)
{
    if (family == AF_UNIX)
        return choice->world == WORLD_OWN ? PASSES : FAILS(EAFNOSUPPORT);
    if (choice->on_forbidden == FORBIDDEN_KILL_SOCKETS)
        return KILLS;
    if (choice->world == WORLD_HOST)
        return choice->on_forbidden == FORBIDDEN_ERRNO ? FAILS(EAFNOSUPPORT) : KILLS;
    if (family == AF_INET || family == AF_INET6 || (family == AF_NETLINK && protocol == 0))
        return PASSES;
    if (choice->on_forbidden == FORBIDDEN_KILL)
        return KILLS;
    return FAILS(family == AF_NETLINK ? EPROTONOSUPPORT : EAFNOSUPPORT);
}

static uint32_t pair_answer(const struct seccomp_choice *choice, const uint64_t args[6])
{
    const uint32_t type = (uint32_t)args[1] & 0xf;
    if (choice->world == WORLD_OWN)
        return socket_answer(choice, (uint32_t)args[0], (uint32_t)args[2]);
    if ((uint32_t)args[0] != AF_UNIX)
        return choice->on_forbidden == FORBIDDEN_ERRNO ? FAILS(EAFNOSUPPORT) : KILLS;
    return type == SOCK_STREAM || type == SOCK_SEQPACKET ? PASSES : FAILS(EAFNOSUPPORT);
}

static uint32_t expected(const struct seccomp_choice *choice, enum verdict verdict,
                         const uint64_t args[6])
{
    const bool own = choice->world == WORLD_OWN;
    bool ok = true;

    switch (verdict) {
    case VERDICT_ALLOW: break;
    case VERDICT_QUEUE: return choice->deny_memfd || !own ? FAILS(ENOSYS) : PASSES;
    case VERDICT_IPC:
    case VERDICT_WATCH: return own ? PASSES : FAILS(ENOSYS);
    case VERDICT_ATTRIBUTE: return own ? PASSES : FAILS(EPERM);
    case VERDICT_CHMOD_1:
    case VERDICT_CHMOD_2:
        if (!own)
            return FAILS(EPERM);
        ok = mode_ok(args[verdict == VERDICT_CHMOD_1 ? 1 : 2]);
        break;
    case VERDICT_PAIR: return pair_answer(choice, args);
    case VERDICT_FORBID: ok = false; break;
    case VERDICT_ABSENT: return FAILS(ENOSYS);
    case VERDICT_UNSEEN: return choice->deny_memfd ? FAILS(ENOSYS) : PASSES;
    case VERDICT_PINNING: return choice->deny_memfd ? FAILS(EINVAL) : PASSES;
    case VERDICT_PROOF: return FAILS(SECCOMP_PROOF_ERRNO + seccomp_variant(choice));
    case VERDICT_CLONE: ok = (args[0] & 0x7e020000) == 0; break;
    case VERDICT_IOCTL:
        if (own ? is_snapshot((uint32_t)args[1]) : !host_ioctl_ok((uint32_t)args[1]))
            return FAILS(EPERM);
        ok = ioctl_ok((uint32_t)args[1]);
        break;
    case VERDICT_PERSONALITY: ok = personality_ok((uint32_t)args[0]); break;
    case VERDICT_SOCKET: return socket_answer(choice, (uint32_t)args[0], (uint32_t)args[2]);
    case VERDICT_MAP:
        if ((args[3] & 0x40000) != 0)
            return FAILS(ENOMEM);
        return choice->deny_memfd && (args[3] & 0x21) == 0x21 ? FAILS(ENOSYS) : PASSES;
    case VERDICT_OPTION:
        return choice->deny_memfd && (uint32_t)args[1] == 1 && (uint32_t)args[2] == 60 ? FAILS(ENOMEM) : PASSES;
    case VERDICT_PRCTL: return choice->deny_memfd && (uint32_t)args[0] == 78 ? FAILS(EINVAL) : PASSES;
    case VERDICT_MEMFD:
        if (choice->deny_memfd)
            return FAILS(ENOSYS);
        return (args[1] & 4) != 0 ? FAILS(ENOMEM) : PASSES;
    case VERDICT_SEGMENT:
        if (choice->deny_memfd || !own)
            return FAILS(ENOSYS);
        return (args[2] & 04000) != 0 ? FAILS(ENOMEM) : PASSES;
    case VERDICT_PROCESS: return process_answer(choice, (uint32_t)args[0]);
    case VERDICT_LIMIT_0: return (uint32_t)args[0] == 4 ? FAILS(0) : PASSES;
    case VERDICT_LIMIT_1:
        if (process_answer(choice, (uint32_t)args[0]) != PASSES)
            return process_answer(choice, (uint32_t)args[0]);
        return (uint32_t)args[1] == 4 && args[2] != 0 ? FAILS(0) : PASSES;
    case VERDICT_FCNTL: return (uint32_t)args[1] == 1024 || (uint32_t)args[1] == 1040 ? FAILS(EPERM) : PASSES;
    case VERDICT_PRIORITY:
    case VERDICT_IO_PRIORITY:
        if ((uint32_t)args[0] == (verdict == VERDICT_PRIORITY ? 2 : 3))
            return on_forbidden(choice);
        return process_answer(choice, (uint32_t)args[1]);
    case VERDICT_MODE_1: ok = mode_ok(args[1]); break;
    case VERDICT_MODE_2: ok = mode_ok(args[2]); break;
    case VERDICT_NODE_1: ok = node_ok(args[1]); break;
    case VERDICT_NODE_2: ok = node_ok(args[2]); break;
    case VERDICT_OPEN_1: return open_answer(choice, args[1], args[2]);
    case VERDICT_OPEN_2: return open_answer(choice, args[2], args[3]);
    case VERDICT_COUNT: CHECK(false);
    }
    return ok ? PASSES : on_forbidden(choice);
}

/* --- the tables, with numbers --- */

static const struct {
    const char *name;
    enum verdict verdict[SECCOMP_LEVELS];
} calls[] = {
#define CALL(name, normal, strict) {#name, {VERDICT_##normal, VERDICT_##strict}},
#include "layer/filter/calls.def"
};

static const struct {
    const char *name;
    int number;
} newer[] = {
#define CALL(name, normal, strict)
#define NEWER(name, number) {#name, number},
#include "layer/filter/calls.def"
};

static int number_of(const char *name)
{
    int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, name);

    for (size_t i = 0; number == __NR_SCMP_ERROR && i < sizeof newer / sizeof newer[0]; i++)
        if (strcmp(newer[i].name, name) == 0)
            number = newer[i].number;
    CHECK(number != __NR_SCMP_ERROR);
    return number;
}

static void fill(enum verdict table[NUMBERS], enum policy_seccomp level)
{
    for (size_t i = 0; i < NUMBERS; i++)
        table[i] = VERDICT_ABSENT;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int number = number_of(calls[i].name);
        if (number >= 0)
            table[number] = calls[i].verdict[level];
    }
}

/* One value in each of the first four arguments at a time, and pairs for flags with a mode. */
static const uint64_t values[] = {
    0, 1, 2, 3, 4, 10, 16, 17, 60, 78, 0x21, 0x40021, 0x40022, 38, 40, 0755, 01777, 02000, 04000, 06755, 0x20000, 0x40000,
    0x60008, 0x80000, 0x400000, 5, 0x80001, 0x80002, O_TRUNC, O_TRUNC | O_WRONLY, O_TRUNC | O_RDWR, O_TRUNC | 3,
    0x40086602, 0x401c5820, 0x40087602, 0x40806685, 0x40086604, 0x6609, 0x5000940e, 0x4010940f, 0x80086601,
    0x50009417, 0x4020bc10, 0x4020940d, 1024, 1040, 0x100000400,
    0x801c581f, 0xc020660b, 0x40049409, 0x8927, 0x541b, 0x5412, 0x541c, 0x541d, 0x5423, 0x5401,
    S_IFCHR, S_IFBLK, S_IFIFO, S_IFREG | 0644, S_IFBLK | 0600, S_IFCHR | S_IFBLK, S_IFSOCK, O_CREAT, O_CREAT | O_EXCL,
    020000000, O_TMPFILE, O_DIRECTORY, 0x7e020000, CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWCGROUP,
    CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET, 0x01200011, 0x80, 0xffffffff,
    UINT64_MAX, 0x100000000, 0x100005412, 0x100000001, 0x100000028, 0x110000000,
};

#define VALUES (sizeof values / sizeof values[0])

static void compare(unsigned variant, const enum verdict table[NUMBERS], uint32_t number,
                    const uint64_t args[6])
{
    struct seccomp_choice choice = seccomp_choice_of(variant);
    uint32_t got = decide(variant, NATIVE, number, args);
    uint32_t want = expected(&choice, table[number], args);

    if (got != want)
        test_fail(__FILE__, __LINE__, "variant %u, call %u (%#llx %#llx %#llx %#llx): %#x, not %#x",
                  variant, number, (unsigned long long)args[0], (unsigned long long)args[1],
                  (unsigned long long)args[2], (unsigned long long)args[3], got, want);
}

TEST(every_variant_decides_every_number_as_the_tables_say)
{
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        enum verdict table[NUMBERS];
        fill(table, seccomp_choice_of(variant).level);
        for (uint32_t number = 0; number < NUMBERS; number++) {
            for (size_t i = 0; i < VALUES * 4; i++) {
                uint64_t args[6] = {0};
                args[i % 4] = values[i / 4];
                compare(variant, table, number, args);
            }
        }
    }
}

TEST(flags_and_mode_of_open_are_read_together_and_so_are_family_and_protocol)
{
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        enum verdict table[NUMBERS];
        fill(table, seccomp_choice_of(variant).level);
        for (uint32_t number = 0; number < NUMBERS; number++) {
            if (table[number] < VERDICT_CLONE)
                continue;
            for (size_t i = 0; i < VALUES * VALUES; i++) {
                uint64_t x = values[i / VALUES], y = values[i % VALUES];
                compare(variant, table, number, (uint64_t[6]){x, x, y, 0, 0, 0});
                compare(variant, table, number, (uint64_t[6]){x, 0, y, y, 0, 0});
                compare(variant, table, number, (uint64_t[6]){0, y, x, y, 0, 0});
            }
        }
    }
}

/* The tables themselves, by the kernel's own constants: a line lost there must not go unseen. */
TEST(what_the_payload_does_between_load_and_exec_is_allowed_in_every_variant)
{
    static const long needed[] = {
        SYS_futex, SYS_chdir, SYS_landlock_create_ruleset, SYS_landlock_add_rule,
        SYS_landlock_restrict_self, SYS_close_range, SYS_execve, SYS_execveat, SYS_prlimit64,
        SYS_prctl, SYS_capget, SYS_openat, SYS_close, SYS_write, SYS_fcntl, SYS_exit_group,
        SYS_read, SYS_statfs, SYS_fstatfs, SYS_getppid, SYS_kill, SYS_exit, SYS_rt_sigreturn,
        SYS_mmap, SYS_munmap, SYS_brk, SYS_fstat, SYS_newfstatat, SYS_seccomp, SYS_wait4,
    };

    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++)
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
            CHECK_INT(decide(variant, NATIVE, (uint32_t)needed[i], NULL), PASSES);
}

TEST(what_breaks_walls_is_forbidden_in_every_variant)
{
    static const long forbidden[] = {
        SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree,
        467 /* open_tree_attr */, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount,
        SYS_fspick, SYS_mount_setattr, SYS_io_uring_setup, SYS_io_uring_enter,
        SYS_io_uring_register, SYS_open_by_handle_at, SYS_bpf, SYS_perf_event_open,
        SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module,
        SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff,
        SYS_settimeofday, SYS_clock_settime, SYS_acct, SYS_quotactl, SYS_quotactl_fd,
        SYS_sethostname, SYS_setdomainname, SYS_vhangup, SYS_syslog, SYS_lookup_dcookie, SYS_kcmp,
        SYS_process_madvise, SYS_fanotify_init,
#if defined(__x86_64__)
        SYS_iopl, SYS_ioperm, SYS_kexec_file_load,
#endif
    };

    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        struct seccomp_choice choice = seccomp_choice_of(variant);
        for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
            CHECK_INT(decide(variant, NATIVE, (uint32_t)forbidden[i], NULL), on_forbidden(&choice));
    }
}

TEST(calls_whose_flags_lie_behind_a_pointer_do_not_exist)
{
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        CHECK_INT(decide(variant, NATIVE, SYS_clone3, NULL), FAILS(ENOSYS));
        CHECK_INT(decide(variant, NATIVE, SYS_openat2, NULL), FAILS(ENOSYS));
    }
}

TEST(strict_goes_without_what_the_default_allows)
{
    static const long loose[] = {
        SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_personality,
        SYS_shmget, SYS_shmat, SYS_semget, SYS_semop, SYS_msgget, SYS_msgsnd, SYS_mq_open,
        SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
        SYS_move_pages, SYS_migrate_pages, SYS_adjtimex, SYS_clock_adjtime,
    };
    const struct seccomp_choice normal = {SECCOMP_DEFAULT, FORBIDDEN_ERRNO, false, WORLD_OWN};
    const struct seccomp_choice strict = {SECCOMP_STRICT, FORBIDDEN_ERRNO, false, WORLD_OWN};

    for (size_t i = 0; i < sizeof loose / sizeof loose[0]; i++) {
        uint32_t number = (uint32_t)loose[i];
        CHECK_INT(decide(seccomp_variant(&normal), NATIVE, number, NULL), PASSES);
        CHECK_INT(decide(seccomp_variant(&strict), NATIVE, number, NULL), FAILS(EPERM));
    }
}

TEST(foreign_architectures_are_refused_whatever_the_number)
{
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        struct seccomp_choice choice = seccomp_choice_of(variant);
        uint32_t want = choice.on_forbidden == FORBIDDEN_KILL ? KILLS : FAILS(ENOSYS);
        for (uint32_t number = 0; number < NUMBERS; number++) {
            CHECK_INT(decide(variant, FOREIGN, number, NULL), want);
            CHECK_INT(decide(variant, 0, number, NULL), want);
#if defined(__x86_64__)
            CHECK_INT(decide(variant, NATIVE, number | 0x40000000, NULL), want);
#endif
        }
    }
}

TEST(numbers_nobody_knows_answer_enosys)
{
    static const uint32_t unknown[] = {NUMBERS, 4096, 0x3fffffff, 0x80000000, 0xffffffff};

    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++)
        for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
            CHECK_INT(decide(variant, NATIVE, unknown[i], NULL), FAILS(ENOSYS));
}

TEST(only_killing_variants_can_kill)
{
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        struct seccomp_choice choice = seccomp_choice_of(variant);
        const struct sock_fprog *program = layer_seccomp_program(&choice);
        bool kills = false;
        for (size_t i = 0; i < program->len; i++)
            kills = kills || (program->filter[i].code == (BPF_RET | BPF_K) &&
                              program->filter[i].k == KILLS);
        CHECK_INT(kills, choice.on_forbidden != FORBIDDEN_ERRNO);
    }
}

TEST(programs_stay_short)
{
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        struct seccomp_choice choice = seccomp_choice_of(variant);
        const struct sock_fprog *program = layer_seccomp_program(&choice);
        printf("# %s, %s%s%s: %u instructions\n",
               choice.level == SECCOMP_STRICT ? "strict" : "default",
               (const char *[]){"errno", "kill", "kill sockets"}[choice.on_forbidden],
               (const char *[]){"", ", host's world", ", host's world and net"}[choice.world],
               choice.deny_memfd ? ", no memfd" : "", program->len);
        CHECK(program->len <= (choice.world == WORLD_OWN ? LONGEST : LONGEST_HOST));
    }
}

TEST(off_has_no_program)
{
    CHECK(layer_seccomp_program(&(struct seccomp_choice){.level = SECCOMP_OFF}) == NULL);
}

/* --- programs with a listener --- */

static uint32_t ask(unsigned set, uint32_t number, uint64_t second, uint64_t third)
{
    struct seccomp_data data = {.nr = (int)number, .arch = NATIVE, .args = {0, second, third}};
    return interpret(layer_seccomp_listener(set), &data);
}

TEST(only_calls_that_would_write_wait_for_the_listener)
{
    static const uint32_t free_ones[] = {SYS_read, SYS_write, SYS_close, SYS_fstat, SYS_mmap, SYS_ftruncate,
                                         SYS_execve, SYS_connect, SYS_clone, SYS_clone3, SYS_getdents64};
    for (size_t i = 0; i < sizeof free_ones / sizeof free_ones[0]; i++)
        CHECK_INT(ask(LISTEN_WRITES, free_ones[i], 0, 0), PASSES);
    CHECK_INT(ask(LISTEN_WRITES, SYS_openat, 0, O_RDONLY | O_CLOEXEC | O_DIRECTORY), PASSES);
    CHECK_INT(ask(LISTEN_WRITES, SYS_openat, 0, O_PATH | O_NOFOLLOW), PASSES);
    static const uint64_t writing[] = {O_WRONLY, O_RDWR, O_CREAT, O_RDONLY | O_TRUNC, O_TMPFILE | O_RDWR, 3};
    for (size_t i = 0; i < sizeof writing / sizeof writing[0]; i++)
        CHECK_INT(ask(LISTEN_WRITES, SYS_openat, 0, writing[i]), SECCOMP_RET_USER_NOTIF);
    static const uint32_t others[] = {SYS_unlinkat, SYS_mkdirat, SYS_renameat2, SYS_linkat, SYS_symlinkat,
                                      SYS_truncate, SYS_fchmod, SYS_fchownat, SYS_utimensat, SYS_setxattr,
                                      SYS_fremovexattr, SYS_mknodat, SYS_bind, 452, 463, 466};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        CHECK_INT(ask(LISTEN_WRITES, others[i], 0, 0), SECCOMP_RET_USER_NOTIF);
    CHECK_INT(ask(LISTEN_WRITES, 437 /* openat2 */, 0, 0), FAILS(ENOSYS));
}

TEST(forks_and_writes_can_wait_together_or_alone)
{
    CHECK_INT(ask(LISTEN_FORKS, SYS_clone, 0, 0), SECCOMP_RET_USER_NOTIF);
    CHECK_INT(ask(LISTEN_FORKS, SYS_clone3, 0, 0), FAILS(ENOSYS));
    CHECK_INT(ask(LISTEN_FORKS, SYS_unlinkat, 0, 0), PASSES);
    CHECK_INT(ask(LISTEN_FORKS, SYS_openat, 0, O_WRONLY), PASSES);
    CHECK_INT(ask(LISTEN_FORKS | LISTEN_WRITES, SYS_clone, 0, 0), SECCOMP_RET_USER_NOTIF);
    CHECK_INT(ask(LISTEN_FORKS | LISTEN_WRITES, SYS_unlinkat, 0, 0), SECCOMP_RET_USER_NOTIF);
    for (unsigned set = 1; set < LISTEN_SETS; set++) {
        const struct seccomp_data foreign = {.nr = SYS_read, .arch = FOREIGN};
        CHECK_INT(interpret(layer_seccomp_listener(set), &foreign), FAILS(ENOSYS));
        CHECK(layer_seccomp_listener(set)->len <= LONGEST);
#if defined(__x86_64__)
        CHECK_INT(ask(set, 0x40000000u | SYS_unlinkat, 0, 0), FAILS(ENOSYS));
#endif
    }
}
