#include "backend/bwrap_find.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const bwrap_trusted_paths[BWRAP_TRUSTED_COUNT] = {
    "/run/current-system/sw/bin/bwrap",
    "/nix/var/nix/profiles/default/bin/bwrap",
    "/usr/bin/bwrap",
    "/usr/local/bin/bwrap",
};

#define LINKS_MAX 40 /* as many as the kernel follows */

/* One walk along a path: what is resolved, and what is still to come. */
struct walk {
    char done[PATH_MAX]; /* "" is the root */
    char rest[PATH_MAX];
    unsigned links;
    bool only_root; /* else the caller's own files are as good */
};

/*
 * Everything on the way belongs to root or the caller and nobody else may write there. In a
 * directory with the sticky bit others may add names but not replace those that are ours.
 */
static const char *danger(const struct stat *st, bool only_root)
{
    if (st->st_uid != 0 && (only_root || st->st_uid != geteuid()))
        return "it, or a directory on its way, belongs to somebody else";
    const bool shared = !S_ISLNK(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (shared && !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0))
        return "it, or a directory on its way, is writable by others";
    return NULL;
}

/* Puts the text of a link in front of the rest. */
static const char *follow(struct walk *w, const char *link)
{
    char text[PATH_MAX];
    char joined[PATH_MAX];
    ssize_t n = readlink(link, text, sizeof text - 1);
    if (n < 0 || w->links++ == LINKS_MAX)
        return "its links do not end";
    text[n] = '\0';
    if (snprintf(joined, sizeof joined, "%s/%s", text, w->rest) >= (int)sizeof joined)
        return "its path is too long";
    if (text[0] == '/')
        w->done[0] = '\0';
    memcpy(w->rest, joined, sizeof joined);
    return NULL;
}

/* One part of the path; `st` is what stands there. */
static const char *step(struct walk *w, struct stat *st)
{
    char next[PATH_MAX];
    char *rest = w->rest + strspn(w->rest, "/");
    const size_t len = strcspn(rest, "/");
    const bool up = len == 2 && memcmp(rest, "..", 2) == 0;
    int n = snprintf(next, sizeof next, "%s/%.*s", w->done, (int)len, rest);
    memmove(w->rest, rest + len, strlen(rest + len) + 1);
    if (len == 0 || (len == 1 && rest[0] == '.'))
        return NULL;
    if (up) {
        char *slash = strrchr(w->done, '/');
        if (slash != NULL)
            *slash = '\0';
        return NULL;
    }
    if (n >= (int)sizeof next)
        return "its path is too long";
    if (lstat(next, st) < 0)
        return "it cannot be looked at";
    const char *why = danger(st, w->only_root);
    if (why != NULL)
        return why;
    if (S_ISLNK(st->st_mode))
        return follow(w, next);
    memcpy(w->done, next, sizeof next);
    return NULL;
}

static bool take(struct bwrap_found *out, const char *candidate, bool trusted)
{
    struct walk w = {.only_root = trusted};
    struct stat st;
    if (access(candidate, F_OK) < 0 || stat("/", &st) < 0 ||
        snprintf(w.rest, sizeof w.rest, "%s", candidate) >= (int)sizeof w.rest)
        return false;
    const char *why = danger(&st, trusted);
    while (why == NULL && w.rest[strspn(w.rest, "/")] != '\0')
        why = step(&w, &st);
    if (why == NULL && (lstat(w.done, &st) < 0 || !S_ISREG(st.st_mode)))
        why = "it is not a file";
    if (why == NULL && access(w.done, X_OK) < 0)
        why = "it is not executable";
    if (why == NULL) {
        memcpy(out->path, w.done, sizeof w.done);
        out->trusted = trusted;
        return true;
    }
    if (out->why == NULL) {
        snprintf(out->refused, sizeof out->refused, "%s", candidate);
        out->why = why;
    }
    return false;
}

int bwrap_find_in(struct bwrap_found *out, const char *const *trusted, size_t count,
                  const char *path)
{
    *out = (struct bwrap_found){.trusted = false};
    for (size_t i = 0; i < count; i++) {
        if (take(out, trusted[i], true))
            return 0;
    }
    /* Relative parts of PATH, the empty one among them, mean whatever directory one stands in. */
    while (path != NULL && *path != '\0') {
        char candidate[PATH_MAX];
        size_t len = strcspn(path, ":");
        int n = snprintf(candidate, sizeof candidate, "%.*s/bwrap", (int)len, path);
        if (path[0] == '/' && n < (int)sizeof candidate && take(out, candidate, false))
            return 0;
        path += len + (path[len] == ':');
    }
    return -ENOENT;
}

int bwrap_find(struct bwrap_found *out, const char *path)
{
    return bwrap_find_in(out, bwrap_trusted_paths, BWRAP_TRUSTED_COUNT, path);
}
