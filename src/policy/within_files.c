/* The ceiling's word on files: what a policy may show, and what it may make writable. */
#include <stdio.h>
#include <string.h>

#include "policy/within.h"

/* Absolute ones, and those that count from the root of each bind. */
static bool hides(const struct policy *ceiling, bool absolute)
{
    for (size_t i = 0; i < ceiling->hide.count; i++) {
        if ((ceiling->hide.items[i][0] == '/') == absolute)
            return true;
    }
    return false;
}

/* What follows `dir` in a path beneath it: "" or "/...". */
static const char *rest(const char *path, const char *dir)
{
    const size_t len = strlen(path) > 1 && strlen(dir) == 1 ? 0 : strlen(dir);
    return path + len;
}

/* `wanted` appears inside where `granted` would have shown it. */
static bool same_place(const struct policy_bind *wanted, const struct policy_bind *granted)
{
    return policy_path_beneath(wanted->sandbox, granted->sandbox) &&
           strcmp(rest(wanted->host, granted->host), rest(wanted->sandbox, granted->sandbox)) == 0;
}

/* One of both, as rest() gives them, lies in the other. */
static bool overlap(const char *a, const char *b)
{
    return a[0] == '\0' || b[0] == '\0' || policy_path_beneath(a, b) || policy_path_beneath(b, a);
}

/* One that may be missing does not stand for one that must be there: the run would go on without it. */
static bool as_surely(const struct policy_bind *wanted, const struct policy_bind *granted)
{
    return !wanted->optional || granted->optional;
}

static bool has_bind(const struct policy_binds *list, const struct policy_bind *bind)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct policy_bind *have = &list->items[i];
        if (strcmp(have->host, bind->host) == 0 && strcmp(have->sandbox, bind->sandbox) == 0 && as_surely(have, bind))
            return true;
    }
    return false;
}

/*
 * An entry of the ceiling that is mounted over a part of `granted` takes that part back: nothing in it may
 * be wanted, and a tree around it must come with the same entry at its place.
 */
static bool respects_cover(const struct policy *p, const struct policy_binds *covers, bool same,
                           const struct policy_bind *granted, const struct policy_bind *wanted)
{
    const char *part = rest(wanted->host, granted->host);
    for (size_t i = 0; i < covers->count; i++) {
        const struct policy_bind *cover = &covers->items[i];
        if (!policy_path_beneath(cover->sandbox, granted->sandbox) || strcmp(cover->sandbox, granted->sandbox) == 0 ||
            (policy_path_beneath(cover->host, granted->host) && same_place(cover, granted)))
            continue;
        const char *covered = rest(cover->sandbox, granted->sandbox);
        if (!overlap(part, covered))
            continue;
        if (!same || (part[0] != '\0' && policy_path_beneath(part, covered)) ||
            (!has_bind(&p->ro, cover) && !has_bind(&p->rw, cover)))
            return false;
    }
    return true;
}

/*
 * Where a granted path appears is the asker's own business, unless the ceiling hides places: seen
 * elsewhere they would not be hidden. A glob counts from the root of a bind: with one a part of what
 * is granted is not granted, for a hidden name may begin above it.
 */
static bool covers(const struct policy *p, const struct policy *ceiling, const struct policy_bind *granted,
                   const struct policy_bind *wanted)
{
    if (!policy_path_beneath(wanted->host, granted->host))
        return false;
    const bool same = same_place(wanted, granted);
    return (same || !hides(ceiling, true)) &&
           (strcmp(wanted->host, granted->host) == 0 || !hides(ceiling, false)) &&
           respects_cover(p, &ceiling->ro, same, granted, wanted) &&
           respects_cover(p, &ceiling->rw, same, granted, wanted);
}

/* Guard mode shows the host for reading, but for what it has of its own in these places. */
static bool guard_shows(const struct policy *ceiling, const char *host)
{
    const char *const own[] = {"/dev", "/proc", "/run", "/var/run", ceiling->private_tmp ? "/tmp" : "/tmp/.X11-unix"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (policy_path_beneath(host, own[i]) || policy_path_beneath(own[i], host))
            return false;
    }
    return true;
}

