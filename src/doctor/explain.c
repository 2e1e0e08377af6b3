/* From an errno and the setting to a cause that a person can act on. */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "doctor/attempt.h"
#include "doctor/setting.h"
#include "layer/refusal.h"

#define FILTER_MODE 2
#define UNCONFINED_CONTAINER \
    "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined IMAGE " \
    "(podman too; Kubernetes: securityContext.seccompProfile.type: Unconfined)"

__attribute__((format(printf, 2, 3))) static void because(struct doctor_cause *out, const char *fmt,
                                                          ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->reason, sizeof out->reason, fmt, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void remedy(struct doctor_cause *out, const char *fmt,
                                                         ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->remedy, sizeof out->remedy, fmt, args);
    va_end(args);
}

static bool refused(const struct attempt *a)
{
    return a->errnum == EPERM || a->errnum == EACCES;
}

/* AppArmor shows the mode of a profile in brackets; "unconfined" has none, SELinux neither. */
static bool confined(const struct doctor_setting *s)
{
    return strstr(s->label, "(enforce)") != NULL;
}

static bool lacks(const struct doctor_setting *s, unsigned capability)
{
    return (s->bounding >> capability & 1) == 0;
}

static void blame_filter(struct doctor_cause *out, const struct doctor_setting *s,
                         const struct attempt *a)
{
    const bool named = s->container[0] != '\0';
    because(out, "%s: %s; a seccomp filter is already in force around this process%s%s%s", a->step,
            a->signal != 0 ? text_signal_name(a->signal) : text_errno_name(a->errnum),
            named ? " (container: " : "", s->container, named ? ")" : "");
    remedy(out, "%s", s->in_a_run ? REFUSAL_NESTED : UNCONFINED_CONTAINER);
}

static void blame_limit(struct doctor_cause *out, const struct doctor_setting *s,
                        const char *space, const struct attempt *a)
{
    long limit = strcmp(space, "user") == 0 ? s->max_user_namespaces : SETTING_UNKNOWN;
    if (limit >= 0)
        because(out, "%s: %s; the sysctl user.max_user_namespaces is %ld", a->step,
                text_errno_name(a->errnum), limit);
    else
        because(out, "%s: %s; the limit of the sysctl user.max_%s_namespaces is reached", a->step,
                text_errno_name(a->errnum), space);
    remedy(out, "sysctl -w user.max_%s_namespaces=15000", space);
}

