/*
 * What the generator of the programs and the layer that loads them must agree on: the verdicts of
 * calls.def and the numbering of the variants.
 */
#pragma once

#include <stdbool.h>

#include "policy/policy.h"

enum verdict {
    VERDICT_ABSENT, /* what is not listed: the generator's table starts as zeros */
    VERDICT_ALLOW,
    VERDICT_FORBID,
    VERDICT_UNSEEN,
    VERDICT_PROOF,
    VERDICT_CLONE,
    VERDICT_IOCTL,
    VERDICT_PERSONALITY,
    VERDICT_SOCKET,
    VERDICT_PAIR,
    VERDICT_MAP,      /* no huge pages; shared memory without a file: as UNSEEN */
    VERDICT_MEMFD,    /* as UNSEEN, and never of huge pages */
    VERDICT_SEGMENT,  /* as QUEUE, and never of huge pages */
    VERDICT_OPTION,   /* with deny_memfd no socket that pins its sender's pages */
    VERDICT_PRCTL,    /* with deny_memfd no table of futexes of the size that one likes */
    VERDICT_PINNING,  /* EINVAL with deny_memfd, as for a file that cannot do it; else ALLOW */
    VERDICT_PROCESS,  /* argument 0 is a process: any but init; in the host's world only 0 */
    VERDICT_LIMIT_0,  /* the number is the argument that names a limit: the one on core files stays */
    VERDICT_LIMIT_1,  /* the same, of a process as above; asking is free */
    VERDICT_FCNTL,    /* no leases */
    VERDICT_PRIORITY, /* argument 0 says what argument 1 names: no whole user, and not init */
    VERDICT_IO_PRIORITY,
    VERDICT_OPEN_1, /* the number is the argument that holds the flags; the mode follows it */
    VERDICT_OPEN_2,
    VERDICT_MODE_1, /* ... that holds the mode; behind OPEN_1, which leads to MODE_2 */
    VERDICT_MODE_2,
    VERDICT_CHMOD_1, /* the same; EPERM in the host's world */
    VERDICT_CHMOD_2,
    VERDICT_NODE_1,
    VERDICT_NODE_2,
    VERDICT_QUEUE,    /* System V objects: as UNSEEN, and ABSENT in the host's world */
    VERDICT_IPC,      /* ABSENT in the host's world, else ALLOW */
    VERDICT_WATCH,    /* the same: names of hidden files would be told */
    VERDICT_ATTRIBUTE, /* EPERM in the host's world: Landlock does not see it; else ALLOW */
    VERDICT_COUNT,
};

/*
 * Whose names the payload's calls speak of. Without namespaces other processes, unix sockets, ipc
 * objects and the metadata of files are the host's, and only the filter stands before them.
 */
enum seccomp_world {
    WORLD_OWN,      /* namespaces */
    WORLD_HOST,     /* none of its own, and no network */
    WORLD_HOST_NET, /* none of its own, and the network is the host's by choice */
    WORLD_COUNT,
};

/* A later dimension is a field here and a factor below. */
struct seccomp_choice {
    enum policy_seccomp level;
    enum policy_forbidden on_forbidden;
    bool deny_memfd; /* there is no memory cgroup: memory that no resident size shows is ENOSYS */
    enum seccomp_world world;
};

#define SECCOMP_LEVELS 2 /* SECCOMP_OFF has no program */
#define SECCOMP_ACTIONS 3
#define SECCOMP_VARIANTS (SECCOMP_LEVELS * SECCOMP_ACTIONS * WORLD_COUNT * 2)

static inline unsigned seccomp_variant(const struct seccomp_choice *choice)
{
    unsigned variant = (unsigned)choice->level;
    variant = variant * SECCOMP_ACTIONS + (unsigned)choice->on_forbidden;
    variant = variant * WORLD_COUNT + (unsigned)choice->world;
    return variant * 2 + (choice->deny_memfd ? 1 : 0);
}

static inline struct seccomp_choice seccomp_choice_of(unsigned variant)
{
    return (struct seccomp_choice){
        .level = (enum policy_seccomp)(variant / 2 / WORLD_COUNT / SECCOMP_ACTIONS),
        .on_forbidden = (enum policy_forbidden)(variant / 2 / WORLD_COUNT % SECCOMP_ACTIONS),
        .world = (enum seccomp_world)(variant / 2 % WORLD_COUNT),
        .deny_memfd = variant % 2 != 0,
    };
}

/* Programs of their own, beside the above: which calls wait for an answer. Bits. */
enum listen_set { LISTEN_FORKS = 1, LISTEN_WRITES = 2, LISTEN_SETS = 4 };

/* The proof call of variant v answers this plus v: far above what a kernel gives, and below 4096,
 * where results stop being errors. */
#define SECCOMP_PROOF_ERRNO 3900
