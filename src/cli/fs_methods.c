/* The methods of `cordon fs`, one small function each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/fs.h"
#include "cli/message.h"

/* ---- a line of progress on a terminal, for copies and deletes that take long ---- */

struct bar {
    bool on;
    struct timespec start, last;
};

static double since(const struct timespec *t, const struct timespec *now)
{
    return (double)(now->tv_sec - t->tv_sec) + (double)(now->tv_nsec - t->tv_nsec) / 1e9;
}

static int show_progress(void *user, uint64_t entries, uint64_t bytes)
{
    struct bar *bar = user;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (since(&bar->start, &now) < 1 || since(&bar->last, &now) < 0.1)
        return 0;
    bar->on = true;
    bar->last = now;
    fprintf(stderr, "\r%llu entries, %.1f MiB, %.0f entries/s ", (unsigned long long)entries,
            (double)bytes / 1048576, (double)entries / since(&bar->start, &now));
    return 0;
}

static cordon_root_progress_fn *start_bar(const struct fs *fs, struct bar *bar)
{
    *bar = (struct bar){.on = false};
    clock_gettime(CLOCK_MONOTONIC, &bar->start);
    return !fs->json && isatty(STDERR_FILENO) ? show_progress : NULL;
}

static void end_bar(const struct bar *bar)
{
    if (bar->on)
        fputs("\r\033[K", stderr);
}

/* ---- values ---- */

static int put_data(struct fs *fs, const struct cordon_root_data *d, bool as_text)
{
    if (!fs->json)
        buf_append(&fs->out, d->data, d->len);
    else if (as_text)
        json_bytes(&fs->w, d->data, d->len);
    else
        json_base64(&fs->w, d->data, d->len);
    return 0;
}

static int put_line(struct fs *fs, struct cordon_root_data *d)
{
    if (fs->json)
        json_bytes(&fs->w, d->data, d->len);
    else
        fs_put_line(&fs->out, d->data);
    cordon_root_data_free(d);
    return 0;
}

static int put_bool(struct fs *fs, bool value)
{
    if (fs->json)
        json_bool(&fs->w, value);
    else
        buf_puts(&fs->out, value ? "true\n" : "false\n");
    return 0;
}

static int put_stat(struct fs *fs, const struct cordon_root_stat *st)
{
    fs_put_stat(&fs->w, st); /* without --json as well: there is no better text for it */
    if (!fs->json)
        buf_puts(&fs->out, "\n");
    return 0;
}

/* ---- reading ---- */

static int read_file(struct fs *fs)
{
    uint64_t lock = 0;
    bool text = false;
    int rc = fs_arg_encoding(fs, 1, &text);
    if (rc == 0)
        rc = fs_arg_ms(fs, 2, &lock);
    struct cordon_root_data d = {0};
    if (rc == 0)
        rc = cordon_root_read_file(fs->root, fs->args[0], lock, &d, &fs->err);
    if (rc == 0)
        put_data(fs, &d, text);
    cordon_root_data_free(&d);
    return rc;
}

static int lock_file(struct fs *fs)
{
    uint64_t lock = 0;
    int rc = fs_arg_ms(fs, 1, &lock);
    return rc < 0 ? rc : cordon_root_lock_file(fs->root, fs->args[0], lock, &fs->err);
}

static int do_stat(struct fs *fs)
{
    struct cordon_root_stat st;
    int rc = cordon_root_stat(fs->root, fs->args[0], &st, &fs->err);
    return rc < 0 ? rc : put_stat(fs, &st);
}

static int do_lstat(struct fs *fs)
{
    struct cordon_root_stat st;
    int rc = cordon_root_lstat(fs->root, fs->args[0], &st, &fs->err);
    return rc < 0 ? rc : put_stat(fs, &st);
}

static int do_exists(struct fs *fs)
{
    bool there = false;
    int rc = cordon_root_exists(fs->root, fs->args[0], &there, &fs->err);
    return rc < 0 ? rc : put_bool(fs, there);
}

