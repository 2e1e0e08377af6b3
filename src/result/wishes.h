/* How the caller of a run wants its streams and signals handled, whatever backend it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct result_violation;

/* What a run has used so far. */
struct run_usage {
    uint64_t elapsed_us, cpu_us;
    uint64_t memory_bytes; /* resident, and not shared with files */
};

struct run_wishes {
    int input;          /* borrowed; pumped into standard input; -1: the payload gets /dev/null */
    int output[2];      /* borrowed; where standard output and error pass on to; -1: nowhere */
    bool capture;       /* keep both streams in the result, up to the cap */
    void (*before_output)(void *user); /* called before something is passed on; NULL: nobody minds */
    void *user;
    bool ledger;        /* the result is to hold the ledger: somebody will read it */
    /* Each distinct violation when it happens, from step(); NULL: nobody wants to know so soon. */
    void (*on_violation)(void *context, const struct result_violation *violation);
    void *on_violation_context;
    int signals;        /* borrowed; readable when a signal is to be passed on; -1: none */
    int (*next_signal)(int signals); /* with it: which one; 0: none */
    bool death_signal;  /* the kernel may be asked to end the run with this thread, too */
    bool quick_end;     /* leave what can wait to the kernel: answers sooner, costs throughput */
    char *arguments;    /* the caller's own argument block, to be wiped in init; NULL: none */
    size_t arguments_size;
    bool last;          /* this process ends soon: memory and descriptors are the kernel's to take back */
};
