/*
 * Build-time generator: writes every variant of the filter as C data. libseccomp is asked for the
 * numbers of names and for nothing else; the programs are our own, because the kernel runs a
 * filter once for every system call number while loading it: a search tree over ranges of numbers
 * loads several times faster than a list of comparisons.
 *
 *     gen ARCHITECTURE > programs.inc
 *
 * A program is: the architecture, the tree, a block for each kind of argument check, the returns.
 * Arguments are compared as the kernel compares them: all that are looked at are 32 bits wide or
 * less there, so only the low half counts; but for a pointer.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "layer/filter/variant.h"

#define MAX_CALL 1024        /* numbers below are decided by the tables */
#define MAX_INSTRUCTIONS 256 /* a conditional jump reaches 255 further */
#define MAX_RANGES 256
#define X32_FIRST 0x40000000u
#define X32_LAST 0x7fffffffu

/* The mode argument of open() counts only with one of these; the kernel's __O_TMPFILE is without
 * the O_DIRECTORY that the C library's O_TMPFILE adds. */
#define OPEN_MAKES_A_FILE (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

#define CLONE_ANY_NAMESPACE                                                          \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
     CLONE_NEWPID | CLONE_NEWNET)

struct architecture {
    const char *name;      /* meson's word */
    const char *predefine; /* the compiler's word */
    uint32_t scmp;
    uint32_t audit;
    bool has_x32;
};

static const struct architecture architectures[] = {
    {"x86_64", "__x86_64__", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64, true},
    {"aarch64", "__aarch64__", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, false},
};

/* Where a jump can go. Nodes of the tree have labels from TREE on. */
enum label {
    NEXT,
    RETURN_ALLOW,
    RETURN_ENOSYS,
    RETURN_FORBID,
    RETURN_FOREIGN, /* another architecture's call */
    RETURN_FAMILY,
    RETURN_PROTOCOL,
    RETURN_LOCAL,   /* a unix socket where it would be the host's */
    RETURN_DENIED,  /* EPERM in every variant: programs live with it */
    RETURN_NOMEM,   /* memory that nobody would count */
    RETURN_DONE,    /* success, and nothing was done */
    RETURN_INVALID, /* programs copy by hand then */
    RETURN_PROOF,
    RETURN_NOTIFY, /* whoever listens decides */
    LAST_RETURN = RETURN_NOTIFY,
    BLOCK, /* + enum verdict */
    TREE = BLOCK + VERDICT_COUNT,
    LABELS = TREE + MAX_RANGES,
};

struct instruction {
    uint16_t code;
    uint32_t k;
    int yes, no; /* labels; RET and LD ignore them */
};

struct program {
    struct instruction items[MAX_INSTRUCTIONS];
    size_t count;
    size_t place[LABELS];
    bool used[LABELS];
    int nodes; /* labels of the tree given out so far */
};

struct range {
    uint32_t first;
    int target; /* a label */
};

static _Noreturn void die(const char *what, const char *subject)
{
    fprintf(stderr, "gen: %s: %s\n", what, subject);
    exit(1);
}

/* --- the tables, with numbers --- */

struct call {
    const char *name;
    enum verdict verdict[SECCOMP_LEVELS];
};

static const struct call calls[] = {
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

/* -1: this architecture has no such call. */
static int number_of(const char *name, const struct architecture *arch)
{
    int number = seccomp_syscall_resolve_name_arch(arch->scmp, name);

    if (number >= 0)
        return number;
    if (number != __NR_SCMP_ERROR)
        return -1;
    for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++)
        if (strcmp(newer[i].name, name) == 0)
            return newer[i].number;
    die("unknown system call, and no number given", name);
}

static void fill_table(enum verdict table[MAX_CALL], enum policy_seccomp level,
                       const struct architecture *arch)
{
    bool seen[MAX_CALL] = {false};

    memset(table, 0, MAX_CALL * sizeof table[0]);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int number = number_of(calls[i].name, arch);
        if (number < 0)
            continue;
        if (number >= MAX_CALL || seen[number])
            die("number out of range or listed twice", calls[i].name);
        seen[number] = true;
        table[number] = calls[i].verdict[level];
    }
}

