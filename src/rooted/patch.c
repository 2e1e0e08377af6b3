#include "rooted/patch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "rooted/descriptor.h"
#include "rooted/guard.h"
#include "rooted/write.h"

#define PATCH_BYTES_MAX ((size_t)256 << 20)
#define CONTEXT_UNITS 4
#define BUSY_MS 5000 /* for a file that other processes patch at the same time */

#ifdef CORDON_ROOTED_TEST
uint64_t patch_busy_ms = BUSY_MS;
#else
#define patch_busy_ms BUSY_MS
#endif

/* UTF-16 units of one UTF-8 sequence. */
static size_t units_of(size_t bytes)
{
    return bytes == 4 ? 2 : 1;
}

size_t patch_units(const char *text, size_t len)
{
    size_t units = 0;
    for (size_t i = 0; i < len;) {
        size_t n = text_utf8(text + i, len - i);
        units += units_of(n);
        i += n > 0 ? n : 1;
    }
    return units;
}

void patch_decode(const char *data, size_t len, struct buf *out)
{
    size_t plain = 0;
    for (size_t i = 0; i < len;) {
        size_t n = text_utf8(data + i, len - i);
        if (n == 0) {
            buf_append(out, data + plain, i - plain);
            buf_puts(out, "\xef\xbf\xbd");
            plain = ++i;
        } else {
            i += n;
        }
    }
    buf_append(out, data + plain, len - plain);
}

/* ---- applying ---- */

/*
 * Hunks come in order in every patch that was made from a diff, so one pass suffices: what is
 * before a hunk is copied, the hunk is replayed against the text.
 */
struct applier {
    const char *text; /* the base */
    size_t len, at;   /* bytes */
    size_t out_units; /* of what has been written */
    struct buf *out;
};

/* Copies the base until the output has `units`; false if it cannot have exactly that many. */
static bool copy_until(struct applier *a, size_t units)
{
    const size_t start = a->at;
    while (a->out_units < units && a->at < a->len) {
        size_t n = text_utf8(a->text + a->at, a->len - a->at);
        n = n > 0 ? n : 1;
        a->out_units += units_of(n);
        a->at += n;
    }
    buf_append(a->out, a->text + start, a->at - start);
    return a->out_units == units;
}

static bool consume(struct applier *a, const struct json *text)
{
    if (text->len > a->len - a->at || memcmp(a->text + a->at, text->text, text->len) != 0)
        return false;
    a->at += text->len;
    return true;
}

static bool apply_diff(struct applier *a, const struct json *diff, size_t *before, size_t *after)
{
    if (diff->type != JSON_ARRAY || diff->count != 2)
        return false;
    const struct json *op = diff->first;
    const struct json *text = op->next;
    if (op->type != JSON_INT || op->integer < -1 || op->integer > 1 || text->type != JSON_STRING)
        return false;
    size_t units = patch_units(text->text, text->len);
    if (op->integer <= 0) {
        if (!consume(a, text))
            return false;
        *before += units;
    }
    if (op->integer >= 0) {
        buf_append(a->out, text->text, text->len);
        a->out_units += units;
        *after += units;
    }
    return true;
}

static bool apply_hunk(struct applier *a, const struct json *hunk)
{
    if (hunk->type != JSON_ARRAY || hunk->count != 5)
        return false;
    const struct json *diffs = hunk->first;
    const struct json *numbers[4]; /* start1, start2, length1, length2 */
    const struct json *n = diffs->next;
    for (size_t i = 0; i < 4; i++, n = n->next) {
        if (n->type != JSON_INT || n->integer < 0)
            return false;
        numbers[i] = n;
    }
    /* start2 is where it lies in the text so far, and so is start1: positions roll. */
    if (diffs->type != JSON_ARRAY || (size_t)numbers[1]->integer < a->out_units ||
        !copy_until(a, (size_t)numbers[1]->integer))
        return false;
    size_t before = 0;
    size_t after = 0;
    for (const struct json *d = diffs->first; d != NULL; d = d->next) {
        if (!apply_diff(a, d, &before, &after))
            return false;
    }
    return before == (size_t)numbers[2]->integer && after == (size_t)numbers[3]->integer;
}

int patch_apply(const char *text, size_t len, const char *patch, size_t patch_len, struct buf *out)
{
    struct arena arena = ARENA_INIT(PATCH_BYTES_MAX * 4);
    const struct json_limits limits = {.max_bytes = PATCH_BYTES_MAX, .max_depth = 8};
    struct json_error where;
    int rc = 0;
    const struct json *list = json_parse(&arena, patch, patch_len, &limits, &where);
    if (list == NULL)
        rc = PATCH_MALFORMED;
    else if (list->type != JSON_ARRAY)
        rc = PATCH_NOT_LIST;
    struct applier a = {.text = len > 0 ? text : "", .len = len, .out = out}; /* an empty buffer's is NULL */
    for (const struct json *h = rc == 0 ? list->first : NULL; rc == 0 && h != NULL; h = h->next) {
        if (!apply_hunk(&a, h))
            rc = PATCH_FAILED;
    }
    arena_free(&arena);
    if (rc == 0)
        buf_append(out, text + a.at, len - a.at);
    return rc == 0 && out->failed ? -ENOMEM : rc;
}