static bool readable(const struct policy *p, const struct policy *ceiling, const struct policy_bind *wanted)
{
    static const struct policy_bind whole = {.host = "/", .sandbox = "/"};
    const struct policy_binds *lists[] = {&ceiling->ro, &ceiling->rw};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            if (covers(p, ceiling, &lists[k]->items[i], wanted))
                return true;
        }
    }
    return ceiling->fs_mode == FS_GUARD && guard_shows(ceiling, wanted->host) && covers(p, ceiling, &whole, wanted);
}

static bool has_read_only(const struct policy *p, const struct policy_bind *kept, const struct policy_bind *tree)
{
    for (size_t i = 0; i < p->ro.count; i++) {
        const struct policy_bind *have = &p->ro.items[i];
        if (strcmp(have->host, kept->host) == 0 && same_place(have, tree) && as_surely(have, kept))
            return true;
    }
    return false;
}

/*
 * A read-only entry within a writable tree of the ceiling takes a part of the grant back: nothing
 * beneath it may be wanted, and a tree around it must come with the same entry.
 */
static bool respects_read_only(const struct policy *p, const struct policy *ceiling,
                               const struct policy_bind *granted, const struct policy_bind *wanted)
{
    for (size_t i = 0; i < ceiling->ro.count; i++) {
        const struct policy_bind *kept = &ceiling->ro.items[i];
        if (!policy_path_beneath(kept->host, granted->host) || !same_place(kept, granted))
            continue;
        if (policy_path_beneath(kept->host, wanted->host)) {
            if (!has_read_only(p, kept, wanted))
                return false;
        } else if (policy_path_beneath(wanted->host, kept->host)) {
            return false;
        }
    }
    return true;
}

/* `tree`, which the ceiling makes writable, is one of the policy's own where `wanted` shows it. */
static bool has_tree(const struct policy *p, const char *tree, const struct policy_bind *wanted, const char *cwd)
{
    if (p->rw_cwd && cwd != NULL && strcmp(tree, cwd) == 0 && strcmp(wanted->host, wanted->sandbox) == 0)
        return true;
    for (size_t i = 0; i < p->rw.count; i++) {
        if (strcmp(p->rw.items[i].host, tree) == 0 && same_place(&p->rw.items[i], wanted))
            return true;
    }
    return false;
}

/*
 * Protected names count from the root of each writable tree: one of the ceiling's within what is wanted must be a tree of
 * its own there, or its names would be writable.
 */
static bool respects_roots(const struct policy *p, const struct policy *ceiling, const struct policy_bind *wanted,
                           const char *cwd)
{
    for (size_t i = 0; ceiling->protect.count > 0 && i <= ceiling->rw.count; i++) {
        const char *tree = i < ceiling->rw.count ? ceiling->rw.items[i].host : ceiling->rw_cwd ? cwd : NULL;
        if (tree != NULL && strcmp(tree, wanted->host) != 0 && policy_path_beneath(tree, wanted->host) &&
            !has_tree(p, tree, wanted, cwd))
            return false;
    }
    return true;
}

static bool writable(const struct policy *p, const struct policy *ceiling, const char *cwd,
                     const struct policy_bind *wanted)
{
    if (!respects_roots(p, ceiling, wanted, cwd))
        return false;
    for (size_t i = 0; i < ceiling->rw.count; i++) {
        const struct policy_bind *granted = &ceiling->rw.items[i];
        /* Protected names count from the root of a writable tree; a part of it has another root. */
        const bool whole = ceiling->protect.count == 0 || strcmp(wanted->host, granted->host) == 0;
        if (whole && covers(p, ceiling, granted, wanted) &&
            respects_read_only(p, ceiling, granted, wanted))
            return true;
    }
    return false;
}

static int refuse_bind(struct cordon_error *err, const char *list, size_t index, const char *act, const char *host)
{
    char pointer[64];
    char why[192];
    snprintf(pointer, sizeof pointer, "/fs/%s/%zu", list, index);
    snprintf(why, sizeof why, "the ceiling grants no %s '%.100s', or not all of it", act, host);
    return within_exceeds(err, pointer, why);
}

