#include "layer/privileges.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <string.h>

#include "sys/process.h"

static int fail(struct cordon_error *err, enum cordon_layer layer, long r, const char *what,
                const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, layer, (int)-r, what, subject);
}

static const char *rlimit_name(int resource)
{
    return resource == RLIMIT_NOFILE    ? "RLIMIT_NOFILE"
           : resource == RLIMIT_NPROC   ? "RLIMIT_NPROC"
           : resource == RLIMIT_CPU     ? "RLIMIT_CPU"
           : resource == RLIMIT_RTPRIO  ? "RLIMIT_RTPRIO"
           : resource == RLIMIT_NICE    ? "RLIMIT_NICE"
           : resource == RLIMIT_MEMLOCK ? "RLIMIT_MEMLOCK"
                                        : "RLIMIT_CORE";
}

/* `seen` is what holds then. An ordinary caller cannot raise its own hard limit; a lower one is stricter. */
static long set_limit(int pid, const struct plan_rlimit *want, struct rlimit *seen)
{
    struct rlimit set = {.rlim_cur = want->soft, .rlim_max = want->hard};
    long r = sys_prlimit(pid, want->resource, NULL, seen);
    if (r < 0)
        return r;
    if (set.rlim_max > seen->rlim_max)
        set.rlim_max = seen->rlim_max;
    if (set.rlim_cur > set.rlim_max)
        set.rlim_cur = set.rlim_max;
    if (set.rlim_cur == seen->rlim_cur && set.rlim_max == seen->rlim_max)
        return 0;
    r = sys_prlimit(pid, want->resource, &set, NULL);
    return r < 0 ? r : sys_prlimit(pid, want->resource, NULL, seen);
}

int layer_rlimits_apply(const struct plan *plan, int pid, uint32_t *proof, struct cordon_error *err)
{
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        const struct plan_rlimit *want = &plan->rlimits[i];
        struct rlimit seen;
        long r = set_limit(pid, want, &seen);
        if (r < 0)
            return fail(err, CORDON_LAYER_RLIMITS, r, "set limit", rlimit_name(want->resource));
        if (want->resource == RLIMIT_NOFILE && seen.rlim_max <= plan->nofile)
            *proof |= PROOF_NOFILE;
        if (want->resource == RLIMIT_NPROC && seen.rlim_max <= plan->nproc)
            *proof |= PROOF_NPROC;
    }
    return 0;
}

int layer_keyring_apply(uint32_t *proof, struct cordon_error *err)
{
    /*
     * Only a keyring without a name is always a new one. The one before is not asked for: where a
     * process has none, that question makes two keyrings of its user which the kernel keeps for
     * ever (or until the user namespace ends), and a root caller's runs have a new user each.
     */
    long joined = sys_call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
    if (joined == -EDQUOT)
        return 1;
    /* A kernel without keys has none to share. */
    if (joined < 0 && joined != -ENOSYS)
        return fail(err, CORDON_LAYER_PRIVILEGES, joined, "join a new session keyring", "keyctl");
    if (joined == -ENOSYS || sys_call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) == joined)
        *proof |= PROOF_KEYRING;
    return 0;
}

int layer_no_new_privs(uint32_t *proof, struct cordon_error *err)
{
    long r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
    if (r < 0)
        return fail(err, CORDON_LAYER_PRIVILEGES, r, "set no_new_privs", "prctl");
    if (sys_prctl(PR_GET_NO_NEW_PRIVS, 0, 0) == 1)
        *proof |= PROOF_NO_NEW_PRIVS;
    return 0;
}

/*
 * Who gives back a part of a huge page has less memory by every count, and the kernel keeps the whole page: 2 MiB for
 * 8 KiB. The filter lets nobody take this back.
 */
void layer_small_pages(uint32_t *proof)
{
    if (sys_prctl(PR_SET_THP_DISABLE, 1, 0) == 0 && sys_prctl(PR_GET_THP_DISABLE, 0, 0) == 1)
        *proof |= PROOF_SMALL_PAGES;
}

int layer_capabilities_clear(uint32_t *proof, struct cordon_error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2];
    memset(none, 0, sizeof none);

    long r = sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0);
    if (r == 0)
        r = sys_capset(&header, none);
    if (r < 0)
        return fail(err, CORDON_LAYER_PRIVILEGES, r, "drop capabilities", "capset");

    struct __user_cap_data_struct seen[2] = {{.effective = 1}, {.effective = 1}};
    if (sys_capget(&header, seen) == 0 && memcmp(seen, none, sizeof none) == 0)
        *proof |= PROOF_NO_CAPS;
    return 0;
}

int layer_bounding_set_drop(uint32_t *proof, struct cordon_error *err)
{
    /* There is no one-call form; the kernel's last capability answers EINVAL + 1. */
    unsigned long count = 0;
    long r = 0;
    for (; count < 64 && (r = sys_prctl(PR_CAPBSET_DROP, count, 0)) == 0; count++) {
    }
    if (r != -EINVAL)
        return fail(err, CORDON_LAYER_PRIVILEGES, r, "drop the bounding set", "prctl");
    if (count > 0 && sys_prctl(PR_CAPBSET_READ, count - 1, 0) == 0)
        *proof |= PROOF_BOUNDING;
    return 0;
}
