/* The tools of `cordon fs`: find, fd, ripgrep, dust, ouch, rustic. */
#include <stdio.h>
#include <string.h>

#include "cli/fs.h"

static const struct fs_option known[] = {
    {"options", JSON_ARRAY}, {"linux", JSON_ARRAY},  {"darwin", JSON_ARRAY}, {"timeout", JSON_REAL},
    {"maxSize", JSON_REAL},  {"cwd", JSON_STRING},   {"pattern", JSON_STRING}};

/* The strings of `options`, and those of `linux`, which are for this platform only. */
static int option_words(struct fs *fs, const struct json *o, struct cordon_root_tool_options *out)
{
    static const char *const keys[] = {"options", "linux"};
    const char *const *lists[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    for (size_t i = 0; i < 2; i++) {
        const struct json *list = o != NULL ? json_get(o, keys[i]) : NULL;
        int rc = fs_list(fs, list, &lists[i], &counts[i]);
        if (rc < 0)
            return rc;
    }
    const char **all = arena_array(&fs->arena, counts[0] + counts[1] + 1, sizeof *all);
    if (all == NULL)
        return fs_usage(fs, "out of memory");
    memcpy(all, lists[0], counts[0] * sizeof *all);
    memcpy(all + counts[0], lists[1], counts[1] * sizeof *all);
    out->options = all;
    out->option_count = counts[0] + counts[1];
    return 0;
}

static int tool_options(struct fs *fs, const struct json *o, struct cordon_root_tool_options *out)
{
    const struct json *cwd = o != NULL ? json_get(o, "cwd") : NULL;
    *out = (struct cordon_root_tool_options){
        .size = sizeof *out,
        .timeout_ms = fs_number(o, "timeout", 0),
        .max_output = fs_whole(fs_number(o, "maxSize", 0), UINT64_MAX),
        .cwd = cwd != NULL && cwd->type == JSON_STRING ? cwd->text : NULL,
    };
    return option_words(fs, o, out);
}

/* For people: what the tool wrote, where it would have written it. */
static void put_text(struct fs *fs, const struct cordon_root_tool_result *r)
{
    buf_append(&fs->out, r->out.data, r->out.len);
    fwrite(r->err.data, 1, r->err.len, stderr);
    if (r->truncated)
        fprintf(stderr, "cordon: fs %s: cut short, it took too long or wrote too much\n",
                fs->method);
}

static void put_result(struct fs *fs, const struct cordon_root_tool_result *r)
{
    struct json_writer *w = &fs->w;
    json_begin(w, '{');
    json_key(w, "stdout");
    json_base64(w, r->out.data, r->out.len);
    json_key(w, "stderr");
    json_base64(w, r->err.data, r->err.len);
    json_key(w, "code");
    if (r->code < 0)
        json_null(w);
    else
        json_int(w, r->code);
    json_put_bool(w, "truncated", r->truncated);
    json_end(w, '}');
}

static int run(struct fs *fs, const char *const *args, size_t count, const struct json *o)
{
    struct cordon_root_tool_options options;
    struct cordon_root_tool_result result = {.code = -1};
    int rc = tool_options(fs, o, &options);
    if (rc == 0)
        rc = cordon_root_tool(fs->root, fs->method, args, count, &options, &result, &fs->err);
    if (rc < 0)
        return rc;
    if (fs->json)
        put_result(fs, &result);
    else
        put_text(fs, &result);
    cordon_root_tool_result_free(&result);
    return 0;
}

/* The pattern of ripgrep is an argument, that of fd an option. */
int fs_search(struct fs *fs)
{
    const bool second = strcmp(fs->method, "ripgrep") == 0;
    const struct json *o = NULL;
    int rc = fs_arg_options(fs, second ? 2 : 1, FS_KNOWN(known), &o);
    if (rc < 0)
        return rc;
    const struct json *pattern = o != NULL ? json_get(o, "pattern") : NULL;
    const bool has_pattern = pattern != NULL && pattern->type == JSON_STRING;
    const char *const args[] = {fs->args[0], second        ? fs->args[1]
                                             : has_pattern ? pattern->text
                                                           : NULL};
    return run(fs, args, args[1] != NULL ? 2 : 1, o);
}

int fs_pack(struct fs *fs)
{
    const struct json *list = NULL;
    const struct json *o = NULL;
    const char *const *args = NULL;
    size_t count = 0;
    int rc = fs_arg_json(fs, 0, JSON_ARRAY, &list);
    if (rc == 0)
        rc = fs_arg_options(fs, 1, FS_KNOWN(known), &o);
    if (rc == 0)
        rc = fs_list(fs, list, &args, &count);
    return rc < 0 ? rc : run(fs, args, count, o);
}
