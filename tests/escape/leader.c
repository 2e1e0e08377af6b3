/* Memory of a process whose first thread has ended: its statm reads zero. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MUCH (300u << 20)

static void *eat(void *ignored)
{
    (void)ignored;
    usleep(200000); /* the first thread is gone by now */
    volatile char *room = malloc(MUCH);
    for (size_t i = 0; room != NULL && i < MUCH; i += 4096)
        room[i] = 1;
    usleep(800000); /* several samples long */
    puts(room != NULL ? "has it all" : "has nothing");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    if (pthread_create(&thread, NULL, eat, NULL) != 0)
        return 1;
    if (argc > 1)
        syscall(SYS_exit, 0);
    pthread_join(thread, NULL);
    return 0;
}
