/* Arguments and values of `cordon fs`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/text.h"
#include "cli/fs.h"
#include "cli/input.h"

#define STDIN_MAX ((size_t)2 << 30)
#define MESSAGE_MAX ((size_t)256 << 20) /* a key is shorter than the command line */

int fs_usage(const struct fs *fs, const char *why)
{
    fprintf(stderr, "cordon: fs %s: %s\n", fs->method, why);
    return FS_USAGE;
}

const char *fs_arg(const struct fs *fs, int i)
{
    return i < fs->count ? fs->args[i] : NULL;
}

/* An argument that the method itself refuses, in the shape of Node. */
static int refuse(struct fs *fs, const char *code, const char *message)
{
    fs->err.errnum = 0;
    fs->err.has_path = fs->err.has_dest = false;
    fs->err.syscall[0] = '\0';
    snprintf(fs->err.code, sizeof fs->err.code, "%s", code);
    snprintf(fs->err.message, sizeof fs->err.message, "%s", message);
    return -EINVAL;
}

int fs_arg_json(struct fs *fs, int i, enum json_type type, const struct json **out)
{
    const char *text = fs_arg(fs, i);
    *out = NULL;
    if (text == NULL)
        return 0;
    const struct json_limits limits = {.max_bytes = 64u << 20, .max_depth = 16};
    struct json_error where;
    *out = json_parse(&fs->arena, text, strlen(text), &limits, &where);
    if (*out == NULL || (*out)->type != type)
        return fs_usage(fs, type == JSON_OBJECT ? "options must be a JSON object"
                                                : "expected a JSON list");
    return 0;
}

static const struct fs_option *find_option(const struct fs_option *known, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    }
    return NULL;
}

static bool is_of_type(const struct json *value, enum json_type type)
{
    return type == JSON_NULL || value->type == JSON_NULL || value->type == type ||
           (type == JSON_REAL && value->type == JSON_INT);
}

static int check_option(const struct fs *fs, const struct fs_option *known, size_t count,
                        const struct json *value)
{
    const struct fs_option *option = find_option(known, count, value->key);
    if (option != NULL && is_of_type(value, option->type))
        return 0;
    BUF_AUTO why = BUF_INIT(MESSAGE_MAX);
    buf_puts(&why, option == NULL ? "there is no option '" : "option '");
    text_put(&why, value->key);
    if (option != NULL)
        buf_printf(&why, "' must be %s", json_type_name(option->type));
    for (size_t i = 0; option == NULL && i < count; i++)
        buf_printf(&why, "%s%s", i == 0 ? "'; allowed: " : ", ", known[i].name);
    const char *text = buf_string(&why);
    return fs_usage(fs, text != NULL ? text : "out of memory");
}

int fs_arg_options(struct fs *fs, int i, const struct fs_option *known, size_t count,
                   const struct json **out)
{
    int rc = fs_arg_json(fs, i, JSON_OBJECT, out);
    for (const struct json *v = rc == 0 && *out != NULL ? (*out)->first : NULL; rc == 0 && v != NULL; v = v->next)
        rc = check_option(fs, known, count, v);
    return rc;
}

bool fs_flag(const struct json *options, const char *key)
{
    const struct json *v = options != NULL ? json_get(options, key) : NULL;
    return v != NULL && v->type == JSON_BOOL && v->boolean;
}

double fs_number(const struct json *options, const char *key, double otherwise)
{
    const struct json *v = options != NULL ? json_get(options, key) : NULL;
    return v != NULL && (v->type == JSON_INT || v->type == JSON_REAL) ? v->real : otherwise;
}

uint64_t fs_whole(double number, uint64_t max)
{
    return number >= (double)max ? max : number >= 1 ? (uint64_t)number : 0;
}

int fs_list(struct fs *fs, const struct json *list, const char *const **out, size_t *count)
{
    const size_t room = list != NULL ? list->count : 0;
    const char **items = arena_array(&fs->arena, room + 1, sizeof *items);
    size_t n = 0;
    if (items == NULL)
        return fs_usage(fs, "out of memory");
    for (const struct json *v = room > 0 ? list->first : NULL; v != NULL; v = v->next) {
        if (v->type != JSON_STRING)
            return refuse(fs, "ERR_INVALID_ARG_TYPE", "path must be a string");
        items[n++] = v->text;
    }
    *out = items;
    *count = n;
    return 0;
}

int fs_arg_paths(struct fs *fs, int i, const char *const **out, size_t *count, bool *list)
{
    const struct json *json = NULL;
    *list = fs->args[i][0] == '[';
    *count = 1;
    *out = (const char *const *)&fs->args[i];
    if (!*list)
        return 0;
    int rc = fs_arg_json(fs, i, JSON_ARRAY, &json);
    return rc < 0 ? rc : fs_list(fs, json, out, count);
}

