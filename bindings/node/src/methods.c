/* The methods of the rooted filesystem: what each does in the pool, and the value it gives. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"

#define EXTERNAL_BYTES 65536 /* from here on the engine gets the memory itself, not a copy */

static const char *path(const struct call *c)
{
    return c->text[0].data;
}

static const char *dest(const struct call *c)
{
    return c->text[1].data;
}

static bool flag(const struct call *c, unsigned bit)
{
    return ((unsigned)c->number[0] & bit) != 0;
}

static uint64_t whole(const struct call *c, int i)
{
    return number_whole(c->number[i], NUMBER_MAX);
}

/* ---- values ---- */

static void free_data(struct call *c)
{
    cordon_root_data_free(&c->out.data);
}

static void free_entries(struct call *c)
{
    cordon_root_entries_free(&c->out.entries);
}

static void finalize_data(napi_env env, void *data, void *hint)
{
    (void)env, (void)hint;
    struct cordon_root_data d = {.data = data};
    cordon_root_data_free(&d);
}

static napi_value buffer_value(napi_env env, struct call *c)
{
    struct cordon_root_data *d = &c->out.data;
    napi_value value = NULL;
    if (d->len < EXTERNAL_BYTES ||
        napi_create_external_buffer(env, d->len, d->data, finalize_data, NULL, &value) != napi_ok)
        return make_buffer(env, d->data, d->len);
    d->data = NULL; /* the engine's */
    return value;
}

static napi_value text_value(napi_env env, struct call *c)
{
    napi_value value = NULL;
    napi_create_string_utf8(env, c->out.data.data, c->out.data.len, &value);
    return value;
}

static napi_value flag_value(napi_env env, struct call *c)
{
    napi_value value = NULL;
    napi_get_boolean(env, c->out.flag, &value);
    return value;
}

napi_value method_stat_value(napi_env env, const struct cordon_root_stat *st)
{
    const double numbers[] = {
        (double)st->dev,     (double)st->mode, (double)st->nlink, (double)st->uid,
        (double)st->gid,     (double)st->rdev, (double)st->blksize, (double)st->ino,
        (double)st->size,    (double)st->blocks, st->atime_ms,    st->mtime_ms,
        st->ctime_ms,        st->birthtime_ms,
    };
    void *memory = NULL;
    napi_value buffer = NULL;
    napi_value value = NULL;
    if (napi_create_arraybuffer(env, sizeof numbers, &memory, &buffer) != napi_ok)
        return NULL;
    memcpy(memory, numbers, sizeof numbers);
    napi_create_typedarray(env, napi_float64_array, sizeof numbers / sizeof numbers[0], buffer, 0,
                           &value);
    return value;
}

static napi_value stat_value(napi_env env, struct call *c)
{
    return method_stat_value(env, &c->out.stat);
}

/* A flat list: JavaScript makes what it wants of it, faster than we could from here. */
struct list {
    napi_env env;
    napi_value array;
    uint32_t count;
};

static void add(struct list *list, napi_value value)
{
    /* Handles are many; each entry's are let go with its scope. */
    if (list->array != NULL && value != NULL)
        napi_set_element(list->env, list->array, list->count, value);
    list->count++;
}

static void add_number(struct list *list, double number)
{
    napi_value value = NULL;
    napi_create_double(list->env, number, &value);
    add(list, value);
}

static void add_name(struct list *list, const char *name, bool bytes)
{
    add(list, bytes ? make_buffer(list->env, name, strlen(name)) : make_string(list->env, name));
}

static int type_number(char type)
{
    static const char types[] = "?fdlpscb"; /* the numbers of UV_DIRENT_* */
    const char *at = strchr(types, type);
    return at != NULL ? (int)(at - types) : 0;
}

enum { READDIR_RECURSIVE = 1, READDIR_TYPES = 2, READDIR_BYTES = 4 };

static void add_entry(struct list *list, const struct call *c, const struct cordon_root_entry *e)
{
    const bool bytes = flag(c, READDIR_BYTES);
    if (!flag(c, READDIR_TYPES)) {
        add_name(list, e->name, bytes);
        return;
    }
    const char *slash = strrchr(e->name, '/');
    add_name(list, slash != NULL ? slash + 1 : e->name, bytes);
    add_name(list, e->parent, false);
    add_number(list, type_number(e->type));
}

