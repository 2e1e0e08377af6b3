/* What a policy may ask for and should think about first. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/policy.h"

struct warner {
    policy_warning_fn *warn;
    void *context;
};

/* The entry itself is named too: who used an option has no document to point into. */
static void say(const struct warner *w, const char *list, size_t index, const char *entry,
                const char *text)
{
    char pointer[64];
    char message[256];
    char safe[128];
    text_escape(safe, sizeof safe, entry, strlen(entry));
    snprintf(pointer, sizeof pointer, "%s/%zu", list, index);
    snprintf(message, sizeof message, "'%s' %s", safe, text);
    w->warn(w->context, pointer, message);
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
            say(w, "/fs/rw", i, host, "is the whole host, and it is writable inside");
        else if (is_home(host))
            say(w, "/fs/rw", i, host,
                "is a home directory and writable inside: start-up files, keys, all of it");
        else if (policy_path_beneath("/etc", host) || policy_path_beneath("/usr", host))
            say(w, "/fs/rw", i, host, "is a system directory and writable inside");
    }
}

static void warn_shadowed(const struct warner *w, const struct policy *p)
{
    for (size_t i = 0; i < p->rw.count; i++) {
        for (size_t k = 0; k < p->ro.count; k++) {
            if (strcmp(p->rw.items[i].sandbox, p->ro.items[k].sandbox) == 0)
                say(w, "/fs/rw", i, p->rw.items[i].sandbox,
                    "is in ro as well, which wins: it is read-only");
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
                say(w, "/env/allow", i, name,
                    "passes no loader variables: each of them must be named");
        } else if (policy_loader_variable(name)) {
            say(w, "/env/allow", i, name,
                "is a loader variable and passes: it can make any program run other code");
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
        w->warn(w->context, "/allow_partial",
                "a run goes on where something asked for cannot be enforced");
}

void policy_warnings(const struct policy *policy, policy_warning_fn *warn, void *context)
{
    const struct warner w = {warn, context};
    warn_rw(&w, policy);
    warn_shadowed(&w, policy);
    warn_loaders(&w, policy);
    warn_loosened(&w, policy);
}
