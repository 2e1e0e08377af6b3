/* Processes that share pages and have very many mappings: to look at them exactly takes its time. Then memory beyond the limit. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CHILDREN 60
#define MAPPINGS 30000
#define SHARED (5u << 20)
#define MUCH (400u << 20)

static char *map(size_t size)
{
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int main(void)
{
    char *many = map(MAPPINGS * 8192ul);
    char *shared = map(SHARED);
    char *room = map(MUCH);
    if (many == NULL || shared == NULL || room == NULL)
        return 1;
    for (size_t i = 0; i < MAPPINGS; i++)
        mprotect(many + i * 8192, 4096, PROT_READ);
    memset(shared, 1, SHARED);
    for (int i = 0; i < CHILDREN; i++) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
    }
    memset(room, 1, MUCH);
    puts("has it all");
    return 0;
}