static void add_listed(struct list *list, const struct call *c, const struct cordon_root_entry *e)
{
    (void)c;
    const char type[2] = {e->type, '\0'};
    add_name(list, e->name, false);
    add_number(list, e->mtime_ms);
    add_number(list, (double)e->size);
    add(list, make_string(list->env, type));
    add_name(list, e->link_target != NULL ? e->link_target : "", false);
}

static napi_value list_value(napi_env env, const struct call *c,
                             void (*put)(struct list *, const struct call *,
                                         const struct cordon_root_entry *))
{
    struct list list = {.env = env};
    if (napi_create_array(env, &list.array) != napi_ok)
        return NULL;
    for (size_t i = 0; i < c->out.entries.count; i++) {
        napi_handle_scope scope = NULL;
        if (napi_open_handle_scope(env, &scope) != napi_ok)
            return NULL;
        put(&list, c, &c->out.entries.entries[i]);
        napi_close_handle_scope(env, scope);
    }
    return list.array;
}

static napi_value entries_value(napi_env env, struct call *c)
{
    return list_value(env, c, add_entry);
}

static napi_value listing_value(napi_env env, struct call *c)
{
    return list_value(env, c, add_listed);
}

/* ---- reading ---- */

static int read_file(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_read_file(c->root->root, path(c), whole(c, 0), &c->out.data,
                                 err);
}

static int lock_file(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_lock_file(c->root->root, path(c), whole(c, 0), err);
}

static int do_stat(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_stat(c->root->root, path(c), &c->out.stat, err);
}

static int do_lstat(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_lstat(c->root->root, path(c), &c->out.stat, err);
}

static int do_exists(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_exists(c->root->root, path(c), &c->out.flag, err);
}

static int do_readlink(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_readlink(c->root->root, path(c), &c->out.data, err);
}

static int do_realpath(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_realpath(c->root->root, path(c), &c->out.data, err);
}

static int do_readdir(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_readdir(c->root->root, path(c), flag(c, READDIR_RECURSIVE), &c->out.entries,
                               err);
}

static int get_listing(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_get_listing(c->root->root, path(c), &c->out.entries, err);
}

/* ---- changing ---- */

static int append_file(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_append_file(c->root->root, path(c), c->text[1].data, c->text[1].len, err);
}

static int write_file(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_write_file(c->root->root, path(c), c->text[1].data, c->text[1].len,
                                  flag(c, 1), err);
}

static int write_patch(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_write_patch(c->root->root, path(c), c->text[1].data, c->text[1].len,
                                   c->text[2].data, flag(c, 1), err);
}

static int write_file_delta(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_write_file_delta(c->root->root, path(c), c->text[1].data, c->text[1].len,
                                        c->text[2].data, c->text[2].len,
                                        (size_t)whole(c, 1), flag(c, 1), err);
}

static int do_truncate(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_truncate(c->root->root, path(c), (int64_t)whole(c, 0), err);
}

static int do_chmod(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_chmod(c->root->root, path(c), (uint32_t)c->number[0], err);
}

static int do_utimes(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_utimes(c->root->root, path(c), c->number[0], c->number[1], err);
}

static int do_mkdir(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_mkdir(c->root->root, path(c), flag(c, 1), (uint32_t)c->number[1], err);
}

static int do_rmdir(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_rmdir(c->root->root, path(c), flag(c, 1), err);
}

static int do_unlink(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_unlink(c->root->root, path(c), err);
}

static int do_rename(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_rename(c->root->root, path(c), dest(c), err);
}

static int do_move(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_move(c->root->root, path(c), dest(c), flag(c, 1), err);
}

static int do_link(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_link(c->root->root, path(c), dest(c), err);
}

static int do_symlink(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_symlink(c->root->root, path(c), dest(c), err);
}

