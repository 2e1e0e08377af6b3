/*
 * What was read back from the kernel after applying, one bit each. The plan says which proofs a
 * claim needs; the processes inside set them; the ledger is written from both.
 */
#pragma once

enum proof {
    PROOF_USERNS = 1 << 0,     /* an id map could be written */
    PROOF_MOUNTNS = 1 << 1,    /* the root was changed by pivot_root(), and the old one is gone */
    PROOF_PIDNS = 1 << 2,      /* init is pid 1 */
    PROOF_IPCNS = 1 << 3,      /* another inode than the caller's */
    PROOF_NETNS = 1 << 4,
    PROOF_NET_QUIET = 1 << 5,  /* no interface is up, but lo where loopback was asked for */
    PROOF_READONLY = 1 << 6,   /* the root and every read-only bind say ST_RDONLY */
    PROOF_DEVICES = 1 << 7,    /* /dev is our own file system, holding our list */
    PROOF_LANDLOCK = 1 << 8,   /* an open that nothing else refuses was refused */
    PROOF_SECCOMP = 1 << 9,    /* a call that only our filter answers so was answered so */
    PROOF_NO_CAPS = 1 << 10,   /* four sets empty; the bounding set has a proof of its own */
    PROOF_NO_NEW_PRIVS = 1 << 11,
    PROOF_IDENTITY = 1 << 12,  /* uid and gid as planned, host uid not 0 */
    PROOF_NOFILE = 1 << 13,
    PROOF_NPROC = 1 << 14,
    PROOF_KEYRING = 1 << 15,   /* another session keyring than the caller's */
    PROOF_INIT_SEALED = 1 << 16, /* init is not dumpable and holds no environment */
    PROOF_CGROUP = 1 << 17,    /* init entered it; limits read back */
    PROOF_WATCHER = 1 << 18,   /* the process list can be read, shown on init; the host's, on one that is sealed */
    PROOF_EMPTY = 1 << 19,     /* at the end: init was the last process of its namespace */
    PROOF_TIMER = 1 << 20,     /* at the end: init was reaped, and not long after limit and grace */
    PROOF_NO_NESTING = 1 << 21, /* no user namespace can be made inside: the limit reads back as 0 */
    PROOF_GATE = 1 << 22,      /* a fork asked init and got its answer */
    PROOF_LISTENER = 1 << 23,  /* a call that would write was answered by the listener */
    PROOF_MAPPED = 1 << 24,    /* root, guard mode: where the run works, owners are mapped */
    PROOF_HIDDEN = 1 << 25,    /* every name that was there to be hidden is missing or covered */
    PROOF_INNER_SEALED = 1 << 26, /* bwrap's pid 1, which has no filter, is covered in /proc */
    PROOF_BOUNDING = 1 << 27,  /* the bounding set is empty */
    PROOF_SIGHT = 1 << 28,     /* bare: a process that lets nobody look into it is seen, and so can be counted */
    PROOF_SMALL_PAGES = 1 << 29, /* no memory comes in huge pages */
};