static int do_readlink(struct fs *fs)
{
    struct cordon_root_data d = {0};
    int rc = cordon_root_readlink(fs->root, fs->args[0], &d, &fs->err);
    return rc < 0 ? rc : put_line(fs, &d);
}

static int do_realpath(struct fs *fs)
{
    struct cordon_root_data d = {0};
    int rc = cordon_root_realpath(fs->root, fs->args[0], &d, &fs->err);
    return rc < 0 ? rc : put_line(fs, &d);
}

static void put_listing_entry(struct json_writer *w, const struct cordon_root_entry *e)
{
    char ms[64];
    snprintf(ms, sizeof ms, "%.6f", e->mtime_ms);
    json_key(w, e->name);
    json_begin(w, '{');
    json_key(w, "mtime");
    json_raw(w, ms, strlen(ms));
    json_put_uint(w, "size", e->size);
    json_key(w, "type");
    json_bytes(w, &e->type, 1);
    if (e->type == 'd')
        json_put_bool(w, "isDir", true);
    if (e->type == 'l') {
        json_put_bool(w, "isSymLink", true);
        json_put_string(w, "linkTarget", e->link_target);
    }
    json_end(w, '}');
}

static int get_listing(struct fs *fs)
{
    struct cordon_root_entries l = {0};
    int rc = cordon_root_get_listing(fs->root, fs->args[0], &l, &fs->err);
    if (rc < 0)
        return rc;
    json_begin(&fs->w, '{');
    json_key(&fs->w, "files");
    json_begin(&fs->w, '{');
    for (size_t i = 0; i < l.count; i++)
        put_listing_entry(&fs->w, &l.entries[i]);
    json_end(&fs->w, '}');
    json_put_bool(&fs->w, "truncated", false);
    json_end(&fs->w, '}');
    if (!fs->json)
        buf_puts(&fs->out, "\n");
    cordon_root_entries_free(&l);
    return 0;
}

static const char *base_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL ? slash + 1 : name;
}

static void put_dirent(struct json_writer *w, const struct cordon_root_entry *e, bool bytes)
{
    static const char types[] = "?fdlpscb";
    const char *name = base_name(e->name);
    json_begin(w, '{');
    json_key(w, "name");
    if (bytes)
        json_base64(w, name, strlen(name));
    else
        json_string(w, name);
    json_put_string(w, "parentPath", e->parent);
    json_put_string(w, "path", e->parent);
    json_put_int(w, "type", strchr(types, e->type) - types);
    json_end(w, '}');
}

static int do_readdir(struct fs *fs)
{
    static const struct fs_option known[] = {
        {"recursive", JSON_BOOL}, {"withFileTypes", JSON_BOOL}, {"encoding", JSON_STRING}};
    const struct json *o = NULL;
    int rc = fs_arg_options(fs, 1, FS_KNOWN(known), &o);
    if (rc < 0)
        return rc;
    const struct json *encoding = o != NULL ? json_get(o, "encoding") : NULL;
    const bool bytes = encoding != NULL && encoding->type == JSON_STRING &&
                       strcmp(encoding->text, "buffer") == 0;
    struct cordon_root_entries l = {0};
    rc = cordon_root_readdir(fs->root, fs->args[0], fs_flag(o, "recursive"), &l, &fs->err);
    if (rc < 0)
        return rc;
    if (fs->json)
        json_begin(&fs->w, '[');
    for (size_t i = 0; i < l.count; i++) {
        if (!fs->json)
            fs_put_line(&fs->out, l.entries[i].name);
        else if (fs_flag(o, "withFileTypes"))
            put_dirent(&fs->w, &l.entries[i], bytes);
        else if (bytes)
            json_base64(&fs->w, l.entries[i].name, strlen(l.entries[i].name));
        else
            json_string(&fs->w, l.entries[i].name);
    }
    if (fs->json)
        json_end(&fs->w, ']');
    cordon_root_entries_free(&l);
    return 0;
}

