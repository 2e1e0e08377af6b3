/*
 * Any host and any valid policy give a plan that keeps its invariants, or a refusal with a reason.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "plan/plan.h"
#include "sys/landlock.h"

/* The input as a stream of choices; when it is used up everything is 0. */
struct choices {
    const uint8_t *data;
    size_t left;
};

static unsigned pick(struct choices *c, unsigned count)
{
    if (c->left == 0)
        return 0;
    c->left--;
    return *c->data++ % count;
}

/* At the ends of what is allowed, where mistakes are. */
static uint64_t limit_value(struct choices *c, const struct policy_limit *limit)
{
    switch (pick(c, 4)) {
    case 0:
        return limit->unlimited ? POLICY_UNLIMITED : limit->max;
    case 1:
        return limit->min;
    case 2:
        return limit->max;
    default:
        return limit->min + pick(c, 256);
    }
}

/* Few words, so that paths often meet. */
static const char *word(struct choices *c)
{
    static const char *const words[] = {"a", "b", "srv", "usr", "bin", "tmp", "run", "etc", "dev", "proc", "work",
                                        "passwd", "shm", ".git", "hooks", "..", ".", "", "x\ny", "home"};
    return words[pick(c, sizeof words / sizeof words[0])];
}

static const char *path(struct choices *c, struct arena *arena)
{
    const char *at = "";
    for (unsigned parts = 1 + pick(c, 5); parts > 0; parts--)
        at = arena_printf(arena, "%s/%s", at, word(c));
    return policy_normalize_path(arena, at);
}

/* Beneath a private /work there may be binds, beneath one of the host's there may be none. */
static bool hidden_by_work(const struct policy *p, const char *target)
{
    return p->work == WORK_HOST ? policy_path_beneath(target, "/work")
                                : p->work == WORK_PRIVATE && strcmp(target, "/work") == 0;
}

/* Targets that policy_validate() refuses are left out: nobody compiles them. */
static bool refused(const struct policy_binds *list, const struct policy *p, const char *target)
{
    if (target[1] == '\0' || policy_path_beneath(target, "/proc") || policy_path_beneath(target, "/dev") ||
        hidden_by_work(p, target))
        return true;
    for (size_t k = 0; k < list->count; k++) {
        if (strcmp(list->items[k].sandbox, target) == 0)
            return true;
    }
    return false;
}

static void binds(struct choices *c, struct arena *arena, struct policy_binds *list, const struct policy *p)
{
    for (unsigned n = pick(c, 12); n > 0; n--) {
        const char *host = path(c, arena);
        const char *target = pick(c, 2) == 0 ? host : path(c, arena);
        if (!refused(list, p, target))
            policy_add_bind(list, arena, host, target, pick(c, 2) == 1, NULL);
    }
}

/* Mostly in a bind, else policy_validate() refuses it. */
static void hides(struct choices *c, struct arena *arena, struct policy *p)
{
    for (unsigned n = pick(c, 4); n > 0; n--) {
        const struct policy_binds *list = pick(c, 2) == 0 ? &p->rw : &p->ro;
        const char *above = list->count == 0 ? "" : list->items[pick(c, (unsigned)list->count)].sandbox;
        const char *name = path(c, arena);
        if (pick(c, 4) == 0)
            name = arena_printf(arena, "**%s", name);
        else if (pick(c, 4) != 0)
            name = arena_printf(arena, "%s%s", above, name);
        if (name[1] != '\0')
            policy_add_name(&p->hide, arena, name, NULL);
    }
}

