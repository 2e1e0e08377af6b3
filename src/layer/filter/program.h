/*
 * A program while it is put together: instructions that jump to labels. Of the generator, at build time.
 */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "layer/filter/variant.h"

#define MAX_INSTRUCTIONS 256 /* a conditional jump reaches 255 further */
#define MAX_RANGES 256

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

_Noreturn static inline void die(const char *what, const char *subject)
{
    fprintf(stderr, "gen: %s: %s\n", what, subject);
    exit(1);
}

static inline void place(struct program *p, int label)
{
    p->place[label] = p->count;
}

static inline void emit(struct program *p, int code, uint32_t k, int yes, int no)
{
    if (p->count == MAX_INSTRUCTIONS)
        die("program too long", "raise the merging, not the limit");
    p->items[p->count++] = (struct instruction){(uint16_t)code, k, yes, no};
    p->used[yes] = p->used[no] = true;
}

static inline void load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, NEXT, NEXT);
}

/* The low half: both architectures are little-endian. */
static inline void load_argument(struct program *p, unsigned index)
{
    load(p, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static inline void load_high_half(struct program *p, unsigned index)
{
    load(p, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t) + sizeof(uint32_t));
}

static inline void if_equal(struct program *p, uint32_t k, int yes, int no)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, k, yes, no);
}

static inline void if_any_bit(struct program *p, uint32_t k, int yes, int no)
{
    emit(p, BPF_JMP | BPF_JSET | BPF_K, k, yes, no);
}
