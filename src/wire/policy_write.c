/* Writing policies. The same policy gives the same bytes, always: people compare and hash them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sha256.h"
#include "wire/policy_json.h"

#define INDENT 2
/* A policy that was read from 1 MiB can be longer with its short forms written out. */
#define WRITTEN_MAX (64 * 1024 * 1024)
#define WRITTEN_USUAL 4096

static void put_names(struct json_writer *w, const char *key, const struct policy_names *list)
{
    json_key(w, key);
    json_begin(w, '[');
    for (size_t i = 0; i < list->count; i++)
        json_string(w, list->items[i]);
    json_end(w, ']');
}

static void put_vars(struct json_writer *w, const char *key, const struct policy_vars *list)
{
    json_key(w, key);
    json_begin(w, '{');
    for (size_t i = 0; i < list->count; i++)
        json_put_string(w, list->items[i].name, list->items[i].value);
    json_end(w, '}');
}

static void put_bind(struct json_writer *w, const struct policy_bind *bind, bool short_form)
{
    if (short_form && !bind->optional && strcmp(bind->host, bind->sandbox) == 0) {
        json_string(w, bind->host);
        return;
    }
    json_begin(w, '{');
    json_put_string(w, "host", bind->host);
    json_put_string(w, "sandbox", bind->sandbox);
    if (short_form && bind->optional)
        json_put_bool(w, "optional", true);
    json_end(w, '}');
}

static void put_binds(struct json_writer *w, const char *key, const struct policy_binds *list,
                      bool short_form)
{
    json_key(w, key);
    json_begin(w, '[');
    for (size_t i = 0; i < list->count; i++)
        put_bind(w, &list->items[i], short_form);
    json_end(w, ']');
}

static void put_limit(struct json_writer *w, const char *key, uint64_t value)
{
    json_key(w, key);
    if (value == POLICY_UNLIMITED)
        json_null(w);
    else
        json_uint(w, value);
}

/* By hand: printf() would obey the locale of the program that uses the library. */
static void put_cpus(struct json_writer *w, double cpus)
{
    char text[32];
    const unsigned thousandths = (unsigned)(cpus * 1000 + 0.5);
    json_key(w, "cpus");
    if (thousandths == 0) {
        json_null(w);
        return;
    }
    int n = snprintf(text, sizeof text, "%u.%03u", thousandths / 1000, thousandths % 1000);
    while (text[n - 1] == '0')
        n--;
    n -= text[n - 1] == '.';
    json_raw(w, text, (size_t)n);
}

static void put_fs(struct json_writer *w, const struct policy *p)
{
    json_key(w, "fs");
    json_begin(w, '{');
    json_put_string(w, "mode", policy_fs_mode_name(p->fs_mode));
    json_put_bool(w, "system_ro", p->system_ro);
    put_binds(w, "rw", &p->rw, true);
    put_binds(w, "ro", &p->ro, true);
    put_names(w, "hide", &p->hide);
    json_key(w, "work");
    if (p->work == WORK_HOST) {
        json_begin(w, '{');
        json_put_string(w, "host", p->work_host);
        json_end(w, '}');
    } else {
        json_string(w, policy_work_name(p->work));
    }
    put_limit(w, "tmp_bytes", p->tmp_bytes);
    json_put_bool(w, "private_tmp", p->private_tmp);
    json_put_bool(w, "rw_cwd", p->rw_cwd);
    put_names(w, "protect", &p->protect);
    json_end(w, '}');
}

static void put_env(struct json_writer *w, const struct policy_env *env)
{
    json_key(w, "env");
    json_begin(w, '{');
    json_put_bool(w, "inherit", env->inherit);
    put_names(w, "allow", &env->allow);
    put_names(w, "deny", &env->deny);
    put_vars(w, "set", &env->set);
    put_vars(w, "default", &env->fallback);
    json_end(w, '}');
}

static void put_limits(struct json_writer *w, const struct policy_limits *limits)
{
    json_key(w, "limits");
    json_begin(w, '{');
    put_limit(w, "wall_ms", limits->wall_ms);
    put_limit(w, "cpu_ms", limits->cpu_ms);
    put_limit(w, "mem_bytes", limits->mem_bytes);
    put_limit(w, "pids", limits->pids);
    put_limit(w, "nofile", limits->nofile);
    put_limit(w, "output_bytes", limits->output_bytes);
    json_put_string(w, "on_overflow", policy_overflow_name(limits->on_overflow));
    put_limit(w, "grace_ms", limits->grace_ms);
    put_cpus(w, limits->cpus);
    json_end(w, '}');
}

void policy_write_v1(const struct policy *policy, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out, INDENT);
    json_begin(&w, '{');
    put_limit(&w, "version", 1);
    json_put_string(&w, "extends", policy_profile_name(policy->profile));
    put_fs(&w, policy);
    json_put_string(&w, "net", policy_net_name(policy->net));
    put_env(&w, &policy->env);
    put_limits(&w, &policy->limits);
    json_key(&w, "proc");
    json_begin(&w, '{');
    json_put_string(&w, "uid", policy_uid_name(policy->uid));
    json_put_string(&w, "seccomp", policy_seccomp_name(policy->seccomp));
    json_put_string(&w, "on_forbidden", policy_forbidden_name(policy->on_forbidden));
    json_put_string(&w, "cwd", policy->cwd);
    json_end(&w, '}');
    json_put_string(&w, "backend", policy_backend_name(policy->backend));
    put_names(&w, "require", &policy->require);
    json_put_bool(&w, "allow_partial", policy->allow_partial);
    json_end(&w, '}');
    buf_puts(out, "\n");
}

static void put_noether(struct json_writer *w, const struct policy *p)
{
    put_binds(w, "ro_binds", &p->ro, false);
    if (p->rw.count > 0)
        put_binds(w, "rw_binds", &p->rw, false);
    if (p->work == WORK_HOST)
        json_put_string(w, "work_host", p->work_host);
    json_put_bool(w, "network", p->net == NET_HOST);
    put_names(w, "env_allowlist", &p->env.allow);
}

static void put_sandbox_policy(struct json_writer *w, const struct policy *p)
{
    put_limit(w, "wall_time_s", p->limits.wall_ms / 1000);
    put_limit(w, "cpu_time_s", p->limits.cpu_ms / 1000);
    put_limit(w, "mem_bytes", p->limits.mem_bytes);
    put_limit(w, "pids_max", p->limits.pids);
    put_limit(w, "nofile", p->limits.nofile);
    put_limit(w, "output_bytes", p->limits.output_bytes);
    json_put_bool(w, "enforce_network", p->on_forbidden == FORBIDDEN_KILL_SOCKETS);
    json_put_bool(w, "allow_partial", p->allow_partial);
}

void policy_write_form(const struct policy *policy, enum policy_form form, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out, INDENT);
    if (form == FORM_V1) {
        policy_write_v1(policy, out);
        return;
    }
    json_begin(&w, '{');
    if (form != FORM_SANDBOX_POLICY)
        put_noether(&w, policy);
    if (form != FORM_NOETHER)
        put_sandbox_policy(&w, policy);
    json_end(&w, '}');
    buf_puts(out, "\n");
}

int policy_sha256(const struct policy *policy, char out[65])
{
    char room[WRITTEN_USUAL];
    BUF_AUTO text = BUF_IN(room, WRITTEN_MAX);
    policy_write_v1(policy, &text);
    if (text.failed)
        return -ENOMEM;
    sha256_hex(text.data, text.len, out);
    return 0;
}
