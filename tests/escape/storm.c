/*
 * Children of init's that stop for it, again and again, as fast as they are let go; and memory beyond every
 * limit, once a file says that init has been slowed down.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHILDREN 8
#define MUCH (300u << 20)

static void stop_for_ever(void)
{
    signal(SIGUSR1, SIG_IGN);
    for (;;) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 1;
    for (int i = 0; i < CHILDREN; i++) {
        if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0)
            stop_for_ever();
    }
    while (access(argv[1], F_OK) < 0)
        usleep(1000);
    volatile char *room = malloc(MUCH);
    for (size_t i = 0; room != NULL && i < MUCH; i += 4096)
        room[i] = 1;
    sleep(1);
    puts("has it all");
    return 0;
}
