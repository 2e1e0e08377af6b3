/* What a run uses while it lasts, for people to look at: by the host's /proc, whoever counts its limits. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/descent.h"
#include "supervisor/supervisor.h"
#include "sys/files.h"
#include "sys/process.h"

static bool read_file(int proc, int pid, const char *name, char *text, size_t size)
{
    char path[SYS_PID_PATH_SIZE];
    sys_pid_path(path, pid, name);
    FD_AUTO fd = sys_open(proc, path, O_RDONLY, 0);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (n > 0)
        text[n] = '\0';
    return n > 0;
}

static void add_process(int proc, int pid, struct run_usage *sum)
{
    char text[1024];
    unsigned long long cpu[4];
    unsigned long long resident = 0;
    unsigned long long shared = 0;
    const char *end = read_file(proc, pid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    if (end != NULL && sscanf(end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &cpu[0],
                              &cpu[1], &cpu[2], &cpu[3]) == 4)
        sum->cpu_us += (cpu[0] + cpu[1] + cpu[2] + cpu[3]) * 1000000 / (unsigned long long)sysconf(_SC_CLK_TCK);
    if (read_file(proc, pid, "statm", text, sizeof text) && sscanf(text, "%*u %llu %llu", &resident, &shared) == 2 &&
        resident > shared)
        sum->memory_bytes += (resident - shared) * (unsigned long long)sysconf(_SC_PAGESIZE);
}

void supervisor_usage(const struct supervisor *s, struct run_usage *out)
{
    FD_AUTO proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
    struct descent *tree = malloc(sizeof *tree);
    *out = (struct run_usage){.elapsed_us = sys_now_us() - s->started_us};
    if (proc >= 0 && tree != NULL && s->spawn.pidfd >= 0) {
        descent_read_of(tree, proc, s->spawn.pid);
        add_process(proc, s->spawn.pid, out); /* init: what it has waited for */
        for (size_t i = 0; i < tree->count; i++)
            add_process(proc, tree->pids[i], out);
    }
    free(tree);
}