static void blame_apparmor(struct doctor_cause *out, const struct doctor_setting *s,
                           const struct attempt *a)
{
    if (s->apparmor_restrict > 0 && s->uid != 0) {
        because(out,
                "%s: %s; the sysctl kernel.apparmor_restrict_unprivileged_userns is 1: AppArmor "
                "takes the rights from user namespaces of ordinary users",
                a->step, text_errno_name(a->errnum));
        remedy(out, "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
    } else {
        because(out, "%s: %s; AppArmor confines this process by the profile %s", a->step,
                text_errno_name(a->errnum), s->label);
        remedy(out, "%s", s->container[0] != '\0' ? UNCONFINED_CONTAINER
                                                  : "aa-exec -p unconfined -- cordon doctor");
    }
}

/* What any act may run into. False: none of it. */
static bool blame_surroundings(struct doctor_cause *out, const struct doctor_setting *s,
                               const struct attempt *a)
{
    const bool filtered = s->seccomp == FILTER_MODE;
    if (a->signal == SIGALRM) {
        because(out, "it did not come to an end");
    } else if (a->signal != 0 && !(a->signal == SIGSYS && filtered)) {
        because(out, "the process that tried was ended by %s", text_signal_name(a->signal));
    } else if (filtered && (a->signal != 0 || refused(a))) {
        blame_filter(out, s, a);
    } else if (refused(a) && ((s->apparmor_restrict > 0 && s->uid != 0) || confined(s))) {
        blame_apparmor(out, s, a);
    } else if (a->errnum == EAGAIN) {
        because(out, "%s: EAGAIN; the limit on processes of this user is reached", a->step);
        remedy(out, "ulimit -u unlimited");
    } else {
        return false;
    }
    return true;
}

static void plain(struct doctor_cause *out, const struct doctor_setting *s, const struct attempt *a)
{
    because(out, "%s: %s, %s", a->step, text_errno_name(a->errnum), text_errno(a->errnum));
    if (refused(a) && strstr(s->lsm, "selinux") != NULL) {
        because(out, "%s: %s; SELinux is active and this process is %s", a->step,
                text_errno_name(a->errnum), s->label);
        remedy(out, "ausearch -m avc -ts recent");
    }
}

static void explain_userns(struct doctor_cause *out, const struct doctor_setting *s,
                           const struct attempt *a)
{
    if (a->errnum == ENOSPC || a->errnum == EUSERS) {
        blame_limit(out, s, "user", a);
    } else if (a->errnum == EPERM && s->userns_clone == 0 && s->uid != 0) {
        because(out, "%s: EPERM; the sysctl kernel.unprivileged_userns_clone is 0", a->step);
        remedy(out, "sysctl -w kernel.unprivileged_userns_clone=1");
    } else if (a->errnum == EPERM && s->chroot) {
        because(out, "%s: EPERM; this process is in a chroot, where the kernel allows none", a->step);
        remedy(out, "systemd-nspawn -D DIR instead of chroot DIR (or bwrap --bind DIR /)");
    } else if (!s->proc && a->errnum == EPERM) {
        because(out, "%s: EPERM; a chroot is likely, but without /proc nothing can say so", a->step);
        remedy(out, "mount -t proc proc /proc");
    } else if (!s->proc && a->errnum == ENOENT) {
        because(out, "%s: ENOENT; /proc is not mounted", a->step);
        remedy(out, "mount -t proc proc /proc");
    } else if (blame_surroundings(out, s, a)) {
        return;
    } else if (a->errnum == EPERM && s->uid == 0 && s->mapped_uids < UINT32_MAX) {
        because(out,
                "%s: EPERM; the user namespace around this process has only %llu users, and runs of "
                "root need one of their own",
                a->step, (unsigned long long)s->mapped_uids);
        remedy(out, "setpriv --reuid 1000 --regid 1000 --clear-groups cordon run ...");
    } else if (a->errnum == EPERM && s->uid == 0 && (lacks(s, CAP_SETUID) || lacks(s, CAP_SETGID))) {
        because(out, "%s: EPERM; CAP_SETUID or CAP_SETGID is not in the bounding set", a->step);
        remedy(out, "docker run --cap-add SETUID --cap-add SETGID IMAGE");
    } else if (a->errnum == EINVAL || a->errnum == ENOSYS) {
        because(out, "%s: %s; this kernel is built without user namespaces (CONFIG_USER_NS)", a->step,
                text_errno_name(a->errnum));
    } else {
        plain(out, s, a);
    }
}

static void explain_mount(struct doctor_cause *out, const struct doctor_setting *s,
                          const struct doctor_question *q, const struct attempt *a)
{
    if (strcmp(q->name, "proc") == 0 && a->errnum == EPERM && s->masked[0] != '\0') {
        because(out, "%s: EPERM; parts of /proc are covered by other mounts: %.180s", a->step,
                s->masked);
        remedy(out, "docker run --security-opt systempaths=unconfined IMAGE "
                    "(podman: --security-opt unmask=ALL; Kubernetes: procMount: Unmasked)");
    } else if (strcmp(q->name, "proc") == 0 && a->errnum == EPERM && !s->proc) {
        because(out, "%s: EPERM; there is no full /proc here, so the kernel makes no new one",
                a->step);
        remedy(out, "mount -t proc proc /proc");
    } else if (blame_surroundings(out, s, a)) {
        return;
    } else if (a->errnum == ENOSYS && s->seccomp == FILTER_MODE) {
        blame_filter(out, s, a);
    } else if (a->errnum == ENOSYS) {
        because(out, "%s: ENOSYS; this kernel does not have it, it came with Linux 5.2", a->step);
    } else if (a->errnum == ENODEV) {
        because(out, "%s: ENODEV; this kernel has no such file system", a->step);
        remedy(out, "modprobe %s", q->name);
    } else {
        plain(out, s, a);
    }
}

static void explain_call(struct doctor_cause *out, const struct doctor_setting *s,
                         const struct doctor_question *q, const struct attempt *a)
{
    if (blame_surroundings(out, s, a))
        return;
    if (a->errnum == EOPNOTSUPP && strcmp(q->name, "landlock") == 0) {
        because(out, "%s: EOPNOTSUPP; Landlock is in this kernel, but not switched on%s%s", a->step,
                s->lsm[0] != '\0' ? ": the security modules are " : "", s->lsm);
        remedy(out, "add lsm=landlock,%s to the kernel command line, and reboot",
               s->lsm[0] != '\0' ? s->lsm : "...");
    } else if (a->errnum == EDQUOT && strcmp(q->name, "keyctl") == 0) {
        because(out, "%s: EDQUOT; this user has as many keys as kernel.keys.maxkeys allows", a->step);
        remedy(out, "sysctl -w kernel.keys.maxkeys=2000");
    } else if (a->errnum == EPERM && s->uid == 0 && lacks(s, CAP_SYS_ADMIN)) {
        because(out, "%s: EPERM; CAP_SYS_ADMIN is not in the bounding set", a->step);
        remedy(out, "docker run --cap-add SYS_ADMIN IMAGE");
    } else if (a->errnum == EINVAL && strcmp(q->name, "mount_setattr") == 0) {
        because(out, "%s: EINVAL; this file system cannot be id-mapped", a->step);
    } else if (a->errnum != ENOSYS) {
        plain(out, s, a);
    } else if (s->seccomp == FILTER_MODE) {
        blame_filter(out, s, a);
    } else {
        because(out, "%s: ENOSYS; this kernel does not have it%s%s", a->step,
                q->since != NULL ? ", it came with Linux " : "", q->since != NULL ? q->since : "");
    }
}

void doctor_explain(struct doctor_cause *out, const struct doctor_setting *setting,
                    const struct doctor_question *question, const struct attempt *attempt)
{
    *out = (struct doctor_cause){0};
    switch (question->about) {
    case ABOUT_USERNS:
        explain_userns(out, setting, attempt);
        break;
    case ABOUT_NAMESPACE:
        if (attempt->errnum == ENOSPC || attempt->errnum == EUSERS)
            blame_limit(out, setting, question->name, attempt);
        else if (attempt->errnum == EINVAL)
            because(out, "%s: EINVAL; this kernel is built without this namespace", attempt->step);
        else if (!blame_surroundings(out, setting, attempt))
            plain(out, setting, attempt);
        break;
    case ABOUT_MOUNT:
        explain_mount(out, setting, question, attempt);
        break;
    case ABOUT_CALL:
        explain_call(out, setting, question, attempt);
        break;
    }
}
