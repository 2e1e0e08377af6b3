#include "layer/refusal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "layer/workdir.h"
#include "plan/plan.h"

#define MAX_TOP 256 /* entries of "/" */

enum refusal layer_refusal_of(const struct cordon_error *met)
{
    const int e = met->errnum;
    /* So a kernel answers that was built without a namespace. */
    const bool unbuilt =
        e == EINVAL && (met->layer == CORDON_LAYER_NAMESPACES || met->layer == CORDON_LAYER_NETWORK);
    if (met->kind != CORDON_ERROR_SETUP ||
        (e != EPERM && e != EACCES && e != ENOSPC && e != ENOSYS && e != EUSERS && !unbuilt))
        return REFUSAL_NONE;
    switch (met->layer) {
    case CORDON_LAYER_MOUNTS:
        return strcmp(met->what, "mount proc") == 0 ? REFUSAL_PROCFS : REFUSAL_USERNS;
    case CORDON_LAYER_NAMESPACES:
    case CORDON_LAYER_IDENTITY:
    case CORDON_LAYER_NETWORK:
        return REFUSAL_USERNS;
    default:
        return REFUSAL_NONE;
    }
}

/* A number in a file of one line; -1: there is none. */
static long read_number(const char *path)
{
    char text[32] = "";
    FILE *file = fopen(path, "re");
    bool ok = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL)
        fclose(file);
    return ok ? strtol(text, NULL, 10) : -1;
}

/* A filter is around this process. */
static bool is_filtered(void)
{
    static const char start[] = "Seccomp:\t2";
    char line[4096];
    bool found = false;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, start, sizeof start - 1) == 0;
    if (file != NULL)
        fclose(file);
    return found;
}

/* In a chroot nothing that this process sees is mounted on its root. */
static bool is_chroot(void)
{
    char line[4096];
    bool mounted = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    if (file == NULL)
        return false;
    while (!mounted && fgets(line, sizeof line, file) != NULL) {
        char where[4096];
        mounted = sscanf(line, "%*d %*d %*s %*s %4095s", where) == 1 && strcmp(where, "/") == 0;
    }
    fclose(file);
    return !mounted;
}

bool layer_refusal_in_a_run(void)
{
    struct utsname host;
    return uname(&host) == 0 && strcmp(host.nodename, PLAN_HOSTNAME) == 0;
}

/* The first cause that shows. */
static const char *cause_of(int errnum)
{
    const bool counted = errnum == ENOSPC || errnum == EUSERS;
    if (errnum == EINVAL)
        return "this kernel is built without them: boot one with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_IPC_NS and "
               "CONFIG_NET_NS";
    if (!counted && layer_refusal_in_a_run() && is_filtered())
        return REFUSAL_NESTED;
    if (counted || read_number("/proc/sys/user/max_user_namespaces") == 0)
        return "their number is limited: sysctl -w user.max_user_namespaces=15000";
    if (read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
        return "this kernel keeps them for root: sysctl -w kernel.unprivileged_userns_clone=1";
    if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
        return "AppArmor restricts them: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or a profile "
               "for cordon with 'userns,'";
    if (is_chroot())
        return "the kernel gives none inside a chroot: run cordon outside of it";
    if (is_filtered())
        return "a seccomp filter around this process refuses them, as containers have: give the container one that "
               "allows clone and unshare with CLONE_NEWUSER";
    if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0)
        return "the container around this process refuses them: allow user namespaces in it";
    return "a security module of this host refuses them (SELinux: user_namespace create)";
}

static int list_top(struct host *host, struct arena *arena)
{
    const char **top = arena_array(arena, MAX_TOP + 1, sizeof *top);
    DIR *dir = top == NULL ? NULL : opendir("/");
    if (dir == NULL)
        return -errno;
    const struct dirent *entry;
    for (size_t n = 0; n < MAX_TOP && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        top[n] = arena_printf(arena, "/%s", entry->d_name);
        if (top[n++] == NULL)
            break;
    }
    closedir(dir);
    host->refused.top = top;
    return 0;
}

int layer_refusal_note(struct host *host, struct arena *arena, const struct policy *policy, enum refusal kind,
                       const struct cordon_error *met, struct cordon_error *err)
{
    struct host_refusals *refused = &host->refused;
    refused->error = *met;
    if (kind == REFUSAL_PROCFS) {
        refused->procfs = true;
        return 0;
    }
    refused->userns = true;
    err_remedy(&refused->error, cause_of(met->errnum));
    int r = layer_workdir_name(host->work_dir, sizeof host->work_dir);
    if (r < 0)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PLAN, -r, "name a work directory", "getrandom");
    r = policy->fs_mode == FS_GUARD ? list_top(host, arena) : 0;
    return r < 0 ? err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PLAN, -r, "list", "/") : 0;
}
