#include "root.h"

#include <stdlib.h>

struct addon *addon_of(napi_env env)
{
    void *addon = NULL;
    napi_get_instance_data(env, &addon);
    return addon;
}

struct addon *addon_hold(struct addon *addon)
{
    atomic_fetch_add(&addon->users, 1);
    return addon;
}

void addon_drop(struct addon *addon)
{
    if (atomic_fetch_sub(&addon->users, 1) == 1)
        free(addon);
}

struct root *root_hold(struct root *root)
{
    atomic_fetch_add(&root->users, 1);
    return root;
}

void root_drop(struct root *root)
{
    if (root == NULL || atomic_fetch_sub(&root->users, 1) > 1)
        return;
    cordon_root_close(root->root);
    addon_drop(root->addon);
    free(root);
}

struct root *root_of(napi_env env, napi_value value)
{
    void *root = NULL;
    if (napi_get_value_external(env, value, &root) != napi_ok)
        napi_throw_type_error(env, "ERR_INVALID_THIS", "this is not a SandboxedFilesystem");
    return root;
}

static void finalize(napi_env env, void *root, void *hint)
{
    (void)env, (void)hint;
    root_drop(root);
}

/* The texts of the options, for as long as the library looks at them. */
struct texts {
    struct text home, rootfs, scratch, scratch_alias, host, sync_dir, rustic_repo;
    char **aliases;
    size_t alias_count;
};

static bool read_texts(napi_env env, napi_value o, struct texts *t)
{
    napi_value aliases = value_named(env, o, "homeAliases");
    bool is_list = false;
    napi_is_array(env, aliases, &is_list);
    return value_text(env, value_named(env, o, "path"), &t->home) &&
           value_text(env, value_named(env, o, "rootfs"), &t->rootfs) &&
           value_text(env, value_named(env, o, "scratch"), &t->scratch) &&
           value_text(env, value_named(env, o, "scratchAlias"), &t->scratch_alias) &&
           value_text(env, value_named(env, o, "host"), &t->host) &&
           value_text(env, value_named(env, o, "syncDir"), &t->sync_dir) &&
           value_text(env, value_named(env, o, "rusticRepo"), &t->rustic_repo) &&
           (!is_list || value_list(env, aliases, &t->aliases, &t->alias_count));
}

static void free_texts(struct texts *t)
{
    struct text *const all[] = {&t->home, &t->rootfs,   &t->scratch,    &t->scratch_alias,
                                &t->host, &t->sync_dir, &t->rustic_repo};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->data);
    value_list_free(t->aliases);
}

static struct root *open_root(napi_env env, const struct cordon_root_options *options)
{
    struct cordon_root_error err;
    struct root *root = calloc(1, sizeof *root);
    if (root == NULL) {
        napi_throw_error(env, "ENOMEM", "out of memory");
        return NULL;
    }
    if (cordon_root_open(options, &root->root, &err) < 0) {
        napi_throw_error(env, err.code[0] != '\0' ? err.code : NULL, err.message);
        free(root);
        return NULL;
    }
    atomic_init(&root->users, 1);
    root->addon = addon_hold(addon_of(env));
    return root;
}

napi_value node_root_open(napi_env env, napi_callback_info info)
{
    size_t argc = 1;
    napi_value o = NULL;
    struct texts t = {0};
    napi_value value = NULL;
    napi_get_cb_info(env, info, &argc, &o, NULL, NULL);
    if (read_texts(env, o, &t)) {
        const struct cordon_root_options options = {
            .size = sizeof options,
            .home = t.home.data,
            .rootfs = t.rootfs.data,
            .scratch = t.scratch.data,
            .scratch_alias = t.scratch_alias.data,
            .home_aliases = (const char *const *)t.aliases,
            .home_alias_count = t.alias_count,
            .host = t.host.data,
            .sync_dir = t.sync_dir.data,
            .rustic_repo = t.rustic_repo.data,
            .flags = (uint32_t)value_number(env, value_named(env, o, "flags")),
            .sync = (uint32_t)value_number(env, value_named(env, o, "durability")),
            .max_read_bytes =
                number_whole(value_number(env, value_named(env, o, "maxReadBytes")), NUMBER_MAX),
        };
        struct root *root = open_root(env, &options);
        if (root != NULL && napi_create_external(env, root, finalize, NULL, &value) != napi_ok)
            root_drop(root);
    }
    free_texts(&t);
    return value;
}

napi_value node_constants(napi_env env, napi_callback_info info)
{
    (void)info;
    size_t count = 0;
    const struct cordon_root_constant *all = cordon_root_constants(&count);
    napi_value object = NULL;
    napi_create_object(env, &object);
    for (size_t i = 0; i < count; i++) {
        napi_value number = NULL;
        napi_create_int64(env, all[i].value, &number);
        set_named(env, object, all[i].name, number);
    }
    return object;
}
