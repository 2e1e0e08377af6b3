/* Names of a call: read by init where the listener may not look into a task, or by the listener itself. */
#include "listener/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "../harness.h"

#define NOBODY 0x7ffffffeu /* no task has this number */

static struct handed_call handed;
static struct attempt attempt;

static void call_of(uint32_t task, int number, const void *first, const void *second)
{
    memset(&handed, 0, sizeof handed);
    handed.call = (struct notify_call){
        .task = task,
        .number = number,
        .args = {(uint64_t)AT_FDCWD, (uint64_t)(uintptr_t)first, (uint64_t)AT_FDCWD, (uint64_t)(uintptr_t)second}};
}

TEST(reads_both_names_of_a_call)
{
    call_of((uint32_t)getpid(), SYS_renameat2, "from/here", "to");
    CHECK_INT(attempt_name(&handed), HANDED_HEAD + sizeof "from/here" + sizeof "to");
    CHECK_STR(handed.text, "from/here");
    CHECK_STR(handed.text + handed.len[0], "to");
}

TEST(names_that_came_along_are_not_read_again)
{
    call_of((uint32_t)getpid(), SYS_renameat2, "from/here", "to");
    attempt_name(&handed);
    handed.call.task = NOBODY;
    CHECK_INT(attempt_read(&attempt, &handed), 0);
    CHECK_INT(attempt.count, 2);
    CHECK_STR(attempt.what[0].path, "from/here");
    CHECK_STR(attempt.what[1].path, "to");
    handed.len[0] = handed.len[1] = 0; /* the control */
    CHECK_INT(attempt_read(&attempt, &handed), -ENOENT);
}

TEST(names_that_did_not_come_are_read)
{
    call_of((uint32_t)getpid(), SYS_mkdirat, "new", NULL);
    CHECK_INT(attempt_read(&attempt, &handed), 0);
    CHECK_STR(attempt.what[0].path, "new");
}

TEST(hands_on_nothing_where_nothing_can_be_read)
{
    static char endless[PATH_MAX + 1];
    memset(endless, 'x', sizeof endless);
    call_of((uint32_t)getpid(), SYS_mkdirat, (const void *)8, NULL); /* a bad pointer */
    CHECK_INT(attempt_name(&handed), HANDED_HEAD);
    call_of((uint32_t)getpid(), SYS_mkdirat, endless, NULL);
    CHECK_INT(attempt_name(&handed), HANDED_HEAD);
    call_of((uint32_t)getpid(), SYS_getpid, "not a name", NULL);
    CHECK_INT(attempt_name(&handed), HANDED_HEAD);
}

/* Init reads the address of a socket, too: most of them are of a network, and nobody needs to be told of those. */
TEST(addresses_come_along)
{
    const struct sockaddr_in net = {.sin_family = AF_INET};
    struct sockaddr_un named = {.sun_family = AF_UNIX, .sun_path = "s"};
    call_of((uint32_t)getpid(), SYS_bind, &net, NULL);
    handed.call.args[2] = sizeof net;
    CHECK_INT(attempt_name(&handed), HANDED_HEAD + 1);
    handed.call.task = NOBODY;
    CHECK_INT(attempt_read(&attempt, &handed), -ENOENT);
    call_of((uint32_t)getpid(), SYS_bind, &named, NULL);
    handed.call.args[2] = offsetof(struct sockaddr_un, sun_path) + 1;
    CHECK_INT(attempt_name(&handed), HANDED_HEAD + 2);
    handed.call.task = NOBODY;
    CHECK_INT(attempt_read(&attempt, &handed), 0);
    CHECK_STR(attempt.what[0].path, "s");
    CHECK(attempt.bind);
    call_of((uint32_t)getpid(), SYS_bind, (const void *)8, NULL); /* a bad pointer */
    handed.call.args[2] = sizeof net;
    CHECK_INT(attempt_name(&handed), HANDED_HEAD);
    CHECK_INT(attempt_read(&attempt, &handed), -EPERM);
}

/* No path is the descriptor itself for few calls; the kernel says EFAULT to the others. */
TEST(a_null_path_means_the_descriptor_only_where_the_kernel_says_so)
{
    static const int refused[] = {SYS_openat, SYS_unlinkat, SYS_mkdirat, SYS_fchmodat, SYS_fchownat, SYS_renameat2};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        call_of((uint32_t)getpid(), refused[i], NULL, "x");
        CHECK_INT(attempt_read(&attempt, &handed), -ENOENT);
    }
    call_of((uint32_t)getpid(), SYS_fchownat, NULL, NULL);
    handed.call.args[4] = AT_EMPTY_PATH;
    CHECK_INT(attempt_read(&attempt, &handed), -ENOENT);
    call_of((uint32_t)getpid(), SYS_utimensat, NULL, NULL);
    CHECK_INT(attempt_read(&attempt, &handed), -ENOENT); /* there is none */
    handed.call.args[0] = 3;
    CHECK_INT(attempt_read(&attempt, &handed), 0);
    CHECK(attempt.what[0].itself);
    handed.call.args[3] = AT_SYMLINK_NOFOLLOW; /* EINVAL */
    CHECK_INT(attempt_read(&attempt, &handed), -ENOENT);
    call_of((uint32_t)getpid(), SYS_fchmod, NULL, NULL);
    CHECK_INT(attempt_read(&attempt, &handed), 0);
    CHECK(attempt.what[0].itself);
}

/* setxattrat() and removexattrat(): with the flag no path is as good as an empty one. */
TEST(a_null_path_of_an_attribute_is_an_empty_one)
{
    call_of((uint32_t)getpid(), 466, NULL, NULL);
    handed.call.args[2] = 0;
    CHECK_INT(attempt_read(&attempt, &handed), -ENOENT);
    handed.call.args[2] = AT_EMPTY_PATH;
    CHECK_INT(attempt_read(&attempt, &handed), 0);
    CHECK(attempt.what[0].itself);
}