static void invent_policy(struct choices *c, struct arena *arena, struct policy *p)
{
    policy_init(p, (enum policy_profile)pick(c, PROFILE_COUNT));
    p->fs_mode = (enum policy_fs_mode)pick(c, 2);
    p->system_ro = pick(c, 2) == 1;
    p->rw_cwd = pick(c, 2) == 1;
    p->work = p->fs_mode == FS_GUARD ? WORK_NONE : (enum policy_work)pick(c, 3);
    p->work_host = "/srv/job";
    p->private_tmp = pick(c, 2) == 1;
    p->net = (enum policy_net)pick(c, 3);
    p->uid = (enum policy_uid)pick(c, 2);
    p->seccomp = (enum policy_seccomp)pick(c, 3);
    p->on_forbidden = (enum policy_forbidden)pick(c, 3);
    p->backend = (enum policy_backend)pick(c, 5);
    p->allow_partial = pick(c, 2) == 1;
    p->cwd = pick(c, 2) == 0 ? NULL : path(c, arena);
    p->limits.cpus = pick(c, 3) * 0.75;
    for (size_t k = 0; k < POLICY_LIMIT_COUNT; k++) {
        const struct policy_limit *limit = &policy_limit_table[k];
        policy_limit_set(p, limit, limit_value(c, limit));
    }
    binds(c, arena, &p->rw, p);
    binds(c, arena, &p->ro, p);
    for (unsigned n = pick(c, 4); n > 0; n--) {
        const char *name = path(c, arena);
        if (name[1] != '\0')
            policy_add_name(&p->protect, arena, name + 1, NULL);
    }
    for (unsigned n = pick(c, 3); n > 0; n--)
        policy_add_name(&p->require, arena, capability_name((enum capability)pick(c, CAPABILITY_COUNT)), NULL);
    hides(c, arena, p);
}

/* The second shows a part of the first once more. */
static const struct host_mount host_mounts[] = {{"8:1", "/", "/"}, {"8:1", "/srv", "/home/a"}};

static void invent_host(struct choices *c, struct arena *arena, struct host *h)
{
    static const char *const tops[HOST_TOP_COUNT] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
    *h = (struct host){.uid = pick(c, 2) * 1000, .gid = pick(c, 2) * 1000, .spare_uid = 0x70000000, .cores = 1 + pick(c, 9)};
    h->landlock_abi = (int)pick(c, 9);
    h->nix_store = pick(c, 2) == 1;
    h->cwd = pick(c, 8) == 1 ? NULL : path(c, arena);
    for (int i = 0; i < 2; i++)
        h->home[i] = pick(c, 2) == 1 ? NULL : path(c, arena);
    for (size_t k = 0; k < HOST_TOP_COUNT; k++) {
        h->top[k].path = tops[k];
        h->top[k].present = pick(c, 2) == 1;
        if (pick(c, 2) == 1)
            memcpy(h->top[k].link, "usr/x", 6);
    }
    for (int k = 0; k < CGROUP_CONTROLLER_COUNT; k++) {
        h->cgroup.controllers[k].version = (enum cgroup_version)pick(c, 3);
        h->cgroup.controllers[k].route = (enum cgroup_route)pick(c, 3);
    }
    h->mounts = host_mounts;
    h->mount_count = pick(c, 3);
    h->off = pick(c, 4) == 1 ? 1u << pick(c, HOST_SWITCH_COUNT) : 0;
    h->off_capabilities = pick(c, 4) == 1 ? 1u << pick(c, CAPABILITY_COUNT) : 0;
}

/* ---- what must hold ---- */

/* Relative, and nothing in it that a resolver would have to interpret. */
static void check_target(const char *target)
{
    PROMISE(target[0] != '/');
    for (const char *p = target; *p != '\0';) {
        size_t len = strcspn(p, "/");
        PROMISE(len > 0 && !(len == 1 && p[0] == '.') && !(len == 2 && p[0] == '.' && p[1] == '.'));
        PROMISE(p[len] == '\0' || p[len + 1] != '\0');
        p += len + (p[len] == '/');
    }
}

static bool beneath(const char *target, const char *dir)
{
    size_t len = strlen(dir);
    return len == 0 || (strncmp(target, dir, len) == 0 && target[len] == '/');
}

/* What the last mount above a target is, among the steps before it. */
static const struct plan_step *ground_of(const struct plan *plan, size_t at)
{
    const struct plan_step *ground = NULL;
    for (size_t k = 0; k < at; k++) {
        const struct plan_step *s = &plan->steps[k];
        const bool mounts = s->kind == STEP_TMPFS || s->kind == STEP_BIND || s->kind == STEP_HOST_TREE || s->kind == STEP_LINK;
        if (mounts && beneath(plan->steps[at].target, s->target) &&
            (ground == NULL || strlen(s->target) >= strlen(ground->target)))
            ground = s;
    }
    return ground;
}