/* ---- making ---- */

static bool starts_sequence(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* Bytes that both texts begin with, whole sequences only. */
static size_t common_start(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t n = 0;
    while (n < a_len && n < b_len && a[n] == b[n])
        n++;
    while (n > 0 && ((n < a_len && !starts_sequence(a[n])) ||
                     (n < b_len && !starts_sequence(b[n]))))
        n--;
    return n;
}

static size_t common_end(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t n = 0;
    while (n < a_len && n < b_len && a[a_len - 1 - n] == b[b_len - 1 - n])
        n++;
    while (n > 0 && !starts_sequence(a[a_len - n]))
        n--;
    return n;
}

/* Bytes of at most CONTEXT_UNITS units before, or after, a position. */
static size_t context_before(const char *text, size_t at)
{
    size_t units = 0;
    size_t start = at;
    while (start > 0 && units < CONTEXT_UNITS) {
        size_t previous = start - 1;
        while (previous > 0 && !starts_sequence(text[previous]))
            previous--;
        units += units_of(start - previous);
        start = previous;
    }
    return at - start;
}

static size_t context_after(const char *text, size_t len)
{
    size_t units = 0;
    size_t at = 0;
    while (at < len && units < CONTEXT_UNITS) {
        size_t n = text_utf8(text + at, len - at);
        n = n > 0 ? n : 1;
        units += units_of(n);
        at += n;
    }
    return at;
}

static void put_diff(struct json_writer *w, int op, const char *text, size_t len)
{
    if (len == 0)
        return;
    json_begin(w, '[');
    json_int(w, op);
    json_bytes(w, text, len);
    json_end(w, ']');
}

int patch_make(const char *from, size_t from_len, const char *to, size_t to_len, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out, 0);
    const size_t start = common_start(from, from_len, to, to_len);
    const size_t end = common_end(from + start, from_len - start, to + start, to_len - start);
    const size_t gone = from_len - start - end;
    const size_t come = to_len - start - end;
    json_begin(&w, '[');
    if (gone > 0 || come > 0) {
        const size_t before = context_before(from, start);
        const size_t after = context_after(from + start + gone, end);
        const size_t at = patch_units(from, start - before);
        const size_t kept = patch_units(from + start - before, before) +
                            patch_units(from + start + gone, after);
        json_begin(&w, '[');
        json_begin(&w, '[');
        put_diff(&w, 0, from + start - before, before);
        put_diff(&w, -1, from + start, gone);
        put_diff(&w, 1, to + start, come);
        put_diff(&w, 0, from + start + gone, after);
        json_end(&w, ']');
        json_uint(&w, at);
        json_uint(&w, at);
        json_uint(&w, kept + patch_units(from + start, gone));
        json_uint(&w, kept + patch_units(to + start, come));
        json_end(&w, ']');
    }
    json_end(&w, ']');
    return out->failed ? -ENOMEM : 0;
}

int cordon_root_make_patch(const char *from, size_t from_len, const char *to, size_t to_len,
                           struct cordon_root_data *out)
{
    BUF_AUTO json = BUF_INIT(PATCH_BYTES_MAX);
    int rc = patch_make(from, from_len, to, to_len, &json);
    const char *text = rc == 0 ? buf_string(&json) : NULL;
    if (text == NULL)
        return -ENOMEM;
    *out = (struct cordon_root_data){.data = json.data, .len = json.len};
    json.data = NULL;
    return 0;
}

/* ---- patch writes ---- */

static int fail_patch(const struct call *c, const struct target *t, int rc)
{
    switch (rc) {
    case PATCH_MALFORMED:
        return call_fail_code(c, t, "EINVAL", EINVAL, "", "Invalid patch format for writeFile");
    case PATCH_NOT_LIST:
        return call_fail_code(c, t, "EINVAL", EINVAL, "", "Invalid patch payload for writeFile");
    case PATCH_FAILED:
        return call_fail_code(c, t, "PATCH_FAILED", 0, "", "Failed to apply patch cleanly");
    default:
        return call_fail(c, t, "open", rc);
    }
}

static int fail_base(const struct call *c, const struct target *t)
{
    return call_fail_code(c, t, "ETAG_MISMATCH", 0, "", "Mismatched base version for patch write");
}

/*
 * Holds the file against patches of other processes. Not by waiting in the kernel: whoever may read
 * a file may lock it, for as long as he likes. -EAGAIN: it is held, or lost its name meanwhile.
 */
