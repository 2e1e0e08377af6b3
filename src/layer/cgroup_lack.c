/* Why a controller cannot be used, in words: for doctor and for errors, never on a run's way. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "layer/cgroup.h"

static void refused(char out[static CGROUP_LACK_SIZE], const char *name, int errnum)
{
    switch (errnum) {
    case EROFS:
        snprintf(out, CGROUP_LACK_SIZE, "the cgroup file system of the %s controller is mounted read-only", name);
        break;
    case EACCES:
    case EPERM:
        snprintf(out, CGROUP_LACK_SIZE, "the caller's cgroup for the %s controller is not writable by uid %u", name,
                 (unsigned)geteuid());
        break;
    default:
        snprintf(out, CGROUP_LACK_SIZE, "the caller's cgroup for the %s controller is not visible: %s", name,
                 text_errno(errnum));
    }
}

void layer_cgroup_lack(char out[static CGROUP_LACK_SIZE], const struct host_cgroup *host, enum cgroup_controller which)
{
    const struct host_cgroup_controller *c = &host->controllers[which];
    const char *name = cgroup_controller_name(which);
    switch (c->lack) {
    case LACK_FILE_SYSTEM:
        snprintf(out, CGROUP_LACK_SIZE, "no cgroup file system is mounted on %s", HOST_CGROUP_ROOT);
        return;
    case LACK_V1_MOUNT:
        snprintf(out, CGROUP_LACK_SIZE, "the %s controller belongs to cgroup v1 and is not mounted beneath %s", name,
                 HOST_CGROUP_ROOT);
        return;
    case LACK_ACCESS:
        refused(out, name, c->errnum);
        return;
    case LACK_CROWDED:
        snprintf(out, CGROUP_LACK_SIZE, "the caller's cgroup can give the %s controller only to a caller that is "
                 "alone in it, and holds other processes", name);
        return;
    case LACK_DISABLED:
        snprintf(out, CGROUP_LACK_SIZE, "the %s controller is not enabled in a cgroup that uid %u may write", name,
                 (unsigned)geteuid());
        return;
    case LACK_SWAP:
        snprintf(out, CGROUP_LACK_SIZE, "the memory controller does not count what this host swaps out; the kernel "
                 "does so when it is booted with swapaccount=1");
        return;
    }
}