/* --- emitting --- */

static void place(struct program *p, int label)
{
    p->place[label] = p->count;
}

static void emit(struct program *p, int code, uint32_t k, int yes, int no)
{
    if (p->count == MAX_INSTRUCTIONS)
        die("program too long", "raise the merging, not the limit");
    p->items[p->count++] = (struct instruction){(uint16_t)code, k, yes, no};
    p->used[yes] = p->used[no] = true;
}

static void load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, NEXT, NEXT);
}

/* The low half: both architectures are little-endian. */
static void load_argument(struct program *p, unsigned index)
{
    load(p, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static void load_high_half(struct program *p, unsigned index)
{
    load(p, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t) + sizeof(uint32_t));
}

static void if_equal(struct program *p, uint32_t k, int yes, int no)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, k, yes, no);
}

static void if_any_bit(struct program *p, uint32_t k, int yes, int no)
{
    emit(p, BPF_JMP | BPF_JSET | BPF_K, k, yes, no);
}

/* --- argument checks: each ends in a return --- */

static void check_mode(struct program *p, unsigned argument)
{
    load_argument(p, argument);
    if_any_bit(p, S_ISUID | S_ISGID, RETURN_FORBID, RETURN_ALLOW);
}

static void check_node(struct program *p, unsigned argument)
{
    load_argument(p, argument);
    if_any_bit(p, S_ISUID | S_ISGID, RETURN_FORBID, NEXT);
    emit(p, BPF_ALU | BPF_AND | BPF_K, S_IFMT, NEXT, NEXT);
    if_equal(p, S_IFCHR, RETURN_FORBID, NEXT);
    if_equal(p, S_IFBLK, RETURN_FORBID, RETURN_ALLOW);
}

static void check_open(struct program *p, unsigned flags, enum seccomp_world world)
{
    load_argument(p, flags);
    if (world != WORLD_OWN) {
        /* A file that is opened for reading can be emptied on the way: before its ABI 3 Landlock
         * does not notice. Of one that is opened for neither reading nor writing it notices nothing,
         * and by that descriptor a device takes requests, too. */
        emit(p, BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE, NEXT, NEXT);
        if_equal(p, O_TRUNC | O_RDONLY, RETURN_DENIED, NEXT);
        emit(p, BPF_ALU | BPF_AND | BPF_K, O_ACCMODE, NEXT, NEXT);
        if_equal(p, O_ACCMODE, RETURN_DENIED, NEXT);
        load_argument(p, flags);
    }
    /* Without one of them the mode register holds whatever it held before. open() has its mode where
     * others that are checked have theirs. */
    if_any_bit(p, OPEN_MAKES_A_FILE, flags == 1 ? BLOCK + (int)VERDICT_MODE_2 : (int)NEXT, RETURN_ALLOW);
    if (flags != 1)
        check_mode(p, flags + 1);
}

/*
 * File systems have requests of their own by the dozen that change a file which is only open for reading,
 * or name another one, and Landlock sees none. So: those of terminals and sockets, which also are those of
 * pipes and of descriptors themselves, and of files what reads or needs a descriptor for writing.
 */
static void check_host_ioctl(struct program *p)
{
    static const uint32_t of_files[] = {
        0x00000002, /* FIGETBSZ */
        0x80086601, /* FS_IOC_GETFLAGS */
        0x80087601, /* FS_IOC_GETVERSION */
        0x801c581f, /* FS_IOC_FSGETXATTR */
        0xc020660b, /* FS_IOC_FIEMAP */
        0x40049409, /* FICLONE */
        0x4020940d, /* FICLONERANGE */
    };
    const size_t count = sizeof of_files / sizeof of_files[0];

    for (size_t i = 0; i < count; i++)
        if_equal(p, of_files[i], RETURN_ALLOW, NEXT);
    emit(p, BPF_ALU | BPF_AND | BPF_K, 0xff00, NEXT, NEXT); /* the type */
    if_equal(p, 0x8900, RETURN_ALLOW, NEXT);
    if_equal(p, 'T' << 8, RETURN_ALLOW, RETURN_DENIED);
}

