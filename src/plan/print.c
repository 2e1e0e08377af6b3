/* The plan in words, for --dry-run. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "plan/plan.h"
#include "sys/landlock.h"

static const char *flag_words(unsigned flags, char room[64])
{
    snprintf(room, 64, "%s%s", (flags & STEP_RDONLY) != 0 ? " ro" : "",
             (flags & STEP_OPTIONAL) != 0 ? " if present" : "");
    return room;
}

static void print_step(const struct plan_step *step, struct buf *out)
{
    static const char *const names[] = {
        [STEP_TMPFS] = "tmpfs",   [STEP_DIR] = "dir",       [STEP_LINK] = "link",
        [STEP_FILE] = "file",     [STEP_SPARSE] = "zeros",     [STEP_BIND] = "bind",     [STEP_DEVICE] = "device",
        [STEP_DEVPTS] = "devpts", [STEP_PROC] = "proc",     [STEP_HOST_TREE] = "host tree",
    };
    char words[64];
    buf_printf(out, "  %-9s /", names[step->kind]);
    text_put(out, step->target);
    if (step->kind == STEP_TMPFS && step->size > 0)
        buf_printf(out, " %" PRIu64 " bytes", step->size);
    if (step->kind == STEP_BIND || step->kind == STEP_LINK) {
        buf_puts(out, step->kind == STEP_BIND ? " <- " : " -> ");
        text_put(out, step->source);
    }
    buf_puts(out, flag_words(step->flags, words));
    buf_puts(out, "\n");
}

static void print_rule(const struct plan_rule *rule, struct buf *out)
{
    buf_printf(out, "  %-9s ", (rule->access & LL_WRITE_FILE) != 0   ? "write"
                               : (rule->access & LL_READ_FILE) != 0 ? "read"
                                                                    : "list");
    text_put(out, rule->path);
    buf_puts(out, "\n");
}

static void print_payload(const struct plan *plan, struct buf *out)
{
    buf_printf(out, "backend   %s%s", policy_backend_name(plan->backend), plan->bwrap == NULL ? "" : " ");
    text_put(out, plan->bwrap == NULL ? "" : plan->bwrap);
    buf_puts(out, "\ncommand   ");
    for (char *const *a = plan->argv; *a != NULL; a++) {
        buf_puts(out, a == plan->argv ? "" : " ");
        text_put(out, *a);
    }
    buf_puts(out, "\ndirectory ");
    text_put(out, plan->cwd);
    buf_printf(out, "\nidentity  uid %u gid %u inside, uid %u gid %u on the host\n",
               plan->uid_inside, plan->gid_inside, plan->uid_host, plan->gid_host);
    if (plan_on_host_paths(plan))
        buf_printf(out, "spaces    none%s\n", plan->bare ? ": this host refuses user namespaces" : "");
    else
        buf_printf(out, "spaces    user mount%s uts%s cgroup%s\n", plan->pidns ? " pid" : "", plan->ipcns ? " ipc" : "",
                   !plan->netns ? "" : plan->loopback ? " net (with lo)" : " net");
    buf_puts(out, "environment\n");
    for (char *const *e = plan->envp; *e != NULL; e++) {
        buf_puts(out, "  ");
        text_put(out, *e);
        buf_puts(out, "\n");
    }
}

static void print_claim(const struct plan *plan, enum capability c, struct buf *out)
{
    const struct plan_claim *claim = &plan->claims[c];
    struct plan_words words;
    if (c >= CAPABILITY_ALWAYS && !claim->requested)
        return;
    plan_describe(plan, c, &words);
    buf_printf(out, "  %-12s %-20s %s: %s\n", capability_name(c), words.requested,
               claim->mechanism == NULL ? "none" : claim->mechanism, words.details);
}

void plan_print(const struct plan *plan, struct buf *out)
{
    print_payload(plan, out);
    buf_puts(out, "files\n");
    for (size_t i = 0; i < plan->step_count; i++)
        print_step(&plan->steps[i], out);
    for (size_t i = 0; plan->bare && i < plan->rule_count; i++)
        print_rule(&plan->rules[i], out);
    buf_puts(out, "enforced\n");
    for (int i = 0; i < CAPABILITY_COUNT; i++)
        print_claim(plan, (enum capability)i, out);
}
