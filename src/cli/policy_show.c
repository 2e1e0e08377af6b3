#include "cli/policy_show.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/quantity.h"
#include "plan/system_files.h"

#define LABEL "%-14s"

static void row(struct buf *out, const char *label, const char *value)
{
    buf_printf(out, LABEL, label);
    text_put(out, value);
    buf_puts(out, "\n");
}

/* What stands before entry `i` of a list in one row. */
static void lead(struct buf *out, const char *label, size_t i)
{
    if (i == 0)
        buf_printf(out, LABEL, label);
    else
        buf_puts(out, " ");
}

static void names(struct buf *out, const char *label, const struct policy_names *list)
{
    for (size_t i = 0; i < list->count; i++) {
        lead(out, label, i);
        text_put(out, list->items[i]);
    }
    buf_puts(out, list->count == 0 ? "" : "\n");
}

static void vars(struct buf *out, const char *label, const struct policy_vars *list)
{
    for (size_t i = 0; i < list->count; i++) {
        lead(out, label, i);
        text_put(out, list->items[i].name);
        buf_puts(out, "=");
        text_put(out, list->items[i].value);
    }
    buf_puts(out, list->count == 0 ? "" : "\n");
}

static void binds(struct buf *out, const char *label, const struct policy_binds *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct policy_bind *b = &list->items[i];
        buf_printf(out, LABEL, i == 0 ? label : "");
        text_put(out, b->host);
        if (strcmp(b->host, b->sandbox) != 0) {
            buf_puts(out, " at ");
            text_put(out, b->sandbox);
        }
        buf_puts(out, b->optional ? " (if present)\n" : "\n");
    }
}

static void limits(struct buf *out, const struct policy *p)
{
    static const char *const labels[POLICY_LIMIT_COUNT] = {
        "wall time", "cpu time", "memory", "processes", "open files", "output", "grace",
        "tmp size"};
    char room[48];
    for (size_t i = 0; i < POLICY_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &policy_limit_table[i];
        const uint64_t value = policy_limit_get(p, limit);
        const char *text = quantity(room, sizeof room, value, limit->unit, &quantity_words);
        const bool output = strcmp(limit->key, "output_bytes") == 0 && value != POLICY_UNLIMITED;
        buf_printf(out, LABEL "%s%s%s\n", labels[i], text, output ? " a stream, then " : "",
                   output ? policy_overflow_name(p->limits.on_overflow) : "");
    }
    const unsigned thousandths = (unsigned)(p->limits.cpus * 1000 + 0.5);
    if (thousandths != 0)
        buf_printf(out, LABEL "%u.%03u\n", "cores", thousandths / 1000, thousandths % 1000);
}

static void system_part(struct buf *out, const struct policy *p)
{
    if (p->fs_mode != FS_VIEW || !p->system_ro)
        return;
    row(out, "system", "/usr, /bin, /sbin, /lib*, /nix/store if present: read-only");
    row(out, "", "/etc/passwd, /etc/group: made for the run");
    for (size_t i = 0; i < SYSTEM_FILE_COUNT; i++) {
        const struct system_file *f = &system_files[i];
        if (!f->network || p->net == NET_HOST)
            buf_printf(out, LABEL "%-24s %s\n", "", f->path, f->why);
    }
}

static void files(struct buf *out, const struct policy *p)
{
    row(out, "files",
        p->fs_mode == FS_VIEW ? "view: an empty root plus what is listed"
                              : "guard: the host's tree, read-only, plus what is listed");
    binds(out, "writable", &p->rw);
    if (p->rw_cwd)
        row(out, p->rw.count == 0 ? "writable" : "", "the caller's current directory");
    binds(out, "read-only", &p->ro);
    names(out, "protected", &p->protect);
    names(out, "hidden", &p->hide);
    system_part(out, p);
    if (p->work == WORK_HOST)
        row(out, "/work", p->work_host);
    else if (p->work == WORK_PRIVATE)
        row(out, "/work", "private, empty, gone afterwards");
    if (p->fs_mode == FS_GUARD)
        row(out, "/tmp", p->private_tmp ? "private" : "read-only");
}

void policy_show(const struct policy *policy, struct buf *out)
{
    buf_printf(out, LABEL "%s (%s)\n", "profile", policy_profile_name(policy->profile),
               policy_profile_about(policy->profile));
    files(out, policy);
    row(out, "network", policy_net_name(policy->net));
    row(out, "environment", policy->env.inherit ? "the caller's" : "cleared");
    names(out, "  passed", &policy->env.allow);
    names(out, "  denied", &policy->env.deny);
    vars(out, "  default", &policy->env.fallback);
    vars(out, "  set", &policy->env.set);
    limits(out, policy);
    row(out, "user", policy_uid_name(policy->uid));
    row(out, "seccomp", policy_seccomp_name(policy->seccomp));
    row(out, "forbidden", policy_forbidden_name(policy->on_forbidden));
    if (policy->cwd != NULL)
        row(out, "cwd", policy->cwd);
    row(out, "backend", policy_backend_name(policy->backend));
    names(out, "required", &policy->require);
    row(out, "partial", policy->allow_partial ? "accepted" : "refused");
}
