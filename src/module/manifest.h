/*
 * module.json, read strictly: what a module is called, what runs, and what it asks for.
 *
 *   {"id": "text.wordcount", "command": ["python3", "{module}/main.py"]   or   "library": "x.so",
 *    "description": "...", "effects": [...], "limits": {...}}
 *
 * Effects and limits are requests; who calls the module decides (module/request.h).
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "policy/policy.h"

#define MANIFEST_MAX_BYTES POLICY_MAX_BYTES
#define MANIFEST_MAX_WORDS 256 /* of a command */

#define MODULE_EXIT_UNLOADED 44 /* the exit status if a module is missing or cannot be loaded */

struct manifest {
    const char *id;
    const char *description; /* NULL: it has none */
    const char **command;    /* NULL-terminated; NULL: a library module */
    size_t command_count;
    const char *library;     /* a file in the module's directory; NULL: a command module */
    const struct json *effects, *limits; /* NULL: nothing is asked for */
};

/* Lives in `arena`. `id` is the name of the directory, which the manifest must repeat. */
int manifest_read(struct manifest *out, struct arena *arena, const char *id, const char *text,
                  size_t len, struct cordon_error *err);

/* What the manifest asks for, onto a policy that is the caller's. */
int manifest_ask(const struct manifest *manifest, struct policy *policy, struct arena *arena,
                 struct cordon_error *err);

/* NULL, or what is wrong with a module's id: lower-case identifiers with dots, at most 128 bytes. */
const char *module_id_wrong(const char *id);