static int hold(const struct writing *w)
{
    const struct resolve_place *place = &w->place;
    struct stat held;
    struct stat named;
    RACE_POINT("hold");
    if (flock(w->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return -EAGAIN;
    if (fstat(w->fd, &held) < 0)
        return -errno;
    if (fstatat(place->dir, place->name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    return descriptor_same(&held, &named) ? 0 : -EAGAIN;
}

/* Opens and holds the file; nothing is held while it waits. 0 or a code for call_fail(). */
static int open_held(struct cordon_root *root, struct target *t, struct writing *w)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    const uint64_t until = lock_now_ms() + patch_busy_ms;
    for (;;) {
        int rc = write_open(root, t, O_RDWR, w);
        if (rc == 0 && w->fd >= 0)
            rc = hold(w);
        if (rc != -EAGAIN)
            return rc;
        writing_release(w);
        *w = WRITING_INIT;
        if (lock_now_ms() >= until)
            return -EBUSY;
        nanosleep(&nap, NULL);
    }
}

/* The hash, the patch and the write: one step for others who patch it, since it is held. */
static int patch_open_file(const struct call *c, const struct target *t, struct writing *w,
                           const char *patch, size_t patch_len, const char *sha256, bool save_last)
{
    struct stat st;
    struct cordon_root_data old = {0};
    int rc = descriptor_regular(w->fd, &st);
    if (rc == 0)
        rc = descriptor_read(w->fd, &st, c->root->max_read_bytes, &old.data, &old.len);
    if (rc < 0)
        return call_fail(c, t, "open", rc);
    BUF_AUTO text = BUF_INIT(c->root->max_read_bytes * 3 + 1);
    patch_decode(old.data, old.len, &text);
    cordon_root_data_free(&old);
    char hash[65];
    sha256_hex(text.data, text.len, hash);
    if (text.failed)
        return call_fail(c, t, "open", -ENOMEM);
    if (strcmp(hash, sha256) != 0)
        return fail_base(c, t);
    BUF_AUTO new_text = BUF_INIT(c->root->max_read_bytes * 3 + 1);
    rc = patch_apply(text.data, text.len, patch, patch_len, &new_text);
    if (rc == 0)
        rc = write_replace(c->root, w, new_text.data, new_text.len);
    if (rc < 0)
        return fail_patch(c, t, rc);
    if (save_last)
        write_saved(c->root, t, new_text.len > 0 ? new_text.data : "", new_text.len);
    return 0;
}

static int write_patch(const struct call *c, const char *path, const char *patch, size_t patch_len,
                       const char *sha256, bool save_last)
{
    TARGET_AUTO(t);
    int rc = call_writable(c, path);
    if (rc == 0)
        rc = target_map(c, path, "open", &t);
    if (rc < 0)
        return rc;
    WRITING_AUTO w = WRITING_INIT;
    rc = open_held(c->root, &t, &w);
    if (rc == -ENOENT || (rc == 0 && w.fd < 0))
        return fail_base(c, &t);
    if (rc < 0)
        return call_fail(c, &t, "open", rc);
    return patch_open_file(c, &t, &w, patch, patch_len, sha256, save_last);
}

int cordon_root_write_patch(struct cordon_root *root, const char *path, const char *patch,
                            size_t patch_len, const char *sha256, bool save_last,
                            struct cordon_root_error *err)
{
    struct call c = call_begin(root, "writeFile", err);
    return write_patch(&c, path, patch, patch_len, sha256, save_last);
}

/* What a patch in JSON can carry: UTF-8 without NUL. */
static bool is_text(const char *data, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = text_utf8(data + i, len - i);
        if (n == 0 || data[i] == '\0')
            return false;
        i += n;
    }
    return true;
}

int cordon_root_write_file_delta(struct cordon_root *root, const char *path, const char *content,
                                 size_t len, const char *base, size_t base_len, size_t min_length,
                                 bool save_last, struct cordon_root_error *err)
{
    if (base == NULL || patch_units(content, len) <= min_length || (base_len == 0 && len > 0) ||
        !is_text(content, len) || !is_text(base, base_len))
        return cordon_root_write_file(root, path, content, len, save_last, err);
    struct call c = call_begin(root, "writeFileDelta", err);
    int rc = call_writable(&c, path);
    if (rc < 0)
        return rc;
    if (len == base_len && memcmp(content, base, len) == 0)
        return 0;
    char hash[65];
    BUF_AUTO patch = BUF_INIT(PATCH_BYTES_MAX);
    sha256_hex(base, base_len, hash);
    rc = patch_make(base, base_len, content, len, &patch);
    if (rc < 0)
        return call_fail_code(&c, NULL, "PATCH_FAILED", 0, "", "Failed to make a patch");
    return write_patch(&c, path, patch.data, patch.len, hash, save_last);
}
