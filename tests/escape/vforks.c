/* Most of the memory, and children that live in it for a while, as between vfork() and exec: how many, and for how long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELD (24u << 20)

static void live_in_it(const struct timespec *life)
{
    pid_t pid = vfork();
    if (pid == 0) {
        nanosleep(life, NULL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const struct timespec life = {.tv_nsec = atol(argv[2]) * 1000};
    char *p = mmap(NULL, HELD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 3;
    memset(p, 7, HELD);
    for (long i = atol(argv[1]); i > 0; i--)
        live_in_it(&life);
    puts("went on");
    return 0;
}
