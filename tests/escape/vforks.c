/* Most of the memory, and a child that lives in it for a while, as between vfork() and exec. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELD (60u << 20)

int main(void)
{
    char *p = mmap(NULL, HELD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 3;
    memset(p, 7, HELD);
    pid_t pid = vfork();
    if (pid == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    puts("went on");
    return 0;
}