static int do_constants(struct fs *fs)
{
    size_t count = 0;
    const struct cordon_root_constant *all = cordon_root_constants(&count);
    json_begin(&fs->w, '{');
    for (size_t i = 0; i < count; i++)
        json_put_int(&fs->w, all[i].name, all[i].value);
    json_end(&fs->w, '}');
    if (!fs->json)
        buf_puts(&fs->out, "\n");
    return 0;
}

/* ---- changing ---- */

static int append_file(struct fs *fs)
{
    const char *data = NULL;
    size_t len = 0;
    bool text = false;
    int rc = fs_arg_encoding(fs, 2, &text);
    if (rc == 0)
        rc = fs_arg_data(fs, 1, &data, &len);
    return rc < 0 ? rc : cordon_root_append_file(fs->root, fs->args[0], data, len, &fs->err);
}

/* The argument as a patch request, or NULL if it is plain data. */
static const struct json *patch_request(struct fs *fs, const char *data, size_t len)
{
    const struct json_limits limits = {.max_bytes = 256u << 20, .max_depth = 16};
    struct json_error where;
    if (len == 0 || data[0] != '{')
        return NULL;
    const struct json *o = json_parse(&fs->arena, data, len, &limits, &where);
    const struct json *hash = o != NULL ? json_get(o, "sha256") : NULL;
    return hash != NULL && hash->type == JSON_STRING && json_get(o, "patch") != NULL ? o : NULL;
}

static int write_file(struct fs *fs)
{
    const char *data = NULL;
    size_t len = 0;
    int rc = fs_arg_data(fs, 1, &data, &len);
    if (rc < 0)
        return rc;
    const bool save = fs_arg(fs, 2) != NULL && strcmp(fs->args[2], "true") == 0;
    const struct json *request = patch_request(fs, data, len);
    if (request == NULL)
        return cordon_root_write_file(fs->root, fs->args[0], data, len, save, &fs->err);
    const struct json *patch = json_get(request, "patch");
    const char *hash = json_get(request, "sha256")->text;
    if (patch->type == JSON_STRING)
        return cordon_root_write_patch(fs->root, fs->args[0], patch->text, patch->len, hash, save,
                                       &fs->err);
    BUF_AUTO text = BUF_INIT(256u << 20);
    struct json_writer w = JSON_WRITER(&text, 0);
    json_value(&w, patch);
    return cordon_root_write_patch(fs->root, fs->args[0], text.data, text.len, hash, save,
                                   &fs->err);
}

static int write_file_delta(struct fs *fs)
{
    static const struct fs_option known[] = {
        {"baseContents", JSON_STRING}, {"minLength", JSON_REAL}, {"saveLast", JSON_BOOL}};
    const char *data = NULL;
    size_t len = 0;
    const struct json *o = NULL;
    int rc = fs_arg_data(fs, 1, &data, &len);
    if (rc == 0)
        rc = fs_arg_options(fs, 2, FS_KNOWN(known), &o);
    if (rc < 0)
        return rc;
    const struct json *base = o != NULL ? json_get(o, "baseContents") : NULL;
    const bool given = base != NULL && base->type == JSON_STRING;
    return cordon_root_write_file_delta(fs->root, fs->args[0], data, len,
                                        given ? base->text : NULL, given ? base->len : 0,
                                        fs_whole(fs_number(o, "minLength", 1024), SIZE_MAX),
                                        fs_flag(o, "saveLast"), &fs->err);
}

static int do_truncate(struct fs *fs)
{
    int64_t len = 0;
    int rc = fs_arg_length(fs, 1, &len);
    return rc < 0 ? rc : cordon_root_truncate(fs->root, fs->args[0], len, &fs->err);
}

static int do_chmod(struct fs *fs)
{
    uint32_t mode = 0;
    int rc = fs_arg_mode(fs, fs->args[1], &mode);
    return rc < 0 ? rc : cordon_root_chmod(fs->root, fs->args[0], mode, &fs->err);
}