static int check_binds(const struct policy *p, const struct policy *ceiling, const char *cwd,
                       struct cordon_error *err)
{
    for (size_t i = 0; i < p->rw.count; i++) {
        if (!writable(p, ceiling, cwd, &p->rw.items[i]))
            return refuse_bind(err, "rw", i, "writing in", p->rw.items[i].host);
    }
    for (size_t i = 0; i < p->ro.count; i++) {
        if (!readable(p, ceiling, &p->ro.items[i]))
            return refuse_bind(err, "ro", i, "reading of", p->ro.items[i].host);
    }
    return 0;
}

static bool work_granted(const struct policy *p, const struct policy *ceiling, const char *cwd)
{
    if (p->work != WORK_HOST)
        return true;
    if (ceiling->work == WORK_HOST && strcmp(p->work_host, ceiling->work_host) == 0)
        return true;
    const struct policy_bind wanted = {.host = p->work_host, .sandbox = "/work"};
    return writable(p, ceiling, cwd, &wanted);
}

/* What the ceiling mounts within the current directory is not that directory's own. */
static bool cwd_granted(const struct policy *p, const struct policy *ceiling, const char *cwd)
{
    const struct policy_binds *granted[] = {&ceiling->ro, &ceiling->rw};
    const struct policy_binds *wanted[] = {&p->ro, &p->rw};
    if (!ceiling->rw_cwd)
        return false;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < granted[k]->count; i++) {
            const struct policy_bind *bind = &granted[k]->items[i];
            const bool own = k == 1 && strcmp(bind->host, bind->sandbox) == 0;
            if (!own && (cwd == NULL || policy_path_beneath(bind->sandbox, cwd)) && !has_bind(wanted[k], bind))
                return false;
        }
    }
    return true;
}

static bool in_system(const char *path)
{
    static const char *const places[] = {"/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/sbin", "/usr"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (policy_path_beneath(path, places[i]))
            return true;
    }
    return false;
}

/* What the ceiling mounts over a part of the toolchain, or of the host's tree, is not shown without it. */
static bool keeps_covers(const struct policy *p, const struct policy *ceiling)
{
    const struct policy_binds *lists[] = {&ceiling->ro, &ceiling->rw};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            const struct policy_bind *bind = &lists[k]->items[i];
            const bool shown = p->fs_mode == FS_GUARD || (p->system_ro && in_system(bind->sandbox));
            if (shown && strcmp(bind->host, bind->sandbox) != 0 && !has_bind(&p->ro, bind) && !has_bind(&p->rw, bind))
                return false;
        }
    }
    return true;
}

int within_files(const struct policy *p, const struct policy *ceiling, const char *cwd, struct cordon_error *err)
{
    const bool whole = ceiling->fs_mode == FS_GUARD;
    if (p->fs_mode == FS_GUARD && !whole)
        return within_exceeds(err, "/fs/mode", "guard mode shows the whole host; the ceiling does not");
    if (p->fs_mode == FS_GUARD && ceiling->private_tmp && !p->private_tmp)
        return within_exceeds(err, "/fs/private_tmp", "the ceiling does not show the host's /tmp");
    if (p->fs_mode == FS_VIEW && p->system_ro && !ceiling->system_ro && !whole)
        return within_exceeds(err, "/fs/system_ro", "the ceiling does not show the system");
    if (!keeps_covers(p, ceiling))
        return within_exceeds(err, p->fs_mode == FS_GUARD ? "/fs/mode" : "/fs/system_ro",
                              "the ceiling mounts something else over a part of it; this policy does not");
    if (p->rw_cwd && !cwd_granted(p, ceiling, cwd))
        return within_exceeds(err, "/fs/rw_cwd",
                              "the ceiling does not make the current directory writable, or not all of it");
    int r = check_binds(p, ceiling, cwd, err);
    if (r < 0)
        return r;
    if (!work_granted(p, ceiling, cwd))
        return within_exceeds(err, "/fs/work", "the ceiling grants no writing to that directory");
    if (!within_keeps_names(&p->hide, &ceiling->hide))
        return within_exceeds(err, "/fs/hide", "the ceiling hides a path that this policy does not hide");
    const bool writes = p->rw_cwd || p->rw.count > 0 || p->work == WORK_HOST;
    if (writes && !within_keeps_names(&p->protect, &ceiling->protect))
        return within_exceeds(err, "/fs/protect", "the ceiling protects a name that this policy does not");
    return 0;
}
