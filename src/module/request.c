#include "module/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cwd.h"

static int no_memory(struct cordon_error *err, const struct module *module)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_MODULE, ENOMEM, "call module",
                   module->manifest.id);
}

const char *module_runner_beside(struct arena *arena, const char *program, const char *relative)
{
    const char *slash = strrchr(program, '/');
    const char *path = arena_printf(arena, "%.*s/%s", slash == NULL ? 0 : (int)(slash - program),
                                    program, relative);
    return path == NULL ? NULL : policy_normalize_path(arena, path);
}

/* {module} in a word is the module's directory; module_find() has seen that it is not too long. */
static const char *expand(struct arena *arena, const char *word, const char *dir)
{
    static const char mark[] = MODULE_MARK;
    BUF_AUTO text = BUF_INIT(MODULE_WORD_MAX);
    for (const char *at = strstr(word, mark); at != NULL; at = strstr(word, mark)) {
        buf_append(&text, word, (size_t)(at - word));
        buf_puts(&text, dir);
        word = at + sizeof mark - 1;
    }
    buf_puts(&text, word);
    return text.failed ? NULL : arena_strndup(arena, text.data != NULL ? text.data : "", text.len);
}

/* The first word of a command: a name for PATH, or a file of the module's own. */
static const char *program(struct arena *arena, const char *word, const char *dir)
{
    const char *name = expand(arena, word, dir);
    if (name == NULL || name[0] == '/' || strchr(name, '/') == NULL)
        return name;
    name = arena_printf(arena, "%s/%s", dir, name);
    return name == NULL ? NULL : policy_normalize_path(arena, name);
}

static char **command(struct arena *arena, const struct manifest *m, const char *dir,
                      const char *runner)
{
    const size_t count = m->command != NULL ? m->command_count : 4;
    const char **words = arena_array(arena, count + 1, sizeof *words);
    if (words == NULL)
        return NULL;
    if (m->command == NULL) {
        words[0] = runner;
        words[1] = MODULE_RUNNER_FLAG;
        words[2] = m->id;
        words[3] = arena_printf(arena, "%s/%s", dir, m->library);
    }
    for (size_t i = 0; i < count; i++) {
        if (m->command != NULL)
            words[i] = (i == 0 ? program : expand)(arena, m->command[i], dir);
        if (words[i] == NULL)
            return NULL;
    }
    return (char **)(void *)words; /* execve() takes them so and changes none */
}

char **module_command(struct arena *arena, const struct module *module, const char *runner)
{
    return command(arena, &module->manifest, module->dir, runner);
}

/* A copy whose lists grow in a place of their own: the caller's may be used by others. */
static struct policy copy_of(const struct policy *original)
{
    struct policy policy = *original;
    policy.ro.room = policy.rw.room = 0;
    policy.env.deny.room = policy.env.set.room = 0;
    return policy;
}

/* Who gave no ceiling has one all the same, and wrote it: the policy of the call. */
static void call_it_policy(struct cordon_error *err)
{
    static const char ceiling[] = "the ceiling";
    char why[sizeof err->why];
    const char *at = strstr(err->why, ceiling);
    if (at == NULL)
        return;
    snprintf(why, sizeof why, "%.*syour own policy%s", (int)(at - err->why), err->why, at + sizeof ceiling - 1);
    err_why(err, why);
}

/* What the manifest asks for, checked against what the caller grants. */
static int grant(struct policy *policy, struct arena *arena, const struct module *module,
                 const struct module_terms *terms, struct cordon_error *err)
{
    const uint64_t *most = terms->timeout_ms;
    if (most != NULL && *most > policy->limits.wall_ms)
        policy->limits.wall_ms = *most;
    const struct policy own = *policy;
    int r = manifest_ask(&module->manifest, policy, arena, err);
    if (r < 0)
        return r;
    if (most != NULL && *most < policy->limits.wall_ms)
        policy->limits.wall_ms = *most;
    r = policy_within(policy, terms->ceiling != NULL ? terms->ceiling : &own, cwd_name(arena), err);
    if (r < 0 && err != NULL) {
        snprintf(err->what, sizeof err->what, "grant module %.56s its request", module->manifest.id);
        if (terms->ceiling == NULL)
            call_it_policy(err);
        err_remedy(err, terms->ceiling != NULL
                            ? "grant it in the document of --within, if you trust the module"
                            : "grant it with --within FILE, or by an option, if you trust the module");
    }
    return r;
}

/* /work is mounted over whatever lies there: that is shown at another place. */
static const char *place_of(const struct policy *policy, const char *path, const char *otherwise)
{
    const bool hidden = policy->work != WORK_NONE && policy_path_beneath(path, "/work");
    return hidden ? otherwise : path;
}

/* Read-only, unless it can be seen there already. */
static int show(struct policy *policy, struct arena *arena, const char *host, const char *place,
                struct cordon_error *err)
{
    if (policy->fs_mode == FS_GUARD || (policy->system_ro && policy_path_beneath(place, "/usr")))
        return 0;
    for (size_t i = 0; i < policy->ro.count; i++) {
        if (strcmp(policy->ro.items[i].sandbox, place) == 0)
            return 0;
    }
    return policy_add_bind(&policy->ro, arena, host, place, false, err);
}

int module_request(struct module_request *out, struct arena *arena, const struct module_root *root,
                   const struct module *module, const struct module_terms *terms,
                   struct cordon_error *err)
{
    struct policy policy = copy_of(terms->policy);
    int r = grant(&policy, arena, module, terms, err);
    const char *inside = place_of(&policy, root->path, "/extensions");
    const char *runner = place_of(&policy, terms->runner, "/" MODULE_RUNNER);
    if (r == 0)
        r = show(&policy, arena, root->path, inside, err);
    /* A runner that is missing is found out by the start, which has a status for it. */
    if (r == 0 && module->manifest.library != NULL && access(terms->runner, F_OK) == 0)
        r = show(&policy, arena, terms->runner, runner, err);
    if (r == 0)
        r = policy_add_var(&policy.env.set, arena, "APCORE_EXTENSIONS_ROOT", inside, err);
    /* Whatever else the policy passes on: credentials are never for modules. */
    if (r == 0)
        r = policy_add_name(&policy.env.deny, arena, "APCORE_AUTH_*", err);
    if (r == 0)
        r = policy_validate(&policy, err);
    if (r < 0)
        return r;
    const char *dir = arena_printf(arena, "%s/%s", inside, module->manifest.id);
    char **words = dir == NULL ? NULL : command(arena, &module->manifest, dir, runner);
    if (words == NULL)
        return no_memory(err, module);
    *out = (struct module_request){.policy = policy, .command = words};
    return 0;
}
