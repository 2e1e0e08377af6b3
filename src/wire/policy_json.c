#include "wire/policy_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/policy_fields.h"
#include "wire/policy_legacy.h"

const char *policy_form_name(enum policy_form form)
{
    static const char *const names[] = {
        [FORM_V1] = "version 1",
        [FORM_NOETHER] = "noether form",
        [FORM_SANDBOX_POLICY] = "SandboxPolicy form",
        [FORM_MIXED] = "mixed older form",
    };
    return names[form];
}

static int read_work(struct doc *d, const struct json *value, void *target, const void *detail)
{
    static const struct doc_field host_field[] = {{"host", NULL, 0, NULL}};
    static const char remedy[] = "write \"private\", \"none\" or {\"host\": \"/srv/job\"}";
    (void)detail;
    struct policy *policy = target;
    if (value->type == JSON_STRING) {
        int word = policy_words_parse(&policy_work_words, value->text);
        if (word < 0 || word == WORK_HOST)
            return doc_fail(d, value, "unknown word", remedy);
        policy->work = (enum policy_work)word;
        policy->work_host = NULL;
        return 0;
    }
    int r = doc_object(d, value, DOC_FIELDS(host_field), policy);
    if (r < 0) {
        err_remedy(d->err, remedy);
        return r;
    }
    const struct json *host = json_get(value, "host");
    if (host == NULL)
        return doc_fail(d, value, "the work directory has no \"host\"", remedy);
    size_t mark = doc_enter_key(d, "host");
    r = field_path(d, host, &policy->work_host);
    if (r == 0) {
        policy->work = WORK_HOST;
        doc_leave(d, mark);
    }
    return r;
}

static int read_cwd(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    const char **cwd = target;
    if (value->type == JSON_NULL) {
        *cwd = NULL;
        return 0;
    }
    return field_path(d, value, cwd);
}

/* Kept in whole thousandths: what is read is what is written. */
static int read_cpus(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    double *cpus = target;
    if (value->type == JSON_NULL) {
        *cpus = 0;
        return 0;
    }
    if (value->type != JSON_INT && value->type != JSON_REAL)
        return doc_expect(d, value, JSON_REAL);
    if (!(value->real >= 0.01 && value->real <= 4096))
        return doc_fail(d, value, "out of range: 0.01 to 4096", "write null for no limit");
    *cpus = (double)(uint64_t)(value->real * 1000 + 0.5) / 1000;
    return 0;
}

#define AT(member) offsetof(struct policy, member)

static const struct doc_field fs_fields[] = {
    {"mode", field_word, AT(fs_mode), &policy_fs_mode_words},
    {"system_ro", field_bool, AT(system_ro), NULL},
    {"rw", field_binds, AT(rw), NULL},
    {"ro", field_binds, AT(ro), NULL},
    {"hide", field_hide, AT(hide), NULL},
    {"work", read_work, 0, NULL},
    {"tmp_bytes", field_limit, 0, "tmp_bytes"},
    {"private_tmp", field_bool, AT(private_tmp), NULL},
    {"rw_cwd", field_bool, AT(rw_cwd), NULL},
    {"protect", field_names, AT(protect), NULL},
};

static int read_fs(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    struct policy *policy = target;
    int r = doc_object(d, value, DOC_FIELDS(fs_fields), policy);
    /* Who asks for the host's own tree has not asked for a /work in it. */
    if (r == 0 && json_get(value, "mode") != NULL && policy->fs_mode == FS_GUARD &&
        json_get(value, "work") == NULL)
        policy->work = WORK_NONE;
    return r;
}

static const struct doc_field env_fields[] = {
    {"inherit", field_bool, AT(env.inherit), NULL},
    {"allow", field_variables, AT(env.allow), NULL},
    {"deny", field_variables, AT(env.deny), NULL},
    {"set", field_vars, AT(env.set), NULL},
    {"default", field_vars, AT(env.fallback), NULL},
};

static int read_env(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    return doc_object(d, value, DOC_FIELDS(env_fields), target);
}

static const struct doc_field limit_fields[] = {
    {"wall_ms", field_limit, 0, "wall_ms"},
    {"cpu_ms", field_limit, 0, "cpu_ms"},
    {"mem_bytes", field_limit, 0, "mem_bytes"},
    {"pids", field_limit, 0, "pids"},
    {"nofile", field_limit, 0, "nofile"},
    {"output_bytes", field_limit, 0, "output_bytes"},
    {"on_overflow", field_word, AT(limits.on_overflow), &policy_overflow_words},
    {"grace_ms", field_limit, 0, "grace_ms"},
    {"cpus", read_cpus, AT(limits.cpus), NULL},
};

