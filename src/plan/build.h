/* The compiler's own parts; only src/plan includes this. */
#pragma once

#include "plan/plan.h"
#include "sys/landlock.h"

/* What a Landlock rule grants on a tree. */
#define RULE_READ (LL_EXECUTE | LL_READ_FILE | LL_READ_DIR)
#define RULE_WRITE                                                                            \
    (LL_WRITE_FILE | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG |             \
     LL_MAKE_SOCK | LL_MAKE_FIFO | LL_MAKE_SYM | LL_REFER | LL_TRUNCATE)

struct plan_build {
    struct plan *plan;
    struct arena *arena;
    const struct plan_request *request;
    struct policy policy; /* the request's, less what a test switched off */
    struct cordon_error *err;
};

int plan_build_files(struct plan_build *b);   /* steps and Landlock rules */
int plan_build_hide(struct plan_build *b);    /* which names are hidden in which tree */
int plan_build_payload(struct plan_build *b); /* command, environment, cwd, rlimits, filter */
void plan_build_limits(struct plan_build *b); /* which rung of each ladder */
int plan_build_claims(struct plan_build *b);  /* the ledger's side; decides on partial */

/* The same for the tier without namespaces. */
int plan_build_bare_files(struct plan_build *b);
void plan_bare_claims(struct plan_build *b);
/* False where the words are those of the first tier. */
bool plan_bare_details(const struct plan *plan, enum capability c, struct plan_words *out);
int plan_bare_refusal(struct plan_build *b, enum capability missing);

/* The host's trees that a policy makes writable: those that it lists, the current directory, and /work. NULL: not that one. */
static inline size_t plan_writable_trees(const struct plan_build *b)
{
    return b->policy.rw.count + 2;
}
const char *plan_writable_tree(const struct plan_build *b, size_t i);

/* What stands for /work where the payload sees the host's own paths. */
char **plan_work_environment(struct plan_build *b, char **envp);
const char *plan_work_directory(struct plan_build *b);

/* The same for bwrap, which makes the tree of the first tier in its own way. */
void plan_bwrap_claims(struct plan_build *b);
bool plan_bwrap_details(const struct plan *plan, enum capability c, struct plan_words *out);

/* Sockets in the file system, which are reached by whoever can name them: words, or "". */
const char *plan_named_sockets(const struct policy *policy);
/* What a policy that inherits the environment means for it. */
const char *plan_inherited(const struct policy *policy);
/* What a forbidden call does: "fails", ... */
const char *plan_forbidden(const struct plan *plan);

/* The same for the backends that know only POSIX. */
int plan_build_portable_files(struct plan_build *b);
void plan_portable_claims(struct plan_build *b);

/* A bind that no backend without mounts can give; -EOPNOTSUPP. */
int plan_refuse_elsewhere(struct plan_build *b, const char *path, const char *why);

static inline void claim_holds(struct plan_claim *c, const char *mechanism, uint32_t proof)
{
    *c = (struct plan_claim){.requested = c->requested, .mechanism = mechanism, .proof = proof};
}

static inline void claim_cannot(struct plan_claim *c, const char *why)
{
    *c = (struct plan_claim){.requested = c->requested, .why = why};
}

/* Something weaker than what the capability claims: not applied, and said. */
static inline void claim_partly(struct plan_claim *c, const char *instead, uint32_t proof, const char *why)
{
    *c = (struct plan_claim){.requested = c->requested, .instead = instead, .proof = proof, .why = why};
}

/* -EINVAL if the caller's directory must not become writable as a whole. */
int plan_check_cwd(struct plan_build *b);

/* A read-only bind of what the toolchain's links show at that very place. */
bool plan_shown_by_system(const struct plan_build *b, const struct policy_bind *bind);

/* Says that memory ran out. */
int plan_no_memory(struct plan_build *b);

static inline bool plan_off(const struct plan_build *b, enum capability c)
{
    return (b->request->host->off_capabilities >> c & 1) != 0;
}
