/*
 * One run, from the first clone to the last word of init.
 *
 *   supervisor ──clone──> init (pid 1) ──clone, shared memory──> payload process ──exec──> command
 *
 * init builds namespaces and mounts, the payload process meanwhile makes the network namespace and
 * gives up its rights; init releases it when everything that was promised has been read back. What
 * the two find out lies in one page that they share with the supervisor and that ends for the
 * payload with exec: there is no descriptor that could leak.
 *
 * Between clone and exec nothing allocates, locks, or touches errno.
 */
#pragma once

#include "base/error.h"
#include "layer/bwrap.h"
#include "layer/cgroup.h"
#include "layer/identity.h"
#include "layer/mounts.h"
#include "layer/namespaces.h"
#include "plan/plan.h"
#include "supervisor/latch.h"
#include "supervisor/terminal.h"

enum limit_hit { HIT_NONE, HIT_MEMORY, HIT_CPU, HIT_BLIND };

/* The shared page. Its first words are latches. */
struct shared {
    uint32_t mapped;   /* supervisor -> init: the id maps are written (root only) */
    uint32_t unshared; /* init -> payload: the namespaces exist that it is to join */
    uint32_t joined;   /* payload -> init: it is in those, and in a network namespace of its own */
    uint32_t released; /* init -> payload: go, as soon as the old root is gone */
    uint32_t left;     /* init -> payload: it is */
    uint32_t worded;   /* supervisor -> payload: bwrap's arguments are written */
    uint64_t root;     /* init's, as layer_mounts_root() tells it: the payload's must be the same */

    bool failed; /* init gave up before the payload was released */
    struct cordon_error error;
    bool payload_failed; /* the payload process gave up before exec */
    struct cordon_error payload_error;

    uint32_t proof;  /* enum proof, by init and payload in turn */
    int listen_errno; /* why nobody listens; 0: somebody does, or nobody was asked to */
    bool keys_shared; /* no session keyring of its own: the key quota is used up */
    bool executing;  /* the payload got as far as execve() */
    int exec_errno;  /* and this is what the last candidate answered; 0: it runs */
    bool interpreter; /* the file is there, what it names in its first line is not */

    bool ended;      /* init saw the end of the payload */
    int status;      /* as of waitpid() */
    uint64_t processes;
    enum limit_hit hit;
    uint64_t mem_peak; /* by the watcher; 0: it did not run */
    uint64_t unnamed;  /* bare: writes that the listener could not be told of */
};

#define SPAWN_STACK (64 * 1024) /* not on the caller's own, which may be small */

struct spawn {
    const struct plan *plan;            /* borrowed */
    const struct layer_cgroup *cgroup;  /* borrowed; NULL: none */
    bool born_inside;                   /* init is in the cgroup of v2 by its birth */
    struct shared *shared;              /* owned; mapped shared */
    char *stack;                        /* owned; of the payload process until exec */
    struct layer_identity identity;
    const struct layer_bwrap *bwrap;    /* borrowed; NULL: not by that backend */
    const struct layer_trees *trees;    /* borrowed; mounts made with root's rights; NULL: none */
    struct layer_cover cover;           /* init's; what is hidden */
    int *keep;                          /* borrowed; the descriptors that init needs, sorted */
    size_t keep_count;
    int stdio[3]; /* owned; what the payload gets as 0, 1, 2 */
    int life;     /* owned; read end: its end means that the supervisor is gone */
    int gate_socket; /* bare: over which init gets the listener from the payload process; -1: none */
    struct terminal terminal;
    int listen_socket; /* borrowed; over which the listener of guard mode gets its descriptor; -1: none */
    int ruleset;  /* init makes it for both; -1: none */
    bool death_signal; /* ask the kernel for one, too: only if no thread may end before the run */
    bool quick_end;    /* leave the end of the mounts to the kernel, look before sleeping: answers sooner, costs throughput */
    struct {
        char *start; /* the caller's words, to be wiped in init; NULL: none */
        size_t size;
    } arguments;

    /* what start() gives */
    int pid; /* init's */
    int pidfd;   /* owned */
    int control; /* owned; write end of life: a byte is a signal for everything inside */
};

/* The two children. */
_Noreturn void spawn_init(struct spawn *s);
int spawn_payload(void *spawn);

/*
 * Clones init, with all signals blocked. The caller has made stdio, cgroup and trees, and closes stdio
 * afterwards; what this made is the caller's to release, also after a failure.
 */
int spawn_start(struct spawn *s, struct cordon_error *err);