/*
 * Who owns a directory may have a snapshot of it, in which nothing is covered that is hidden in the
 * directory. What copies a file reads it by a descriptor.
 */
static void refuse_snapshots(struct program *p)
{
    if_equal(p, 0x40049409, RETURN_ALLOW, NEXT); /* FICLONE */
    if_equal(p, 0x4020940d, RETURN_ALLOW, NEXT); /* FICLONERANGE */
    emit(p, BPF_ALU | BPF_AND | BPF_K, 0xff00, NEXT, NEXT); /* the type */
    if_equal(p, 0x9400, RETURN_DENIED, NEXT);               /* btrfs */
    if_equal(p, 0xbc00, RETURN_DENIED, RETURN_ALLOW);       /* bcachefs */
}

static void check_ioctl(struct program *p, enum seccomp_world world)
{
    static const uint32_t refused[] = {
        TIOCSTI,   /* types into a terminal */
        0x541c,    /* TIOCLINUX: pastes into a console */
        TIOCSETD,  /* loads a line discipline */
        TIOCCONS,  /* takes the console's output */
    };

    load_argument(p, 1);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if_equal(p, refused[i], RETURN_FORBID, NEXT);
    if (world == WORLD_OWN)
        refuse_snapshots(p);
    else
        check_host_ioctl(p);
}

static void check_personality(struct program *p)
{
    /* The plain domain, its 32-bit name, 2.6's version number and fixed addresses (debuggers), and
     * the question which it is. What relaxes memory protection is not among them. */
    load_argument(p, 0);
    if_equal(p, 0xffffffff, RETURN_ALLOW, NEXT);
    if_any_bit(p, ~(uint32_t)(PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE), RETURN_FORBID,
               RETURN_ALLOW);
}

/*
 * In the host's world a unix socket would reach the host's daemons. A pair stays, but not of
 * datagrams: such a one can be sent to any address, although it is connected.
 */
static void check_pair(struct program *p)
{
    load_argument(p, 0);
    if_equal(p, AF_UNIX, NEXT, RETURN_FAMILY);
    load_argument(p, 1);
    emit(p, BPF_ALU | BPF_AND | BPF_K, 0xf, NEXT, NEXT); /* the rest are flags */
    if_equal(p, SOCK_STREAM, RETURN_ALLOW, NEXT);
    if_equal(p, SOCK_SEQPACKET, RETURN_ALLOW, RETURN_LOCAL);
}

static void check_socket(struct program *p, enum policy_forbidden action, enum seccomp_world world)
{
    load_argument(p, 0);
    if (world == WORLD_HOST || (world == WORLD_HOST_NET && action == FORBIDDEN_KILL_SOCKETS)) {
        if_equal(p, AF_UNIX, RETURN_LOCAL, RETURN_FAMILY);
        return;
    }
    if (action == FORBIDDEN_KILL_SOCKETS) {
        /* The C library asks a local daemon for user names: that is no network. */
        if_equal(p, AF_UNIX, RETURN_ALLOW, RETURN_FAMILY);
        return;
    }
    if_equal(p, AF_UNIX, world == WORLD_OWN ? (int)RETURN_ALLOW : (int)RETURN_LOCAL, NEXT);
    if_equal(p, AF_INET, RETURN_ALLOW, NEXT);
    if_equal(p, AF_INET6, RETURN_ALLOW, NEXT);
    if_equal(p, AF_NETLINK, NEXT, RETURN_FAMILY);
    load_argument(p, 2);
    if_equal(p, NETLINK_ROUTE, RETURN_ALLOW, RETURN_PROTOCOL);
}

