#include "layer/filter/checks.h"

#include <linux/netlink.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CLONE_ANY_NAMESPACE                                                          \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
     CLONE_NEWPID | CLONE_NEWNET)

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

static void if_among(struct program *p, const uint32_t *values, size_t count, int yes)
{
    for (size_t i = 0; i < count; i++)
        if_equal(p, values[i], yes, NEXT);
}

#define IF_AMONG(p, values, yes) if_among(p, values, sizeof(values) / sizeof(values)[0], yes)

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
    IF_AMONG(p, of_files, RETURN_ALLOW);
    emit(p, BPF_ALU | BPF_AND | BPF_K, 0xff00, NEXT, NEXT); /* the type */
    if_equal(p, 0x8900, RETURN_ALLOW, NEXT);
    if_equal(p, 'T' << 8, RETURN_ALLOW, RETURN_DENIED);
}

/*
 * Requests to a whole file system by a file that is only open for reading, however it is mounted. The key of an encrypted
 * directory is the caller's by his number, which the payload has on the host: it could lock his home, or leave a key there.
 */
static void refuse_keys(struct program *p)
{
    static const uint32_t refused[] = {
        0x800c6613, /* FS_IOC_SET_ENCRYPTION_POLICY */
        0xc0506617, /* FS_IOC_ADD_ENCRYPTION_KEY */
        0xc0406618, /* FS_IOC_REMOVE_ENCRYPTION_KEY */
        0xc0406619, /* FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS */
    };
    IF_AMONG(p, refused, RETURN_DENIED);
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
    IF_AMONG(p, refused, RETURN_FORBID);
    if (world == WORLD_OWN) {
        refuse_keys(p);
        refuse_snapshots(p);
    } else {
        check_host_ioctl(p);
    }
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

/* Huge pages again, and a gigabyte of the kernel's own memory by one call (before 6.16 there was no such operation). */
static void check_prctl(struct program *p)
{
    load_argument(p, 0);
    if_equal(p, PR_SET_THP_DISABLE, RETURN_INVALID, NEXT);
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

void checks_emit(struct program *p, enum verdict verdict, const struct seccomp_choice *choice)
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