static void check_step(const struct plan *plan, size_t at)
{
    const struct plan_step *s = &plan->steps[at];
    check_target(s->target);
    if (at == 0) {
        PROMISE(s->target[0] == '\0');
        PROMISE(s->kind == STEP_TMPFS || s->kind == STEP_HOST_TREE);
        PROMISE(!plan->own_tree || (s->flags & STEP_RDONLY) != 0);
        return;
    }
    PROMISE(s->kind != STEP_HOST_TREE && s->target[0] != '\0');
    const struct plan_step *ground = ground_of(plan, at);
    PROMISE(ground != NULL);
    /* Nothing is ever created in a tree of the host's. */
    const bool creates = (s->flags & STEP_MAKE) != 0 || s->kind == STEP_DIR || s->kind == STEP_LINK ||
                         s->kind == STEP_FILE || s->kind == STEP_DEVICE || s->kind == STEP_DEVPTS;
    if (creates && plan->own_tree)
        PROMISE(ground->kind == STEP_TMPFS);
    if (s->kind == STEP_BIND) {
        PROMISE(s->source != NULL && s->source[0] != '\0');
        PROMISE((s->flags & STEP_OWN) == 0 || strcmp(s->source, s->target) == 0);
        PROMISE((s->flags & STEP_OWN) == 0 || (s->flags & (STEP_MAKE | STEP_LISTED)) == 0);
    }
}

static const struct plan_step *last_at(const struct plan *plan, const char *target)
{
    for (size_t k = plan->step_count; k > 0; k--) {
        if (strcmp(plan->steps[k - 1].target, target) == 0)
            return &plan->steps[k - 1];
    }
    return NULL;
}

/*
 * What was asked for must not be undone by a broader step after it. A directory that is bound onto
 * itself takes along what is mounted beneath.
 */
static bool covered_later(const struct plan *plan, const struct plan_step *step)
{
    for (const struct plan_step *s = step + 1; s < plan->steps + plan->step_count; s++) {
        if ((s->flags & (STEP_OWN | STEP_RDONLY)) == STEP_OWN)
            continue;
        if ((s->kind == STEP_BIND || s->kind == STEP_TMPFS) && beneath(step->target, s->target))
            return true;
    }
    return false;
}

static void check_files(const struct plan *plan)
{
    const struct policy *policy = plan->policy;
    for (size_t k = 0; k < plan->step_count; k++)
        check_step(plan, k);
    for (size_t k = 0; k < plan->rule_count; k++)
        PROMISE(plan->rules[k].path[0] == '/');
    if (!plan->own_tree)
        return;
    for (size_t k = 0; k < policy->ro.count; k++) {
        const char *target = policy->ro.items[k].sandbox + 1;
        const struct plan_step *s = last_at(plan, target);
        if (s != NULL && s->kind == STEP_LINK) /* one of the host's own at the top, into what is shown already */
            continue;
        PROMISE(s != NULL && (s->flags & STEP_RDONLY) != 0); /* at its own target ro always wins */
        PROMISE(!covered_later(plan, s));
    }
    for (size_t k = 0; k < policy->rw.count; k++) {
        const struct plan_step *s = last_at(plan, policy->rw.items[k].sandbox + 1);
        PROMISE(s != NULL && !covered_later(plan, s));
    }
}

/* The caller's directory, and what is protected in writable trees: only a bind by name may change it. */
static void check_implicit(const struct plan *plan)
{
    if (plan->policy->rw_cwd && plan->own_tree) {
        const struct plan_step *s = last_at(plan, plan->host->cwd + 1);
        PROMISE(s != NULL && !covered_later(plan, s));
    }
    for (size_t k = 0; k < plan->step_count; k++) {
        const struct plan_step *s = &plan->steps[k];
        if ((s->flags & (STEP_OWN | STEP_RDONLY)) != (STEP_OWN | STEP_RDONLY))
            continue;
        for (size_t j = k + 1; j < plan->step_count; j++) {
            const struct plan_step *over = &plan->steps[j];
            const bool mounts = over->kind == STEP_BIND || over->kind == STEP_TMPFS;
            PROMISE(!mounts || !beneath(s->target, over->target) || (over->flags & (STEP_LISTED | STEP_OWN)) != 0);
        }
    }
}

/* The names of `place` that follow those of `dir`; NULL: it is not beneath. */
static const char *rest_of(const char *place, const char *dir)
{
    const size_t len = strlen(dir);
    if (dir[len - (len > 0)] == '/' || len == 0)
        return strncmp(place, dir, len) == 0 ? place + len : NULL;
    return strcmp(place, dir) == 0 ? place + len : beneath(place, dir) ? place + len + 1 : NULL;
}