/* Huge pages are in no resident size, and in no memory cgroup. */
static void check_huge(struct program *p, unsigned flags, uint32_t huge)
{
    load_argument(p, flags);
    if_any_bit(p, huge, RETURN_NOMEM, RETURN_ALLOW);
}

/* A socket that sends without a copy holds the sender's pages when the sender has them no more. */
static void check_option(struct program *p)
{
    load_argument(p, 1);
    if_equal(p, SOL_SOCKET, NEXT, RETURN_ALLOW);
    load_argument(p, 2);
    if_equal(p, SO_ZEROCOPY, RETURN_NOMEM, RETURN_ALLOW);
}

static void check_map(struct program *p, bool deny_memfd)
{
    if (!deny_memfd) {
        check_huge(p, 3, MAP_HUGETLB);
        return;
    }
    load_argument(p, 3);
    if_any_bit(p, MAP_HUGETLB, RETURN_NOMEM, NEXT);
    /* Shared and anonymous: it stays when no page table shows it any more. */
    emit(p, BPF_ALU | BPF_AND | BPF_K, MAP_SHARED | MAP_ANONYMOUS, NEXT, NEXT);
    if_equal(p, MAP_SHARED | MAP_ANONYMOUS, RETURN_ENOSYS, RETURN_ALLOW);
}

/*
 * Init shares the payload's user, so the kernel would let the payload lower init's limits or
 * starve it: its watcher would go blind. It is pid 1 to everybody inside.
 */
static void check_process(struct program *p, unsigned argument, enum seccomp_world world, int rest)
{
    load_argument(p, argument);
    if (world == WORLD_OWN)
        if_equal(p, 1, RETURN_FORBID, rest);
    else /* all the user's processes have a number here; 0 is the caller itself */
        if_equal(p, 0, rest, RETURN_DENIED);
}

/*
 * The limit on core files is 1, which stops the host's handler of crashes, a program of root's. 0
 * would not, and anybody may lower a limit: who wants no core file is told that there will be none.
 */
static void check_limit(struct program *p)
{
    load_argument(p, 0);
    if_equal(p, RLIMIT_CORE, RETURN_DONE, RETURN_ALLOW);
}

static void check_limit_of(struct program *p, enum seccomp_world world)
{
    check_process(p, 0, world, NEXT);
    load_argument(p, 1);
    if_equal(p, RLIMIT_CORE, NEXT, RETURN_ALLOW);
    load_argument(p, 2); /* the new one; a null pointer only asks */
    if_equal(p, 0, NEXT, RETURN_DONE);
    load_high_half(p, 2);
    if_equal(p, 0, RETURN_ALLOW, RETURN_DONE);
}

/* A gigabyte of the kernel's own memory by one call. Before 6.16 there was no such operation. */
static void check_prctl(struct program *p)
{
    load_argument(p, 0);
    if_equal(p, 78 /* PR_FUTEX_HASH */, RETURN_INVALID, RETURN_ALLOW);
}

static void check_fcntl(struct program *p)
{
    load_argument(p, 1);
    if_equal(p, F_SETLEASE, RETURN_DENIED, NEXT);
    if_equal(p, F_SETLEASE + 16, RETURN_DENIED, RETURN_ALLOW); /* F_SETDELEG, 6.19: a lease on a directory, too */
}

static void check_priority(struct program *p, uint32_t whole_user, enum seccomp_world world)
{
    load_argument(p, 0);
    if_equal(p, whole_user, RETURN_FORBID, NEXT);
    check_process(p, 1, world, RETURN_ALLOW); /* a process, or a process group: init leads its own */
}