static int do_utimes(struct fs *fs)
{
    double atime = 0;
    double mtime = 0;
    int rc = fs_arg_number(fs, 1, "ERR_INVALID_ARG_TYPE", 0, &atime);
    if (rc == 0)
        rc = fs_arg_number(fs, 2, "ERR_INVALID_ARG_TYPE", 0, &mtime);
    return rc < 0 ? rc : cordon_root_utimes(fs->root, fs->args[0], atime, mtime, &fs->err);
}

static int do_mkdir(struct fs *fs)
{
    static const struct fs_option known[] = {{"recursive", JSON_BOOL}, {"mode", JSON_NULL}};
    const char *arg = fs_arg(fs, 1);
    const struct json *o = NULL;
    uint32_t mode = 0777;
    int rc = 0;
    if (arg != NULL && arg[0] == '{') {
        rc = fs_arg_options(fs, 1, FS_KNOWN(known), &o);
        const struct json *m = rc == 0 ? json_get(o, "mode") : NULL;
        if (m != NULL && m->type == JSON_INT && m->integer >= 0 && m->integer <= UINT32_MAX)
            mode = (uint32_t)m->integer & 07777;
        else if (m != NULL)
            rc = fs_arg_mode(fs, m->type == JSON_STRING ? m->text : "", &mode);
    } else if (arg != NULL) {
        rc = fs_arg_mode(fs, arg, &mode);
    }
    return rc < 0 ? rc : cordon_root_mkdir(fs->root, fs->args[0], fs_flag(o, "recursive"), mode,
                                           &fs->err);
}

static int do_rmdir(struct fs *fs)
{
    static const struct fs_option known[] = {{"recursive", JSON_BOOL}};
    const struct json *o = NULL;
    int rc = fs_arg_options(fs, 1, FS_KNOWN(known), &o);
    return rc < 0 ? rc : cordon_root_rmdir(fs->root, fs->args[0], fs_flag(o, "recursive"),
                                           &fs->err);
}

static int do_unlink(struct fs *fs)
{
    return cordon_root_unlink(fs->root, fs->args[0], &fs->err);
}

static int do_rename(struct fs *fs)
{
    return cordon_root_rename(fs->root, fs->args[0], fs->args[1], &fs->err);
}

static int do_move(struct fs *fs)
{
    static const struct fs_option known[] = {{"overwrite", JSON_BOOL}};
    const struct json *o = NULL;
    int rc = fs_arg_options(fs, 2, FS_KNOWN(known), &o);
    return rc < 0 ? rc : cordon_root_move(fs->root, fs->args[0], fs->args[1],
                                          fs_flag(o, "overwrite"), &fs->err);
}

static int do_link(struct fs *fs)
{
    return cordon_root_link(fs->root, fs->args[0], fs->args[1], &fs->err);
}

static int do_symlink(struct fs *fs)
{
    return cordon_root_symlink(fs->root, fs->args[0], fs->args[1], &fs->err);
}

static int copy_file(struct fs *fs)
{
    return cordon_root_copy_file(fs->root, fs->args[0], fs->args[1], &fs->err);
}

static int do_cp(struct fs *fs)
{
    /* Links keep their text and clones are made, with the last two and without. */
    static const struct fs_option known[] = {
        {"recursive", JSON_BOOL},    {"dereference", JSON_BOOL},        {"force", JSON_BOOL},
        {"errorOnExist", JSON_BOOL}, {"preserveTimestamps", JSON_BOOL}, {"verbatimSymlinks", JSON_BOOL},
        {"reflink", JSON_BOOL}};
    const struct json *o = NULL;
    const char *const *from = NULL;
    size_t count = 0;
    bool list = false;
    int rc = fs_arg_options(fs, 2, FS_KNOWN(known), &o);
    if (rc == 0)
        rc = fs_arg_paths(fs, 0, &from, &count, &list);
    if (rc < 0 || from == NULL)
        return rc;
    const struct json *force = o != NULL ? json_get(o, "force") : NULL;
    struct bar bar;
    const struct cordon_root_cp_options options = {
        .size = sizeof options,
        .recursive = fs_flag(o, "recursive"),
        .dereference = fs_flag(o, "dereference"),
        .keep_existing = force != NULL && force->type == JSON_BOOL && !force->boolean,
        .error_on_exist = fs_flag(o, "errorOnExist"),
        .preserve_timestamps = fs_flag(o, "preserveTimestamps"),
        .progress = start_bar(fs, &bar),
        .user = &bar,
    };
    rc = list ? cordon_root_cp_list(fs->root, from, count, fs->args[1], &options, &fs->err)
              : cordon_root_cp(fs->root, from[0], fs->args[1], &options, &fs->err);
    end_bar(&bar);
    return rc;
}