static int copy_file(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_copy_file(c->root->root, path(c), dest(c), err);
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Stops a long copy or delete when the caller wants that, its time is up, or the environment ends. */
static int may_go_on(void *user, uint64_t entries, uint64_t bytes)
{
    (void)entries, (void)bytes;
    const struct call *c = user;
    return atomic_load_explicit(&c->root->addon->leaving, memory_order_relaxed) ||
           (c->stop != NULL && atomic_load_explicit(c->stop, memory_order_relaxed) != 0) ||
           (c->deadline_ms != 0 && now_ms() > c->deadline_ms);
}

enum {
    CP_RECURSIVE = 1,
    CP_DEREFERENCE = 2,
    CP_KEEP_EXISTING = 4,
    CP_ERROR_ON_EXIST = 8,
    CP_PRESERVE_TIMESTAMPS = 16,
    CP_LIST = 32,
};

static int do_cp(struct call *c, struct cordon_root_error *err)
{
    const struct cordon_root_cp_options options = {
        .size = sizeof options,
        .recursive = flag(c, CP_RECURSIVE),
        .dereference = flag(c, CP_DEREFERENCE),
        .keep_existing = flag(c, CP_KEEP_EXISTING),
        .error_on_exist = flag(c, CP_ERROR_ON_EXIST),
        .preserve_timestamps = flag(c, CP_PRESERVE_TIMESTAMPS),
        .progress = may_go_on,
        .user = c,
    };
    if (c->number[1] > 0)
        c->deadline_ms = now_ms() + whole(c, 1);
    if (flag(c, CP_LIST))
        return cordon_root_cp_list(c->root->root, (const char *const *)c->list, c->list_count,
                                   path(c), &options, err);
    return cordon_root_cp(c->root->root, c->list[0], path(c), &options, err);
}

static int do_rm(struct call *c, struct cordon_root_error *err)
{
    const struct cordon_root_rm_options options = {.size = sizeof options,
                                                   .recursive = flag(c, 1),
                                                   .force = flag(c, 2),
                                                   .progress = may_go_on,
                                                   .user = c};
    return cordon_root_rm(c->root->root, (const char *const *)c->list, c->list_count, &options,
                          err);
}

static int sync_fs_watch(struct call *c, struct cordon_root_error *err)
{
    return cordon_root_sync_fs_watch(c->root->root, path(c), flag(c, 1), err);
}

/* Arguments behind the root; lib/filesystem.js makes them of what the caller gave. */
const struct method call_methods[] = {
    {"appendFile", "pb", append_file, NULL, NULL},
    {"chmod", "pn", do_chmod, NULL, NULL},
    {"copyFile", "pp", copy_file, NULL, NULL},
    {"cp", "lpnns", do_cp, NULL, NULL},
    {"exists", "p", do_exists, flag_value, NULL},
    {"getListing", "p", get_listing, listing_value, free_entries},
    {"link", "pp", do_link, NULL, NULL},
    {"lockFile", "pn", lock_file, NULL, NULL},
    {"lstat", "p", do_lstat, stat_value, NULL},
    {"mkdir", "pnn", do_mkdir, NULL, NULL},
    {"move", "ppn", do_move, NULL, NULL},
    {"readFile", "pn", read_file, buffer_value, free_data},
    {"readdir", "pn", do_readdir, entries_value, free_entries},
    {"readlink", "p", do_readlink, text_value, free_data},
    {"realpath", "p", do_realpath, text_value, free_data},
    {"rename", "pp", do_rename, NULL, NULL},
    {"rm", "lns", do_rm, NULL, NULL},
    {"rmdir", "pn", do_rmdir, NULL, NULL},
    {"stat", "p", do_stat, stat_value, NULL},
    {"symlink", "pp", do_symlink, NULL, NULL},
    {"syncFsWatch", "pn", sync_fs_watch, NULL, NULL},
    {"truncate", "pn", do_truncate, NULL, NULL},
    {"unlink", "p", do_unlink, NULL, NULL},
    {"utimes", "pnn", do_utimes, NULL, NULL},
    {"writeFile", "pbn", write_file, NULL, NULL},
    {"writeFileDelta", "pbbnn", write_file_delta, NULL, NULL},
    {"writePatch", "pbpn", write_patch, NULL, NULL},
};
const size_t call_method_count = sizeof call_methods / sizeof call_methods[0];