static void emit_check(struct program *p, enum verdict verdict, const struct seccomp_choice *choice)
{
    const enum policy_forbidden action = choice->on_forbidden;
    const enum seccomp_world world = choice->world;

    if (!p->used[BLOCK + verdict])
        return;
    place(p, BLOCK + (int)verdict);
    switch (verdict) {
    case VERDICT_CLONE:
        load_argument(p, 0);
        if_any_bit(p, CLONE_ANY_NAMESPACE, RETURN_FORBID, RETURN_ALLOW);
        break;
    case VERDICT_IOCTL: check_ioctl(p, world); break;
    case VERDICT_PERSONALITY: check_personality(p); break;
    case VERDICT_SOCKET: check_socket(p, action, world); break;
    case VERDICT_PAIR: check_pair(p); break;
    case VERDICT_MAP: check_map(p, choice->deny_memfd); break;
    case VERDICT_MEMFD: check_huge(p, 1, MFD_HUGETLB); break;
    case VERDICT_SEGMENT: check_huge(p, 2, SHM_HUGETLB); break;
    case VERDICT_OPTION: check_option(p); break;
    case VERDICT_PROCESS: check_process(p, 0, world, RETURN_ALLOW); break;
    case VERDICT_LIMIT_0: check_limit(p); break;
    case VERDICT_LIMIT_1: check_limit_of(p, world); break;
    case VERDICT_FCNTL: check_fcntl(p); break;
    case VERDICT_PRCTL: check_prctl(p); break;
    case VERDICT_PRIORITY: check_priority(p, PRIO_USER, world); break;
    case VERDICT_IO_PRIORITY: check_priority(p, 3 /* IOPRIO_WHO_USER */, world); break;
    case VERDICT_MODE_1: check_mode(p, 1); break;
    case VERDICT_MODE_2: check_mode(p, 2); break;
    case VERDICT_NODE_1: check_node(p, 1); break;
    case VERDICT_NODE_2: check_node(p, 2); break;
    case VERDICT_OPEN_1: check_open(p, 1, world); break;
    case VERDICT_OPEN_2: check_open(p, 2, world); break;
    default: abort(); /* the others are returns, never blocks */
    }
}

/* --- the tree --- */

static int label_of(enum verdict verdict, const struct seccomp_choice *choice)
{
    const bool own = choice->world == WORLD_OWN;

    switch (verdict) {
    case VERDICT_ALLOW: return RETURN_ALLOW;
    case VERDICT_FORBID: return RETURN_FORBID;
    case VERDICT_ABSENT: return RETURN_ENOSYS;
    case VERDICT_PROOF: return RETURN_PROOF;
    case VERDICT_UNSEEN: return choice->deny_memfd ? RETURN_ENOSYS : RETURN_ALLOW;
    case VERDICT_QUEUE: return choice->deny_memfd || !own ? RETURN_ENOSYS : RETURN_ALLOW;
    case VERDICT_IPC:
    case VERDICT_WATCH: return own ? RETURN_ALLOW : RETURN_ENOSYS;
    case VERDICT_ATTRIBUTE: return own ? RETURN_ALLOW : RETURN_DENIED;
    case VERDICT_CHMOD_1: return own ? (int)(BLOCK + VERDICT_MODE_1) : (int)RETURN_DENIED;
    case VERDICT_CHMOD_2: return own ? (int)(BLOCK + VERDICT_MODE_2) : (int)RETURN_DENIED;
    case VERDICT_PAIR: return BLOCK + (own ? (int)VERDICT_SOCKET : (int)VERDICT_PAIR);
    case VERDICT_PINNING: return choice->deny_memfd ? RETURN_INVALID : RETURN_ALLOW;
    case VERDICT_OPTION:
    case VERDICT_PRCTL: return choice->deny_memfd ? (int)(BLOCK + verdict) : (int)RETURN_ALLOW;
    case VERDICT_MEMFD: return choice->deny_memfd ? (int)RETURN_ENOSYS : (int)(BLOCK + verdict);
    case VERDICT_SEGMENT: return choice->deny_memfd || !own ? (int)RETURN_ENOSYS : (int)(BLOCK + verdict);
    default: return BLOCK + (int)verdict;
    }
}

static void add_range(struct range *ranges, size_t *count, uint32_t first, int target)
{
    if (*count > 0 && ranges[*count - 1].target == target)
        return;
    assert(*count < MAX_RANGES);
    ranges[(*count)++] = (struct range){first, target};
}

