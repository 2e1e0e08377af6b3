/* What the files of `cordon fs` share. */
#pragma once

#include <cordon/root.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

struct fs {
    struct cordon_root *root; /* owned */
    struct cordon_root_error err;
    bool json;
    const char *method;
    char **args; /* of the method */
    int count;
    struct arena arena;
    struct buf out;        /* what is printed on success */
    struct json_writer w;  /* writes the value into out */
};

#define FS_USAGE (-5000) /* the arguments are wrong; said on stderr */
#define FS_DONE (-5001)  /* the method printed what there is */
#define FS_SAID (-5002)  /* it could not print it, and that was said */

/* ---- arguments; all return 0, a negative number with fs->err filled, or FS_USAGE ---- */

int fs_usage(const struct fs *fs, const char *why);
const char *fs_arg(const struct fs *fs, int i); /* NULL if it is not there */

/* A JSON object or list; NULL in `*out` if the argument is missing. */
int fs_arg_json(struct fs *fs, int i, enum json_type type, const struct json **out);

/* The options of a method: what is misspelled or of another type would be one that does not hold. */
struct fs_option {
    const char *name;
    enum json_type type; /* JSON_REAL: any number; JSON_NULL: the method looks at it */
};
int fs_arg_options(struct fs *fs, int i, const struct fs_option *known, size_t count,
                   const struct json **out);
#define FS_KNOWN(list) (list), sizeof(list) / sizeof(list)[0]
bool fs_flag(const struct json *options, const char *key);
double fs_number(const struct json *options, const char *key, double otherwise);
uint64_t fs_whole(double number, uint64_t max); /* rounded down; what is beyond is the bound */

/* The strings of a JSON list, NULL being an empty one; one path, or a JSON list of them (never missing). */
int fs_list(struct fs *fs, const struct json *list, const char *const **out, size_t *count);
int fs_arg_paths(struct fs *fs, int i, const char *const **out, size_t *count, bool *list);

/* Text as it is, or stdin for "-"; never missing, either: the method's `min` counts it. */
int fs_arg_data(struct fs *fs, int i, const char **data, size_t *len);
int fs_arg_number(struct fs *fs, int i, const char *code, double otherwise, double *out);
int fs_arg_ms(struct fs *fs, int i, uint64_t *out);    /* 0 if it is missing or negative */
int fs_arg_length(struct fs *fs, int i, int64_t *out); /* likewise; no other is ever changed */
int fs_arg_mode(struct fs *fs, const char *text, uint32_t *out); /* octal */
int fs_arg_encoding(struct fs *fs, int i, bool *text); /* the only one is UTF-8; none means bytes */

/* ---- values ---- */

void fs_put_stat(struct json_writer *w, const struct cordon_root_stat *st);
void fs_put_error(struct json_writer *w, const struct cordon_root_error *err);
void fs_put_line(struct buf *out, const char *text); /* escaped, with a newline */
void fs_put_counters(struct json_writer *w, const struct cordon_root_counters *n);

/* ---- the command and its methods ---- */

int cli_fs(int argc, char **argv); /* argv[1] is "fs"; the exit status */

struct fs_method {
    const char *name;
    const char *args; /* for the usage text */
    int min, max;
    int (*run)(struct fs *fs);
};

/* The tools; which one, says the name of the method. */
int fs_search(struct fs *fs); /* PATH [PATTERN] [OPTIONS] */
int fs_pack(struct fs *fs);   /* '["ARG", ...]' [OPTIONS] */

extern const struct fs_method fs_methods[];
extern const size_t fs_method_count;
