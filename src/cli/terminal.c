#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/files.h"

static bool same_modes(const struct termios *a, const struct termios *b)
{
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
           a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof a->c_cc) == 0;
}

/*
 * Waits for the end of the other process. If that did not say goodbye it was killed, and the
 * terminal is put in order, unless a shell has done so already. In a process group of its own, so
 * that a signal for the whole job does not reach it.
 */
_Noreturn static void keep(const struct cli_terminal *t, int from)
{
    struct termios now = {0}; /* musl leaves the rest of c_cc as it is */
    char byte;
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    dup2(from, STDOUT_FILENO);
    dup2(STDIN_FILENO, STDERR_FILENO);
    sys_close_range(3, ~0u, 0);
    ssize_t n;
    do
        n = read(STDOUT_FILENO, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 0 && tcgetattr(STDIN_FILENO, &now) == 0 && same_modes(&now, &t->ours))
        tcsetattr(STDIN_FILENO, TCSANOW, &t->saved);
    _exit(0);
}

static int start_keeper(struct cli_terminal *t)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    t->keeper = fork();
    if (t->keeper == 0) {
        close(ends[1]);
        keep(t, ends[0]);
    }
    close(ends[0]);
    t->keeper_pipe = ends[1];
    return t->keeper < 0 ? -errno : 0;
}

int cli_terminal_begin(struct cli_terminal *t)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    if (tcgetattr(STDIN_FILENO, &t->saved) == 0) {
        sigaddset(&set, SIGTSTP);
        sigaddset(&set, SIGCONT);
        t->ours = t->saved;
        cfmakeraw(&t->ours);
        int r = start_keeper(t);
        if (r < 0)
            return r;
        t->raw = true;
    }
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return t->signals < 0 ? -errno : 0;
}

void cli_terminal_pass_keys(struct cli_terminal *t)
{
    if (t->raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &t->ours);
}

void cli_terminal_signal(struct cli_terminal *t, struct backend_run *run)
{
    struct signalfd_siginfo info;
    struct winsize size;
    while (read(t->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTSTP) {
            tcsetattr(STDIN_FILENO, TCSADRAIN, &t->saved);
            raise(SIGSTOP); /* returns when somebody continues us */
        }
        if (info.ssi_signo != SIGWINCH) /* after any stop a shell may have changed it */
            tcsetattr(STDIN_FILENO, TCSADRAIN, &t->ours);
    }
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        backend_resize(run, size.ws_row, size.ws_col);
}

void cli_terminal_end(struct cli_terminal *t)
{
    if (t->raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &t->saved);
    t->raw = false;
    if (t->keeper_pipe >= 0) {
        (void)fd_write_all(t->keeper_pipe, "", 1);
        fd_close(&t->keeper_pipe);
        while (waitpid(t->keeper, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    fd_close(&t->signals);
}
