#include "layer/network.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "ground.h"

/* Sends a datagram to ourselves over 127.0.0.1; 0 or the errno. */
static int loopback_works(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    char byte;
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(s >= 0);
    if (bind(s, (struct sockaddr *)&at, len) < 0)
        return errno;
    CHECK_INT(getsockname(s, (struct sockaddr *)&at, &len), 0);
    if (sendto(s, "x", 1, 0, (struct sockaddr *)&at, len) < 0)
        return errno;
    CHECK_INT(recv(s, &byte, 1, 0), 1);
    close(s);
    return 0;
}

static uint32_t isolated(const struct plan *plan)
{
    uint32_t proof = 0;
    CHECK_INT(layer_network_make(plan, NULL), 0);
    CHECK_INT(layer_network_settle(plan, &proof, NULL), 0);
    return proof;
}

TEST(no_network_means_no_interface_is_up)
{
    const struct plan plan = {.netns = true};
    if (loopback_works() != 0)
        test_skip("this machine has no loopback to lose");
    enter_namespaces(0);
    CHECK_INT(isolated(&plan), PROOF_NET_QUIET);
    CHECK(loopback_works() != 0);
    struct if_nameindex *all = if_nameindex();
    CHECK(all != NULL && all[0].if_index != 0);
    for (struct if_nameindex *i = all; i->if_index != 0; i++) {
        struct ifreq r = {0};
        int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        snprintf(r.ifr_name, sizeof r.ifr_name, "%s", i->if_name);
        CHECK_INT(ioctl(s, SIOCGIFFLAGS, &r), 0);
        CHECK((r.ifr_flags & IFF_UP) == 0);
        close(s);
    }
    if_freenameindex(all);
}

TEST(loopback_is_the_only_interface_that_is_up)
{
    const struct plan plan = {.netns = true, .loopback = true};
    enter_namespaces(0);
    CHECK_INT(isolated(&plan), PROOF_NET_QUIET);
    CHECK_INT(loopback_works(), 0);
}

TEST(the_hosts_network_is_left_alone)
{
    const struct plan plan = {.netns = false};
    struct stat before, after;
    CHECK_INT(stat("/proc/self/ns/net", &before), 0);
    CHECK_INT(layer_network_make(&plan, NULL), 0);
    CHECK_INT(stat("/proc/self/ns/net", &after), 0);
    CHECK_INT(after.st_ino, before.st_ino);
}

TEST(a_refusal_of_the_namespace_is_an_error)
{
    const struct plan plan = {.netns = true};
    struct cordon_error err = {0};
    if (geteuid() == 0)
        test_skip("root needs no user namespace for it");
    CHECK_INT(layer_network_make(&plan, &err), -EPERM);
    CHECK_INT(err.layer, CORDON_LAYER_NETWORK);
}
