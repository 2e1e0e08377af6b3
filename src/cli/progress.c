#include "cli/progress.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/process.h"

#define PERIOD_NS 250000000
#define WIDTH_MAX 100
#define ERASE "\r\033[K"

void progress_begin(struct progress *p, const struct backend_run *run)
{
    const struct itimerspec every = {.it_value.tv_nsec = PERIOD_NS, .it_interval.tv_nsec = PERIOD_NS};
    if (!isatty(STDERR_FILENO))
        return;
    p->run = run;
    p->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (p->timer >= 0)
        timerfd_settime(p->timer, 0, &every, NULL);
}

void progress_erase(void *progress)
{
    struct progress *p = progress;
    if (!p->shown || !fd_takes(STDERR_FILENO)) /* a terminal that was stopped must not stop the run */
        return;
    (void)fd_write_all(STDERR_FILENO, ERASE, sizeof ERASE - 1);
    p->shown = false;
}

/* The cursor stands behind something that the payload wrote: the line would join it. */
static bool in_midst_of_output(const struct result *result)
{
    return (result->out.kept > 0 && !result->out.ends_line) || (result->err.kept > 0 && !result->err.ends_line);
}

void progress_tick(struct progress *p)
{
    struct run_usage usage;
    struct winsize size = {0};
    char line[WIDTH_MAX];
    uint64_t ticks;
    ssize_t ignored = read(p->timer, &ticks, sizeof ticks);
    (void)ignored;
    if (in_midst_of_output(p->run->result) || !fd_takes(STDERR_FILENO) || !backend_usage(p->run, &usage))
        return;
    int n = snprintf(line, sizeof line, ERASE "cordon: %.1f s, cpu %.1f s, memory %.1f MiB",
                     (double)usage.elapsed_us / 1e6, (double)usage.cpu_us / 1e6,
                     (double)usage.memory_bytes / (1024 * 1024));
    size_t len = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    /* A line that wraps cannot be erased. */
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && len - (sizeof ERASE - 1) >= size.ws_col)
        len = sizeof ERASE - 1 + size.ws_col - 1;
    (void)fd_write_all(STDERR_FILENO, line, len);
    p->shown = true;
}

void progress_end(struct progress *p)
{
    progress_erase(p);
    fd_close(&p->timer);
}
