#include <sys/utsname.h>

#include "doctor/acts.h"
#include "doctor/doctor.h"
#include "layer/cgroup.h"
#include "wire/result_json.h"

static void put_cause(struct json_writer *w, const struct doctor_cause *cause)
{
    json_put_string(w, "reason", cause->reason);
    json_put_string(w, "remedy", cause->remedy[0] != '\0' ? cause->remedy : NULL);
}

static void put_landlock(struct json_writer *w, int abi)
{
    const char *adds;
    json_put_int(w, "abi", abi);
    json_key(w, "abis");
    json_begin(w, '[');
    for (int i = 1; (adds = doctor_landlock_adds(i)) != NULL; i++) {
        json_begin(w, '{');
        json_put_int(w, "abi", i);
        json_put_string(w, "adds", adds);
        json_put_bool(w, "available", i <= abi);
        json_end(w, '}');
    }
    json_end(w, ']');
}

static void put_notify(struct json_writer *w, uint64_t flags)
{
    json_key(w, "flags");
    json_begin(w, '{');
    json_put_bool(w, "addfd_send", (flags & NOTIFY_ADDFD_SEND) != 0);
    json_put_bool(w, "wait_killable", (flags & NOTIFY_WAIT_KILLABLE) != 0);
    json_put_bool(w, "sync_wake_up", (flags & NOTIFY_SYNC_WAKE_UP) != 0);
    json_end(w, '}');
}

static void put_controllers(struct json_writer *w, const struct host_cgroup *host,
                            enum cgroup_version version)
{
    json_key(w, "controllers");
    json_begin(w, '{');
    for (unsigned i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        const struct host_cgroup_controller *c = &host->controllers[i];
        json_key(w, cgroup_controller_name((enum cgroup_controller)i));
        json_begin(w, '{');
        json_put_bool(w, "available", c->version == version);
        char lack[CGROUP_LACK_SIZE] = "";
        if (c->version == CGROUP_NONE)
            layer_cgroup_lack(lack, host, (enum cgroup_controller)i);
        json_put_string(w, "reason", c->version == version       ? host->dirs[i]
                                     : c->version != CGROUP_NONE ? "it belongs to the other version"
                                                                 : lack);
        json_end(w, '}');
    }
    json_end(w, '}');
}

static void put_bwrap(struct json_writer *w, const struct bwrap_found *bwrap)
{
    json_put_string(w, "path", bwrap->path[0] != '\0' ? bwrap->path : NULL);
    json_put_bool(w, "trusted", bwrap->trusted);
    json_key(w, "trusted_paths");
    json_begin(w, '[');
    for (unsigned i = 0; i < BWRAP_TRUSTED_COUNT; i++)
        json_string(w, bwrap_trusted_paths[i]);
    json_end(w, ']');
}

static void put_answer(struct json_writer *w, const struct doctor *d, enum doctor_id id)
{
    const struct doctor_answer *answer = &d->answers[id];
    json_key(w, doctor_key(id));
    json_begin(w, '{');
    json_put_bool(w, "available", answer->available);
    put_cause(w, &answer->cause);
    json_put_bool(w, "needed", doctor_needed(id));
    json_put_string(w, "use", doctor_use(id));
    if (id == DOCTOR_LANDLOCK)
        put_landlock(w, answer->available ? (int)answer->number : 0);
    else if (id == DOCTOR_SECCOMP_NOTIFY)
        put_notify(w, answer->available ? answer->number : 0);
    else if (id == DOCTOR_CGROUP2 || id == DOCTOR_CGROUP1)
        put_controllers(w, &d->cgroup, id == DOCTOR_CGROUP2 ? CGROUP_V2 : CGROUP_V1);
    else if (id == DOCTOR_BWRAP)
        put_bwrap(w, &d->bwrap);
    json_end(w, '}');
}

static void put_layers(struct json_writer *w, const struct doctor *d)
{
    json_key(w, "layers");
    json_begin(w, '{');
    for (unsigned i = 0; i < DOCTOR_LAYER_COUNT; i++) {
        json_key(w, doctor_layer_name((enum doctor_layer)i));
        json_begin(w, '{');
        json_put_string(w, "state", d->layers[i].on ? "on" : "off");
        json_put_string(w, "reason", d->layers[i].reason);
        json_end(w, '}');
    }
    json_end(w, '}');
}

static void put_trial(struct json_writer *w, const char *key, const struct doctor *d,
                      const struct doctor_trial *trial)
{
    json_key(w, key);
    json_begin(w, '{');
    json_put_string(w, "name", trial->profile);
    json_put_bool(w, "enforceable", trial->enforceable);
    json_put_string(w, "status", status_name(trial->status));
    put_cause(w, &trial->cause);
    json_key(w, "enforced");
    ledger_write_json(&trial->ledger, w);
    if (trial == &d->asked && d->layers_given)
        put_layers(w, d);
    json_end(w, '}');
}

static void put_setting(struct json_writer *w, const struct doctor_setting *s)
{
    const struct {
        const char *key;
        long value;
    } sysctls[] = {{"kernel.unprivileged_userns_clone", s->userns_clone},
                   {"user.max_user_namespaces", s->max_user_namespaces},
                   {"kernel.apparmor_restrict_unprivileged_userns", s->apparmor_restrict}};
    json_key(w, "host");
    json_begin(w, '{');
    json_put_uint(w, "uid", s->uid);
    json_put_string(w, "container", s->container[0] != '\0' ? s->container : NULL);
    json_put_bool(w, "chroot", s->chroot);
    json_put_bool(w, "seccomp_filtered", s->seccomp == 2);
    json_put_string(w, "lsm", s->lsm[0] != '\0' ? s->lsm : NULL);
    json_put_string(w, "label", s->label[0] != '\0' ? s->label : NULL);
    json_put_string(w, "masked_proc", s->masked[0] != '\0' ? s->masked : NULL);
    json_key(w, "sysctl");
    json_begin(w, '{');
    for (unsigned i = 0; i < sizeof sysctls / sizeof sysctls[0]; i++) {
        json_key(w, sysctls[i].key);
        if (sysctls[i].value == SETTING_UNKNOWN)
            json_null(w);
        else
            json_int(w, sysctls[i].value);
    }
    json_end(w, '}');
    json_end(w, '}');
}

void doctor_write_json(const struct doctor *d, struct buf *out)
{
    struct utsname host;
    struct json_writer w = JSON_WRITER(out, 2);
    json_begin(&w, '{');
    json_put_int(&w, "version", 1);
    for (unsigned i = 0; i < DOCTOR_COUNT; i++)
        put_answer(&w, d, (enum doctor_id)i);
    put_trial(&w, "default", d, &d->standard);
    if (d->asked_given)
        put_trial(&w, "profile", d, &d->asked);
    put_setting(&w, &d->setting);
    json_key(&w, "cordon");
    json_begin(&w, '{');
    json_put_string(&w, "version", CORDON_VERSION);
    json_put_string(&w, "kernel", uname(&host) == 0 ? host.release : NULL);
    json_end(&w, '}');
    json_end(&w, '}');
    buf_puts(out, "\n");
}