static int do_rm(struct fs *fs)
{
    static const struct fs_option known[] = {{"recursive", JSON_BOOL}, {"force", JSON_BOOL}};
    const struct json *o = NULL;
    const char *const *paths = NULL;
    size_t count = 0;
    bool list = false;
    int rc = fs_arg_options(fs, 1, FS_KNOWN(known), &o);
    if (rc == 0)
        rc = fs_arg_paths(fs, 0, &paths, &count, &list);
    if (rc < 0)
        return rc;
    struct bar bar;
    const struct cordon_root_rm_options options = {.size = sizeof options,
                                                   .recursive = fs_flag(o, "recursive"),
                                                   .force = fs_flag(o, "force"),
                                                   .progress = start_bar(fs, &bar),
                                                   .user = &bar};
    rc = cordon_root_rm(fs->root, paths, count, &options, &fs->err);
    end_bar(&bar);
    return rc;
}

/* ---- watching: one JSON line for each event, until the watch ends ---- */

static int print_event(const struct cordon_root_event *e)
{
    BUF_AUTO line = BUF_INIT(64u << 20);
    struct json_writer w = JSON_WRITER(&line, 0);
    json_begin(&w, '{');
    json_put_string(&w, "event", e->event);
    json_put_string(&w, "filename", e->name);
    if (e->has_stat) {
        json_key(&w, "stats");
        fs_put_stat(&w, &e->stat);
    }
    if (e->patch.data != NULL) {
        json_key(&w, "patch");
        json_raw(&w, e->patch.data, e->patch.len);
        json_put_uint(&w, "patchSeq", e->patch_seq);
    }
    json_end(&w, '}');
    buf_puts(&line, "\n");
    return message_print(&line) < 0 ? FS_SAID : 0;
}

static int do_watch(struct fs *fs)
{
    static const struct fs_option known[] = {
        {"maxQueue", JSON_REAL}, {"overflow", JSON_STRING}, {"closeOnUnlink", JSON_BOOL},
        {"stats", JSON_BOOL},    {"patch", JSON_BOOL},      {"stabilityThreshold", JSON_REAL},
        {"pollInterval", JSON_REAL}};
    const struct json *o = NULL;
    int rc = fs_arg_options(fs, 1, FS_KNOWN(known), &o);
    if (rc < 0)
        return rc;
    if (fs_number(o, "pollInterval", 0) > 0)
        return fs_usage(fs, "changes are told by the kernel: set pollInterval to 0, or leave it out");
    const struct json *overflow = o != NULL ? json_get(o, "overflow") : NULL;
    const bool throws = overflow != NULL && overflow->type == JSON_STRING && strcmp(overflow->text, "throw") == 0;
    if (overflow != NULL && overflow->type == JSON_STRING && !throws && strcmp(overflow->text, "ignore") != 0)
        return fs_usage(fs, "option 'overflow' must be throw or ignore");
    const struct cordon_root_watch_options options = {
        .size = sizeof options,
        .max_queue = (uint32_t)fs_whole(fs_number(o, "maxQueue", 0), UINT32_MAX),
        .throw_on_overflow = throws,
        .close_on_unlink = fs_flag(o, "closeOnUnlink"),
        .stats = fs_flag(o, "stats"),
        .patch = fs_flag(o, "patch"),
        .stability_ms = (uint32_t)fs_whole(fs_number(o, "stabilityThreshold", 500), UINT32_MAX),
    };
    struct cordon_root_watch *watch = NULL;
    rc = cordon_root_watch_open(fs->root, fs->args[0], &options, &watch, &fs->err);
    struct cordon_root_event event;
    while (rc >= 0 && !cordon_root_watch_done(watch)) {
        rc = cordon_root_watch_next(watch, -1, &event, &fs->err);
        if (rc == 1) {
            rc = print_event(&event); /* whoever reads may be gone */
            cordon_root_event_free(&event);
        }
    }
    cordon_root_watch_close(watch);
    return rc < 0 ? rc : FS_DONE;
}

