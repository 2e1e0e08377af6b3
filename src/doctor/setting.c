#include "doctor/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "layer/refusal.h"

#define MOUNTS_MAX (1024 * 1024)

/* The first line of a file, escaped; empty if there is none. */
static bool read_line(const char *path, char *out, size_t size)
{
    char text[256];
    FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof text - 1);
    out[0] = '\0';
    if (n < 0)
        return false;
    text[n] = '\0';
    text_escape(out, size, text, strcspn(text, "\n"));
    return true;
}

static long read_number(const char *path)
{
    char text[64];
    return read_line(path, text, sizeof text) && text[0] != '\0' ? strtol(text, NULL, 10)
                                                                 : SETTING_UNKNOWN;
}

static const char *after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at == NULL ? NULL : at + strlen(key);
}

static void read_status(struct doctor_setting *out)
{
    char text[4096];
    FD_AUTO fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof text - 1);
    out->seccomp = SETTING_UNKNOWN;
    out->bounding = ~UINT64_C(0);
    if (n < 0)
        return;
    text[n] = '\0';
    const char *mode = after(text, "\nSeccomp:");
    const char *bounding = after(text, "\nCapBnd:");
    if (mode != NULL)
        out->seccomp = strtol(mode, NULL, 10);
    if (bounding != NULL)
        out->bounding = strtoull(bounding, NULL, 16);
}

/*
 * NUMBER PARENT DEVICE ROOT TARGET ...: a table without a mount at "/" is seen from a chroot into
 * a directory. Mounts on the empty directories that /proc has for them hide nothing.
 */
void doctor_setting_mounts(struct doctor_setting *out, const char *mountinfo)
{
    bool root = false;
    bool any = false;
    out->masked[0] = '\0';
    for (const char *line = mountinfo; *line != '\0';) {
        char target[256] = "";
        any = sscanf(line, "%*s %*s %*s %*s %255s", target) == 1 || any;
        root = root || strcmp(target, "/") == 0;
        if (text_starts_with(target, "/proc/") && strcmp(target, "/proc/fs/nfsd") != 0 &&
            strcmp(target, "/proc/sys/fs/binfmt_misc") != 0) {
            size_t used = strlen(out->masked);
            snprintf(out->masked + used, sizeof out->masked - used, "%s%s", used > 0 ? " " : "",
                     target);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    out->chroot = any && !root;
}

static void read_mounts(struct doctor_setting *out)
{
    char *text = malloc(MOUNTS_MAX);
    FD_AUTO fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 || text == NULL ? -1 : fd_read_full(fd, text, MOUNTS_MAX - 1);
    if (n >= 0) {
        text[n] = '\0';
        doctor_setting_mounts(out, text);
    }
    free(text);
    /* A chroot onto a mount point looks like a root; root itself can see that it is none. */
    struct stat ours, first, our_ns, first_ns;
    if (stat("/", &ours) == 0 && stat("/proc/1/root/", &first) == 0 &&
        stat("/proc/self/ns/mnt", &our_ns) == 0 && stat("/proc/1/ns/mnt", &first_ns) == 0 &&
        our_ns.st_ino == first_ns.st_ino &&
        (ours.st_dev != first.st_dev || ours.st_ino != first.st_ino))
        out->chroot = true;
}

/* FIRST_INSIDE FIRST_OUTSIDE COUNT, a line each. */
static uint64_t read_mapped(void)
{
    char text[4096];
    FD_AUTO fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof text - 1);
    uint64_t sum = 0;
    if (n < 0)
        return UINT32_MAX;
    text[n] = '\0';
    for (const char *line = text; *line != '\0';) {
        unsigned long count = 0;
        if (sscanf(line, "%*u %*u %lu", &count) == 1)
            sum += count;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return sum;
}

static void read_container(struct doctor_setting *out)
{
    out->container[0] = '\0';
    if (access("/.dockerenv", F_OK) == 0)
        snprintf(out->container, sizeof out->container, "docker");
    else if (access("/run/.containerenv", F_OK) == 0)
        snprintf(out->container, sizeof out->container, "podman");
    else
        read_line("/run/systemd/container", out->container, sizeof out->container);
    if (out->container[0] == '\0' && access("/var/run/secrets/kubernetes.io", F_OK) == 0)
        snprintf(out->container, sizeof out->container, "kubernetes");
}

void doctor_setting_read(struct doctor_setting *out)
{
    struct statfs fs;
    *out = (struct doctor_setting){.uid = geteuid()};
    out->proc = statfs("/proc/self", &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
    out->userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone");
    out->max_user_namespaces = read_number("/proc/sys/user/max_user_namespaces");
    out->apparmor_restrict = read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    read_line("/sys/kernel/security/lsm", out->lsm, sizeof out->lsm);
    read_line("/proc/self/attr/current", out->label, sizeof out->label);
    out->systemd = access("/run/systemd/system", F_OK) == 0;
    out->in_a_run = layer_refusal_in_a_run();
    out->mapped_uids = read_mapped();
    read_status(out);
    read_container(out);
    read_mounts(out);
}
