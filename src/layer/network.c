#include "layer/network.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sys/files.h"

static int fail(struct cordon_error *err, long r, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_NETWORK, (int)-r, what, subject);
}

int layer_network_make(const struct plan *plan, struct cordon_error *err)
{
    long r = plan->netns ? sys_call(SYS_unshare, CLONE_NEWNET) : 0;
    return r < 0 ? fail(err, r, "make a network namespace", "unshare") : 0;
}

/* A new namespace has one interface, lo, and it is down: ask rather than assume. */
int layer_network_settle(const struct plan *plan, uint32_t *proof, struct cordon_error *err)
{
    long r = 0;
    struct ifreq lo;
    memset(&lo, 0, sizeof lo);
    memcpy(lo.ifr_name, "lo", 3);
    int s = (int)sys_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0)
        return fail(err, s, "open a socket", "AF_INET");
    if (plan->loopback) {
        lo.ifr_flags = IFF_UP | IFF_RUNNING;
        r = sys_call(SYS_ioctl, s, SIOCSIFFLAGS, &lo);
    }
    long seen = sys_call(SYS_ioctl, s, SIOCGIFFLAGS, &lo);
    sys_close(s);
    if (r < 0)
        return fail(err, r, "bring up", "lo");
    const bool up = seen == 0 && (lo.ifr_flags & IFF_UP) != 0;
    if (seen == 0 && up == plan->loopback)
        *proof |= PROOF_NET_QUIET;
    return 0;
}
