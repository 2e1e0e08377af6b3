/* Init's descendants, as the kernel lists them. */
#include "supervisor/descent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../harness.h"

static pid_t sleeper(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    CHECK(pid > 0);
    return pid;
}

static void check_killed(pid_t pid)
{
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(children_are_told_to_end_when_no_more_file_can_be_opened)
{
    struct rlimit before_that;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &before_that), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before_that.rlim_max};
    const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int list = descent_open_children(proc);
    CHECK(list >= 0);
    CHECK(descent_signal_children(list, 0)); /* it has been read to its end, and there was nobody */
    const pid_t before = sleeper();
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_INT(descent_open_children(proc), -EMFILE);
    CHECK(descent_signal_children(list, SIGKILL));
    check_killed(before);
    const pid_t after = sleeper();
    CHECK(descent_signal_children(list, SIGKILL));
    check_killed(after);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &before_that), 0); /* a sanitizer opens files at the end */
}

TEST(a_list_that_cannot_be_read_is_said)
{
    CHECK(!descent_signal_children(-1, 0));
}