int policy_read_limits(struct doc *d, const struct json *limits, struct policy *policy)
{
    return doc_object(d, limits, DOC_FIELDS(limit_fields), policy);
}

static int read_limits(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    return policy_read_limits(d, value, target);
}

static const struct doc_field proc_fields[] = {
    {"uid", field_word, AT(uid), &policy_uid_words},
    {"seccomp", field_word, AT(seccomp), &policy_seccomp_words},
    {"on_forbidden", field_word, AT(on_forbidden), &policy_forbidden_words},
    {"cwd", read_cwd, AT(cwd), NULL},
};

static int read_proc(struct doc *d, const struct json *value, void *target, const void *detail)
{
    (void)detail;
    return doc_object(d, value, DOC_FIELDS(proc_fields), target);
}

static const struct doc_field top_fields[] = {
    {"version", NULL, 0, NULL}, /* read first: they decide what the rest means */
    {"extends", NULL, 0, NULL},
    {"fs", read_fs, 0, NULL},
    {"net", field_word, AT(net), &policy_net_words},
    {"env", read_env, 0, NULL},
    {"limits", read_limits, 0, NULL},
    {"proc", read_proc, 0, NULL},
    {"backend", field_word, AT(backend), &policy_backend_words},
    {"require", field_require, AT(require), NULL},
    {"allow_partial", field_bool, AT(allow_partial), NULL},
};

static int read_version(struct doc *d, const struct json *version)
{
    size_t mark = doc_enter_key(d, "version");
    int r = doc_expect(d, version, JSON_INT);
    if (r == 0 && version->integer != 1)
        r = doc_fail(d, version, "this version of the document is not known",
                     "write \"version\": 1");
    if (r == 0)
        doc_leave(d, mark);
    return r;
}

void policy_source_base(const struct policy_source *source, struct policy *out)
{
    policy_init(out, source->profile >= 0 ? (enum policy_profile)source->profile : source->fallback);
    if (source->refine != NULL)
        source->refine(out);
}

static int read_v1(struct doc *d, const struct json *root, struct policy *out,
                   struct policy_source *source)
{
    const struct json *version = json_get(root, "version");
    const struct json *extends = json_get(root, "extends");
    unsigned profile = source->profile >= 0 ? (unsigned)source->profile : source->fallback;

    int r = version != NULL ? read_version(d, version) : 0;
    if (r == 0 && extends != NULL) {
        size_t mark = doc_enter_key(d, "extends");
        r = field_word(d, extends, &profile, &policy_profile_words);
        if (r == 0)
            doc_leave(d, mark);
    }
    if (r < 0)
        return r;
    source->form = FORM_V1;
    source->profile = (int)profile;
    policy_source_base(source, out);
    return doc_object(d, root, DOC_FIELDS(top_fields), out);
}

/* Who wrote `extends` wrote the rest for that base: another one would change what it says. */
static int refuse_other_base(struct doc *d, const struct json *root, int named, int taken)
{
    char why[128];
    if (named < 0 || named == taken)
        return 0;
    snprintf(why, sizeof why, "the document extends '%s', and '%s' was asked for",
             policy_profile_name((enum policy_profile)taken),
             policy_profile_name((enum policy_profile)named));
    return doc_fail(d, root, why, "name the same profile, or none");
}

static int read_any(struct doc *d, const struct json *root, struct policy *out, struct policy_source *found)
{
    const int named = found->profile;
    int r = doc_expect(d, root, JSON_OBJECT);
    if (r < 0)
        return r;
    if (json_get(root, "version") != NULL || root->count == 0)
        r = read_v1(d, root, out, found);
    else
        r = policy_legacy_read(d, root, out, found);
    return r < 0 ? r : refuse_other_base(d, root, named, found->profile);
}

int policy_read(struct policy *out, struct arena *arena, const char *text, size_t len,
                struct policy_source *source, struct cordon_error *err)
{
    struct cordon_error ignored;
    struct doc d = {.arena = arena, .err = err != NULL ? err : &ignored, .what = "read policy"};
    struct policy policy;
    struct policy_source found = {
        .profile = source->profile, .fallback = source->fallback, .refine = source->refine};

    /* The tree is several times as large as what the policy keeps of it. */
    struct arena tree = ARENA_INIT(POLICY_ARENA_BYTES);
    const struct json *root = doc_parse(&d, &tree, text, len, POLICY_MAX_BYTES);
    int r = root == NULL ? -EINVAL : read_any(&d, root, &policy, &found);
    arena_free(&tree);
    if (r < 0)
        return r;
    *source = found;
    *out = policy;
    return 0;
}