int fs_arg_data(struct fs *fs, int i, const char **data, size_t *len)
{
    const char *text = fs->args[i];
    if (strcmp(text, "-") != 0) {
        *data = text;
        *len = strlen(text);
        return 0;
    }
    BUF_AUTO in = BUF_INIT(0);
    if (input_read("-", &in, STDIN_MAX, "read data", NULL) < 0)
        return fs_usage(fs, "cannot read standard input");
    *data = arena_strndup(&fs->arena, in.data, in.len);
    *len = in.len;
    return *data == NULL ? fs_usage(fs, "out of memory") : 0;
}

int fs_arg_number(struct fs *fs, int i, const char *code, double otherwise, double *out)
{
    const char *text = fs_arg(fs, i);
    *out = otherwise;
    if (text == NULL)
        return 0;
    char *end = NULL;
    *out = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || *out != *out)
        return refuse(fs, code, "the argument must be a number");
    return 0;
}

int fs_arg_ms(struct fs *fs, int i, uint64_t *out)
{
    double ms = 0;
    int rc = fs_arg_number(fs, i, "ERR_INVALID_ARG_TYPE", 0, &ms);
    *out = fs_whole(ms, UINT64_MAX);
    return rc;
}

int fs_arg_length(struct fs *fs, int i, int64_t *out)
{
    const char *text = fs_arg(fs, i);
    const bool negative = text != NULL && text[0] == '-';
    uint64_t len = 0;
    int rc = text != NULL ? parse_u64(text + negative, &len) : 0;
    if (rc == -EINVAL)
        return refuse(fs, "ERR_INVALID_ARG_TYPE", "the length must be a whole number");
    if (!negative && (rc < 0 || len > INT64_MAX))
        return refuse(fs, "ERR_OUT_OF_RANGE", "no file can have that length");
    *out = negative ? 0 : (int64_t)len;
    return 0;
}

int fs_arg_mode(struct fs *fs, const char *text, uint32_t *out)
{
    char *end = NULL;
    unsigned long mode = strtoul(text, &end, 8);
    if (*text < '0' || *text > '7' || *end != '\0' || mode > 07777)
        return refuse(fs, "ERR_INVALID_ARG_VALUE", "the mode must be an octal number up to 7777");
    *out = (uint32_t)mode;
    return 0;
}

int fs_arg_encoding(struct fs *fs, int i, bool *text)
{
    const char *name = fs_arg(fs, i);
    *text = name != NULL && name[0] != '\0';
    if (!*text || strcmp(name, "utf8") == 0 || strcmp(name, "utf-8") == 0)
        return 0;
    return refuse(fs, "ERR_INVALID_ARG_VALUE", "the encoding must be utf8; without one there are bytes");
}

/* ---- values ---- */

static void put_ms(struct json_writer *w, const char *key, double ms)
{
    char text[64];
    snprintf(text, sizeof text, "%.6f", ms);
    size_t len = strlen(text);
    while (text[len - 1] == '0')
        text[--len] = '\0';
    if (text[len - 1] == '.')
        text[--len] = '\0';
    json_key(w, key);
    json_raw(w, text, len);
}

void fs_put_stat(struct json_writer *w, const struct cordon_root_stat *st)
{
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"dev", st->dev}, {"ino", st->ino}, {"mode", st->mode}, {"nlink", st->nlink},
                   {"uid", st->uid}, {"gid", st->gid}, {"rdev", st->rdev}, {"size", st->size},
                   {"blksize", st->blksize}, {"blocks", st->blocks}};
    json_begin(w, '{');
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        json_put_uint(w, numbers[i].key, numbers[i].value);
    put_ms(w, "atimeMs", st->atime_ms);
    put_ms(w, "mtimeMs", st->mtime_ms);
    put_ms(w, "ctimeMs", st->ctime_ms);
    put_ms(w, "birthtimeMs", st->birthtime_ms);
    json_key(w, "type");
    json_bytes(w, &st->type, 1);
    json_end(w, '}');
}

void fs_put_error(struct json_writer *w, const struct cordon_root_error *err)
{
    json_begin(w, '{');
    if (err->code[0] != '\0')
        json_put_string(w, "code", err->code);
    if (err->errnum != 0)
        json_put_int(w, "errno", err->errnum);
    if (err->syscall[0] != '\0')
        json_put_string(w, "syscall", err->syscall);
    if (err->has_path)
        json_put_string(w, "path", err->path);
    if (err->has_dest)
        json_put_string(w, "dest", err->dest);
    json_put_string(w, "message", err->message);
    json_end(w, '}');
}

void fs_put_line(struct buf *out, const char *text)
{
    text_put(out, text);
    buf_puts(out, "\n");
}

void fs_put_counters(struct json_writer *w, const struct cordon_root_counters *n)
{
    const struct {
        const char *key;
        uint64_t value;
    } all[] = {{"calls", n->calls},       {"failures", n->failures}, {"denials", n->denials},
               {"outside", n->outside},   {"readonly", n->readonly}, {"walks", n->walks},
               {"retries", n->retries},   {"rebinds", n->rebinds}};
    json_begin(w, '{');
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        json_put_uint(w, all[i].key, all[i].value);
    json_end(w, '}');
}
