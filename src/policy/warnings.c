/* What a policy may ask for and should think about first. */
#include <stdio.h>
#include <string.h>

#include "policy/policy.h"

struct warner {
    policy_warning_fn *warn;
    void *context;
};

static void say(const struct warner *w, const char *list, size_t index, const char *text)
{
    char pointer[64];
    snprintf(pointer, sizeof pointer, "%s/%zu", list, index);
    w->warn(w->context, pointer, text);
}

/* /root, /home/NAME and the roots above them. A policy knows no host, so no password file. */
static bool is_home(const char *path)
{
    if (strcmp(path, "/home") == 0 || strcmp(path, "/root") == 0)
        return true;
    return strncmp(path, "/home/", 6) == 0 && strchr(path + 6, '/') == NULL;
}

static void warn_rw(const struct warner *w, const struct policy *p)
{
    for (size_t i = 0; i < p->rw.count; i++) {
        const char *host = p->rw.items[i].host;
        if (strcmp(host, "/") == 0)
            say(w, "/fs/rw", i, "the whole host is writable inside");
        else if (is_home(host))
            say(w, "/fs/rw", i, "a home directory is writable inside: start-up files, keys, all of it");
        else if (policy_path_beneath("/etc", host) || policy_path_beneath("/usr", host))
            say(w, "/fs/rw", i, "a system directory is writable inside");
    }
}

static void warn_shadowed(const struct warner *w, const struct policy *p)
{
    for (size_t i = 0; i < p->rw.count; i++) {
        for (size_t k = 0; k < p->ro.count; k++) {
            if (strcmp(p->rw.items[i].sandbox, p->ro.items[k].sandbox) == 0)
                say(w, "/fs/rw", i, "the same place is in ro, which wins: it is read-only");
        }
    }
}

static void warn_loaders(const struct warner *w, const struct policy *p)
{
    if (p->env.inherit) /* test and limits: the caller's own programs, the caller's own loader */
        return;
    for (size_t i = 0; i < p->env.allow.count; i++) {
        const char *name = p->env.allow.items[i];
        size_t len = strlen(name);
        if (len > 0 && name[len - 1] == '*') {
            if (strncmp(name, "LD_", len - 1 < 3 ? len - 1 : 3) == 0)
                say(w, "/env/allow", i, "loader variables do not pass by a prefix: name each one");
        } else if (policy_loader_variable(name)) {
            say(w, "/env/allow", i, "a loader variable passes: it can make any program run other code");
        }
    }
}

static void warn_loosened(const struct warner *w, const struct policy *p)
{
    if (p->seccomp == SECCOMP_OFF)
        w->warn(w->context, "/proc/seccomp", "the system call filter is off");
    if (p->backend == BACKEND_NONE)
        w->warn(w->context, "/backend", "backend none isolates nothing");
    if (p->allow_partial)
        w->warn(w->context, "/allow_partial", "the run goes on although something asked for is missing");
}

void policy_warnings(const struct policy *policy, policy_warning_fn *warn, void *context)
{
    const struct warner w = {warn, context};
    warn_rw(&w, policy);
    warn_shadowed(&w, policy);
    warn_loaders(&w, policy);
    warn_loosened(&w, policy);
}