static size_t make_ranges(struct range ranges[MAX_RANGES], const struct seccomp_choice *choice,
                          const struct architecture *arch)
{
    enum verdict table[MAX_CALL];
    size_t count = 0;

    fill_table(table, choice->level, arch);
    for (uint32_t number = 0; number < MAX_CALL; number++)
        add_range(ranges, &count, number, label_of(table[number], choice));
    add_range(ranges, &count, MAX_CALL, RETURN_ENOSYS);
    if (arch->has_x32 && choice->on_forbidden == FORBIDDEN_KILL) {
        /* Not beyond: a debugger skips a call by making its number -1. */
        add_range(ranges, &count, X32_FIRST, RETURN_FOREIGN);
        add_range(ranges, &count, X32_LAST + 1, RETURN_ENOSYS);
    }
    return count;
}

/* The label that decides among these ranges: a target itself, or a node emitted for it. */
static void emit_tree(struct program *p, const struct range *ranges, size_t count, int label)
{
    size_t half = count / 2;
    int low = half == 1 ? ranges[0].target : TREE + p->nodes++;
    int high = count - half == 1 ? ranges[half].target : TREE + p->nodes++;

    assert(count >= 2);
    place(p, label);
    emit(p, BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, high, low);
    if (half > 1)
        emit_tree(p, ranges, half, low);
    if (count - half > 1)
        emit_tree(p, ranges + half, count - half, high);
}

static uint32_t value_of(int label, const struct seccomp_choice *choice)
{
    const enum policy_forbidden action = choice->on_forbidden;
    const uint32_t error = SECCOMP_RET_ERRNO, death = SECCOMP_RET_KILL_PROCESS;

    switch (label) {
    case RETURN_ALLOW: return SECCOMP_RET_ALLOW;
    case RETURN_ENOSYS: return error | ENOSYS;
    case RETURN_FORBID: return action == FORBIDDEN_KILL ? death : error | EPERM;
    case RETURN_FOREIGN: return action == FORBIDDEN_KILL ? death : error | ENOSYS;
    case RETURN_FAMILY: return action == FORBIDDEN_ERRNO ? error | EAFNOSUPPORT : death;
    case RETURN_PROTOCOL: return action == FORBIDDEN_ERRNO ? error | EPROTONOSUPPORT : death;
    case RETURN_LOCAL: return error | EAFNOSUPPORT;
    case RETURN_DENIED: return error | EPERM;
    case RETURN_NOMEM: return error | ENOMEM;
    case RETURN_DONE: return error; /* of no error */
    case RETURN_INVALID: return error | EINVAL;
    case RETURN_PROOF: return error | (SECCOMP_PROOF_ERRNO + seccomp_variant(choice));
    case RETURN_NOTIFY: return SECCOMP_RET_USER_NOTIF;
    default: abort();
    }
}

static void begin(struct program *p, const struct range *ranges, size_t count, const struct architecture *arch)
{
    memset(p, 0, sizeof *p);
    load(p, offsetof(struct seccomp_data, arch));
    if_equal(p, arch->audit, NEXT, RETURN_FOREIGN);
    load(p, offsetof(struct seccomp_data, nr));
    emit_tree(p, ranges, count, TREE + p->nodes++);
}

static void emit_returns(struct program *p, const struct seccomp_choice *choice)
{
    for (int label = RETURN_ALLOW; label <= LAST_RETURN; label++) {
        if (!p->used[label])
            continue;
        place(p, label);
        emit(p, BPF_RET | BPF_K, value_of(label, choice), NEXT, NEXT);
    }
}

static void build(struct program *p, const struct seccomp_choice *choice,
                  const struct architecture *arch)
{
    struct range ranges[MAX_RANGES];
    begin(p, ranges, make_ranges(ranges, choice, arch), arch);
    for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
        emit_check(p, (enum verdict)verdict, choice);
    emit_returns(p, choice);
}

/* --- programs with a listener --- */