static int sync_fs_watch(struct fs *fs)
{
    const bool active = fs_arg(fs, 1) == NULL || strcmp(fs->args[1], "false") != 0;
    return cordon_root_sync_fs_watch(fs->root, fs->args[0], active, &fs->err);
}

const struct fs_method fs_methods[] = {
    {"appendFile", "PATH DATA", 2, 3, append_file},
    {"chmod", "PATH MODE", 2, 2, do_chmod},
    {"constants", "", 0, 0, do_constants},
    {"copyFile", "FROM TO", 2, 2, copy_file},
    {"cp", "FROM|[FROM...] TO [OPTIONS]", 2, 3, do_cp},
    {"dust", "PATH [OPTIONS]", 1, 2, fs_search},
    {"exists", "PATH", 1, 1, do_exists},
    {"fd", "PATH [OPTIONS]", 1, 2, fs_search},
    {"find", "PATH [OPTIONS]", 1, 2, fs_search},
    {"getListing", "PATH", 1, 1, get_listing},
    {"link", "EXISTING NEW", 2, 2, do_link},
    {"lockFile", "PATH [MS]", 1, 2, lock_file},
    {"lstat", "PATH", 1, 1, do_lstat},
    {"mkdir", "PATH [MODE|OPTIONS]", 1, 2, do_mkdir},
    {"move", "FROM TO [OPTIONS]", 2, 3, do_move},
    {"ouch", "'[\"ARG\", ...]' [OPTIONS]", 1, 2, fs_pack},
    {"readFile", "PATH [ENCODING [LOCK_MS]]", 1, 3, read_file},
    {"readdir", "PATH [OPTIONS]", 1, 2, do_readdir},
    {"readlink", "PATH", 1, 1, do_readlink},
    {"realpath", "PATH", 1, 1, do_realpath},
    {"rename", "FROM TO", 2, 2, do_rename},
    {"ripgrep", "PATH PATTERN [OPTIONS]", 2, 3, fs_search},
    {"rm", "PATH|[PATH...] [OPTIONS]", 1, 2, do_rm},
    {"rmdir", "PATH [OPTIONS]", 1, 2, do_rmdir},
    {"rustic", "'[\"ARG\", ...]' [OPTIONS]", 1, 2, fs_pack},
    {"stat", "PATH", 1, 1, do_stat},
    {"symlink", "TARGET PATH", 2, 2, do_symlink},
    {"syncFsWatch", "PATH [ACTIVE]", 1, 2, sync_fs_watch},
    {"truncate", "PATH [LEN]", 1, 2, do_truncate},
    {"unlink", "PATH", 1, 1, do_unlink},
    {"utimes", "PATH ATIME MTIME", 3, 3, do_utimes},
    {"watch", "PATH [OPTIONS]", 1, 2, do_watch},
    {"writeFile", "PATH DATA|PATCH [SAVE_LAST]", 2, 3, write_file},
    {"writeFileDelta", "PATH DATA [OPTIONS]", 2, 3, write_file_delta},
};
const size_t fs_method_count = sizeof fs_methods / sizeof fs_methods[0];
