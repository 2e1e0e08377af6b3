#include "layer/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "layer/seccomp.h"
#include "sys/process.h"
#include "sys/seccomp.h"

int layer_notify_load(const struct sock_fprog *program)
{
    const unsigned long listen = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    long fd = sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, program);
    if (fd == -EINVAL) /* before 5.19 */
        fd = sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen, program);
    return (int)fd;
}

int layer_notify_install(unsigned set)
{
    return layer_notify_load(layer_seccomp_listener(set));
}

bool layer_notify_forks_proven(void)
{
    /* Were it let through, the kernel would find these flags contradictory. */
    return sys_call(SYS_clone, CLONE_THREAD, 0, 0, 0, 0) == -NOTIFY_PROOF;
}

bool layer_notify_writes_proven(void)
{
    /* Were it let through: no such address, and no such descriptor. */
    return sys_call(SYS_unlinkat, -1, 0, NOTIFY_PROOF) == -NOTIFY_PROOF;
}

bool layer_notify_is_proof(const struct notify_call *call)
{
    return call->number == SYS_unlinkat && call->args[1] == 0 && (int)call->args[2] == NOTIFY_PROOF;
}

int layer_notify_next(int listener, struct notify_call *out)
{
    struct seccomp_notif request;
    memset(&request, 0, sizeof request); /* the kernel insists */
    long r = sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &request);
    *out = (struct notify_call){.id = request.id, .task = request.pid, .number = request.data.nr};
    memcpy(out->args, request.data.args, sizeof out->args);
    return (int)r;
}

bool layer_notify_is_fork(const struct notify_call *call)
{
#if defined(__x86_64__)
    if (call->number == SYS_fork || call->number == SYS_vfork)
        return true;
#endif
    return call->number == SYS_clone;
}

bool layer_notify_valid(int listener, const struct notify_call *call)
{
    return sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0;
}

static void respond(int listener, const struct notify_call *call, int error, unsigned flags)
{
    struct seccomp_notif_resp response = {.id = call->id, .error = error, .flags = flags};
    sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void layer_notify_answer(int listener, const struct notify_call *call, int error)
{
    respond(listener, call, error, error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0);
}

void layer_notify_done(int listener, const struct notify_call *call)
{
    respond(listener, call, 0, 0);
}

int layer_notify_give(int listener, const struct notify_call *call, int fd, bool close_on_exec)
{
    struct seccomp_notif_addfd add = {.id = call->id,
                                      .flags = SECCOMP_ADDFD_FLAG_SEND, /* 5.14 */
                                      .srcfd = (uint32_t)fd,
                                      .newfd_flags = close_on_exec ? O_CLOEXEC : 0};
    long r = sys_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    return r < 0 ? (int)r : 0;
}

void layer_notify_tune(int listener)
{
    sys_call(SYS_ioctl, listener, SYS_SECCOMP_SET_FLAGS, SYS_SECCOMP_SYNC_WAKE_UP);
}

union control {
    char room[CMSG_SPACE(PASS_MAX * sizeof(int))];
    struct cmsghdr align;
};

long layer_pass_descriptors(int socket, const int *fds, size_t count)
{
    char byte = 0;
    union control control = {{0}};
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = (socklen_t)CMSG_LEN(count * sizeof *fds);
    memcpy(CMSG_DATA(header), fds, count * sizeof *fds);
    long r = sys_call(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
    return r < 0 ? r : 0;
}

int layer_take_descriptor(int socket)
{
    char byte = 0;
    union control control = {{0}};
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long r = sys_call(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = r <= 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS)
        return r < 0 ? (int)r : -EPIPE;
    int fd = -1;
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}
