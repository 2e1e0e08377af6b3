#include "supervisor/terminal.h"

#include <fcntl.h>

#include "layer/notify.h"
#include "sys/files.h"

#define MULTIPLEXER "/dev/pts/ptmx"
#define TERMINAL "/dev/pts/0" /* the first of a new devpts */

static int fail(struct cordon_error *err, long r, const char *what, const char *subject)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, (int)-r, what, subject);
}

void terminal_like(struct terminal *t, int input, int output)
{
    const struct winsize usual = {.ws_row = 24, .ws_col = 80};
    t->has_modes = input >= 0 && sys_get_modes(input, &t->modes) == 0;
    if (sys_ioctl(input, TIOCGWINSZ, &t->size) < 0 && sys_ioctl(output, TIOCGWINSZ, &t->size) < 0)
        t->size = usual;
}

/* Without a terminal outside nobody sees what is typed, and what is copied in need not come out again. */
static long set_modes(const struct terminal *t, int fd)
{
    struct sys_termios modes = t->modes;
    long r = t->has_modes ? 0 : sys_get_modes(fd, &modes);
    if (!t->has_modes)
        modes.lflag &= ~SYS_TERMIOS_ECHO;
    return r < 0 ? r : sys_ioctl(fd, TCSETS, &modes);
}

int terminal_make(const struct terminal *t, struct cordon_error *err)
{
    static const int unlocked = 0;
    int master = sys_open(AT_FDCWD, MULTIPLEXER, O_RDWR | O_NOCTTY, 0);
    if (master < 0)
        return fail(err, master, "open", MULTIPLEXER);
    long r = sys_ioctl(master, TIOCSPTLCK, &unlocked);
    int slave = r < 0 ? (int)r : sys_open(AT_FDCWD, TERMINAL, O_RDWR | O_NOCTTY, 0);
    r = slave < 0 ? slave : set_modes(t, slave);
    if (r == 0)
        r = sys_ioctl(slave, TIOCSWINSZ, &t->size);
    if (r == 0)
        r = layer_pass_descriptors(t->socket, &master, 1);
    sys_close(master);
    sys_close(t->socket);
    return r < 0 ? fail(err, r, "make a terminal", TERMINAL) : 0;
}

int terminal_take(struct cordon_error *err)
{
    int fd = sys_open(AT_FDCWD, TERMINAL, O_RDWR, 0); /* a session's leader without one gets it */
    long r = fd;
    for (int i = 0; r >= 0 && i < 3; i++)
        r = sys_call(SYS_dup3, fd, i, 0);
    sys_close(fd);
    return r < 0 ? fail(err, r, "take the terminal", TERMINAL) : 0;
}
