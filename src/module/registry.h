/*
 * Where modules are: each is a directory beneath the extensions root, named by its id, with a
 * module.json. Nothing is reached by a link: the root is resolved once, below it every name is
 * opened by the descriptor of its directory.
 */
#pragma once

#include "module/manifest.h"

#define MODULE_MARK "{module}"         /* in a word of a command: the module's directory */
#define MODULE_WORD_MAX (128 * 1024 - 1) /* the kernel's own limit for one word, less its end */

struct module_root {
    int fd;           /* owned */
    const char *path; /* absolute, without links; in the arena */
};
#define MODULE_ROOT_INIT ((struct module_root){.fd = -1})

struct module {
    const char *dir; /* absolute path on the host; in the arena */
    struct manifest manifest;
};

/* `given` (an option), else $APCORE_EXTENSIONS_ROOT, else ./extensions. */
int module_root_open(struct module_root *root, struct arena *arena, const char *given,
                     char *const *env, struct cordon_error *err);
void module_root_close(struct module_root *root);

/* A bad id is kind USAGE; whatever else keeps the module from being used is kind MODULE. */
int module_find(struct module *out, const struct module_root *root, const char *id,
                struct arena *arena, struct cordon_error *err);

/*
 * Every directory in the root that has the name of a module, sorted: `see` gets the module, or NULL
 * and the reason why it cannot be used. Entries of other names are none of ours.
 */
typedef void module_see_fn(void *context, const char *id, const struct module *module,
                           const struct cordon_error *err);
int module_each(const struct module_root *root, struct arena *arena, module_see_fn *see,
                void *context, struct cordon_error *err);