#define WATCHED_NOTIFY RETURN_NOTIFY
#define WATCHED_ABSENT RETURN_ENOSYS
#define WATCHED_OPEN_1 (BLOCK + VERDICT_OPEN_1)
#define WATCHED_OPEN_2 (BLOCK + VERDICT_OPEN_2)

static const struct {
    const char *name;
    unsigned set;
    int label;
} watched[] = {
#define WATCHED(name, set, when) {#name, LISTEN_##set, WATCHED_##when},
#include "layer/filter/watched.def"
};

/* Foreign numbers for the same calls do not exist here, also where there is no other filter. */
static void build_listener(struct program *p, unsigned set, const struct architecture *arch)
{
    static const struct seccomp_choice plain = {.on_forbidden = FORBIDDEN_ERRNO};
    struct range ranges[MAX_RANGES];
    int labels[MAX_CALL];
    size_t count = 0;
    for (size_t i = 0; i < MAX_CALL; i++)
        labels[i] = RETURN_ALLOW;
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        int number = number_of(watched[i].name, arch);
        if (number >= 0 && (watched[i].set & set) != 0)
            labels[number] = watched[i].label;
    }
    for (uint32_t number = 0; number < MAX_CALL; number++)
        add_range(ranges, &count, number, labels[number]);
    if (arch->has_x32) {
        add_range(ranges, &count, X32_FIRST, RETURN_ENOSYS);
        add_range(ranges, &count, X32_LAST + 1, RETURN_ALLOW);
    }
    begin(p, ranges, count, arch);
    for (unsigned flags = 1; flags <= 2; flags++) {
        const int block = flags == 1 ? WATCHED_OPEN_1 : WATCHED_OPEN_2;
        if (!p->used[block])
            continue;
        place(p, block);
        load_argument(p, flags);
        if_any_bit(p, O_ACCMODE | O_TRUNC | OPEN_MAKES_A_FILE, RETURN_NOTIFY, RETURN_ALLOW);
    }
    emit_returns(p, &plain);
}

static size_t distance(const struct program *p, size_t from, int label)
{
    if (label == NEXT)
        return 0;
    assert(p->place[label] > from); /* the kernel has no backward jumps */
    assert(p->place[label] - from - 1 <= UINT8_MAX);
    return p->place[label] - from - 1;
}

static void print(const struct program *p, const char *kind, unsigned variant)
{
    printf("static const struct sock_filter %s_%u[] = {\n", kind, variant);
    for (size_t i = 0; i < p->count; i++) {
        const struct instruction *item = &p->items[i];
        printf("    {0x%02x, %zu, %zu, 0x%08x},\n", item->code, distance(p, i, item->yes),
               distance(p, i, item->no), item->k);
    }
    printf("};\n\n");
}

int main(int argc, char **argv)
{
    static struct program program;
    const struct architecture *arch = NULL;

    for (size_t i = 0; argc == 2 && i < sizeof architectures / sizeof architectures[0]; i++)
        if (strcmp(architectures[i].name, argv[1]) == 0)
            arch = &architectures[i];
    if (arch == NULL)
        die("no such architecture", argc == 2 ? argv[1] : "none given");

    printf("/* Written by gen.c for %s from calls.def: do not edit. */\n", arch->name);
    printf("#ifndef %s\n#error \"made for another architecture\"\n#endif\n\n", arch->predefine);
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        struct seccomp_choice choice = seccomp_choice_of(variant);
        build(&program, &choice, arch);
        print(&program, "program", variant);
    }
    for (unsigned set = 1; set < LISTEN_SETS; set++) {
        build_listener(&program, set, arch);
        print(&program, "listener", set);
    }
    printf("static const struct sock_fprog programs[SECCOMP_VARIANTS] = {\n");
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++)
        printf("    PROGRAM(program_%u),\n", variant);
    printf("};\n\nstatic const struct sock_fprog listeners[LISTEN_SETS] = {\n");
    for (unsigned set = 1; set < LISTEN_SETS; set++)
        printf("    [%u] = PROGRAM(listener_%u),\n", set, set);
    printf("};\n");
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}