/* Which step shows what is seen at a place inside. */
static size_t shown_by(const struct plan *plan, const char *place)
{
    size_t by = 0;
    for (size_t k = 1; k < plan->step_count; k++) {
        const struct plan_step *s = &plan->steps[k];
        const bool shows = s->kind == STEP_TMPFS || s->kind == STEP_BIND || s->kind == STEP_LINK;
        if (shows && (s->flags & STEP_OWN) == 0 && rest_of(place, s->target) != NULL &&
            strlen(s->target) >= strlen(plan->steps[by].target))
            by = k;
    }
    return by;
}

/* One path for all that lead to the same file. */
static const char *file_at(struct arena *arena, const struct host *host, const char *dir, const char *rest)
{
    const char *at = policy_normalize_path(arena, arena_printf(arena, "%s/%s", dir, rest));
    const char *inner = host->mount_count == 2 ? rest_of(at, host_mounts[1].point) : NULL;
    return inner == NULL ? at : arena_printf(arena, "/srv%s%s", inner[0] == '\0' ? "" : "/", inner);
}

static bool hides_it(const struct plan *plan, size_t step, const char *rest)
{
    for (size_t k = 0; k < plan->hide_count; k++) {
        const struct plan_hide *h = &plan->hides[k];
        const char *inner = h->step == step ? rest_of(rest, h->prefix) : NULL;
        glob_states states = h->states;
        if (inner != NULL && glob_follow(h->glob, &states, inner))
            return true;
    }
    return false;
}

/* A file that is hidden at one place is seen at no other. */
static void check_hidden(const struct plan *plan, struct arena *arena)
{
    const struct policy_names *names = &plan->policy->hide;
    for (size_t k = 0; k < plan->hide_count; k++)
        PROMISE(plan->hides[k].step < plan->step_count && plan->hides[k].states != 0);
    if (plan->fs_mode != FS_VIEW || plan->host->mount_count == 0 || host_off(plan->host, OFF_HIDE))
        return;
    for (size_t k = 0; k < names->count; k++) {
        const char *place = names->items[k] + 1;
        if (names->items[k][0] != '/')
            continue;
        const size_t by = shown_by(plan, place);
        const struct plan_step *from = &plan->steps[by];
        if (from->kind != STEP_BIND || (from->flags & STEP_FD) != 0)
            continue;
        const char *file = file_at(arena, plan->host, from->source, rest_of(place, from->target));
        for (size_t j = 0; j < plan->step_count; j++) {
            const struct plan_step *s = &plan->steps[j];
            if (s->kind != STEP_BIND || (s->flags & (STEP_OWN | STEP_FD)) != 0)
                continue;
            const char *rest = rest_of(file, file_at(arena, plan->host, s->source, ""));
            if (rest != NULL && shown_by(plan, arena_printf(arena, "%s/%s", s->target, rest)) == j)
                PROMISE(hides_it(plan, j, rest));
        }
    }
}

/* Whether something that was asked for cannot be had. */
static bool check_claims(const struct plan *plan)
{
    uint32_t all = 0;
    bool missing = false;
    for (int k = 0; k < CAPABILITY_COUNT; k++) {
        const struct plan_claim *c = &plan->claims[k];
        struct plan_words words;
        plan_describe(plan, (enum capability)k, &words);
        PROMISE(words.requested[0] != '\0' && words.details[0] != '\0');
        PROMISE(strlen(words.details) < sizeof words.details - 1); /* no sentence is cut */
        PROMISE((c->mechanism == NULL) == (c->why != NULL));
        PROMISE(c->mechanism == NULL || c->proof != 0 || k == CAP_OUTPUT);
        PROMISE(c->mechanism != NULL || c->instead != NULL || c->proof == 0);
        PROMISE(c->instead == NULL || c->mechanism == NULL);
        PROMISE(c->requested || c->mechanism == NULL);
        missing = missing || (c->requested && c->mechanism == NULL);
        all |= c->proof;
    }
    PROMISE((plan->must & ~all) == 0);
    PROMISE((plan->must & (PROOF_EMPTY | PROOF_TIMER)) == 0);
    return missing;
}

