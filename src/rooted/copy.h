/* Copying one entry or a tree, by descriptors. */
#pragma once

#include "base/buf.h"
#include "rooted/descriptor.h"
#include "rooted/root.h"

struct copy {
    struct cordon_root *root;        /* borrowed */
    const struct resolve_base *base; /* of the source; borrowed; for links that are followed */
    struct cordon_root_cp_options options;
    bool locked; /* the caller holds the writer's lock of the one name that is replaced */
    bool moving; /* the source goes afterwards: what is made is new (else -EEXIST), our own until it is complete,
                    and gets the owner, the attributes and the ACL as well, as far as they can be given */
    struct stat source; /* as it was before it was copied */
    struct copier copier;
    uint64_t entries, bytes;
    struct buf where; /* beneath the source: what failed */
    struct buf source_name; /* of the source beneath its base */
};
void copy_release(struct copy *c);

/* Beside -errno and RESOLVE_*. */
#define COPY_EXISTS (-4200)      /* kept, and that is an error */
#define COPY_SAME (-4201)        /* onto or into itself */
#define COPY_IS_DIR (-4202)      /* a directory, and not recursive */
#define COPY_ONTO_DIR (-4203)    /* something else onto a directory */
#define COPY_ONTO_OTHER (-4204)  /* a directory onto something else */
#define COPY_UNSUPPORTED (-4205) /* neither file, directory nor link */

/* `from` may be a link only if options.dereference is not set. 0 or a negative number. */
int copy_entry(struct copy *c, const struct resolve_place *from, const struct resolve_place *to);

/* What is below the source that it failed at; "" is the source itself. Owned by the copy. */
const char *copy_failed_at(struct copy *c);

/* Content and permission bits of one open file to a place, replacing what is there; in place where
 * it cannot be replaced. */
int copy_file_to(struct copy *c, int from, const struct stat *st, int dir, const char *name);

/* The same into a file that is open for writing, in place. */
int copy_file_into(struct copy *c, int from, const struct stat *st, int to);