/* Without namespaces: nothing beneath what is listed as writable is left out, nothing else can be written. */
static void check_rules(const struct plan *plan)
{
    for (size_t k = 0; k < plan->rule_count; k++) {
        const struct plan_rule *rule = &plan->rules[k];
        PROMISE(rule->path[0] == '/' && rule->access != 0);
        bool allowed = (rule->access & (LL_MAKE_REG | LL_REMOVE_FILE)) == 0 ||
                       (plan->work_dir != NULL && strcmp(rule->path, plan->work_dir) == 0) ||
                       (plan->policy->work == WORK_HOST && strcmp(rule->path, plan->policy->work_host) == 0) ||
                       (plan->policy->rw_cwd && strcmp(rule->path, plan->host->cwd) == 0);
        for (size_t i = 0; !allowed && i < plan->policy->rw.count; i++)
            allowed = strcmp(plan->policy->rw.items[i].host, rule->path) == 0;
        PROMISE(allowed);
    }
}

static void check_plan(const struct plan *plan, struct arena *arena)
{
    BUF_AUTO text = BUF_INIT(1 << 24);
    if (plan_on_host_paths(plan)) {
        PROMISE(plan->step_count == 0 && !plan->own_tree && !plan->pidns && !plan->netns);
    } else {
        check_files(plan);
        check_implicit(plan);
        check_hidden(plan, arena);
    }
    if (plan->bare)
        check_rules(plan);
    PROMISE(plan->uid_host != 0 || plan_portable(plan)); /* never root on the host */
    PROMISE(!plan_portable(plan) || (plan->must & ~(uint32_t)PROOF_NOFILE) == 0);
    PROMISE(plan->rlimit_count <= PLAN_MAX_RLIMITS);
    PROMISE(plan->cwd[0] == '/' && plan->candidates[0] != NULL);
    PROMISE(!plan->loopback || plan->netns);
    plan_print(plan, &text);
    PROMISE(!text.failed);
    for (size_t k = 0; k < text.len; k++)
        PROMISE(text.data[k] == '\n' || (unsigned char)text.data[k] >= ' ');
}

/* Who is to run it; native also on a host that refuses namespaces. */
static enum policy_backend invent_backend(struct choices *c, struct host *host)
{
    static const char *top[] = {"/etc", "/srv", "/dev", "/proc", NULL};
    static const enum policy_backend by[] = {BACKEND_AUTO, BACKEND_NATIVE, BACKEND_BWRAP, BACKEND_POSIX, BACKEND_NONE};
    const unsigned which = pick(c, sizeof by / sizeof by[0]);
    host->refused.userns = which == 1 && pick(c, 2) == 1;
    host->refused.top = top;
    host->bwrap = "/usr/bin/bwrap";
    memcpy(host->work_dir, "/tmp/work-1", sizeof "/tmp/work-1");
    return by[which];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char command[] = "true";
    static char runtime[] = "XDG_RUNTIME_DIR=/srv//run";
    static char *argv[] = {command, NULL};
    char *env[] = {NULL, NULL};
    struct choices c = {data, size};
    struct arena input = ARENA_INIT(8u << 20);
    struct arena arena = ARENA_INIT(8u << 20);
    struct cordon_error err = {0};
    struct policy policy;
    struct host host;
    struct plan plan;

    invent_policy(&c, &input, &policy);
    invent_host(&c, &input, &host);
    env[0] = pick(&c, 2) == 1 ? runtime : NULL;
    if (pick(&c, 4) == 1)
        arena.max = pick(&c, 256) * 512u;
    if (policy_validate(&policy, NULL) == 0) { /* nobody compiles another one */
        const struct plan_request request = {.policy = &policy,
                                             .host = &host,
                                             .backend = invent_backend(&c, &host),
                                             .command = argv,
                                             .caller_env = env};
        int r = plan_compile(&plan, &arena, &request, &err);
        PROMISE(r <= 0);
        const bool missing = check_claims(&plan);
        PROMISE(r < 0 || !missing || policy.allow_partial || plan.backend == BACKEND_NONE);
        if (r == 0)
            check_plan(&plan, &input);
        else
            PROMISE(err.kind != CORDON_ERROR_NONE && (err.errnum != 0 || err.why[0] != '\0'));
    }
    arena_free(&arena);
    arena_free(&input);
    return 0;
}
