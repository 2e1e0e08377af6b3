/*
 * Command lines side by side. Each is a list of words that ends with ";".
 *
 *   spawn lat ROUNDS WORDS ; WORDS ; ...     a line for each round: microseconds of each command
 *   spawn thr SECONDS CALLERS WORDS ;        how many a second, by so many processes
 *
 * Standard input and output are /dev/null; whatever ends with another status than 0 ends it all.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS 32
#define WARM 3

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double once(char **argv)
{
    char *const environment[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    static posix_spawn_file_actions_t actions;
    static int ready;
    pid_t pid;
    int status = -1;
    if (!ready++) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    }
    const double start = now();
    if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environment) != 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "spawn: %s ended with status %#x\n", argv[0], status);
        exit(1);
    }
    return now() - start;
}

/* What the kernel takes apart behind a command is paid by the next one: that must not always be the same. */
static void shuffle(int *order, int count)
{
    for (int i = count - 1; i > 0; i--) {
        const int other = rand() % (i + 1);
        const int moved = order[i];
        order[i] = order[other];
        order[other] = moved;
    }
}

static void interleave(int rounds, char ***commands, int count)
{
    int order[COMMANDS];
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int r = -WARM; r < rounds; r++) {
        double took[COMMANDS];
        shuffle(order, count);
        for (int i = 0; i < count; i++)
            took[order[i]] = once(commands[order[i]]);
        for (int i = 0; r >= 0 && i < count; i++)
            printf("%.1f%c", took[i], i + 1 < count ? ' ' : '\n');
    }
}

static void throughput(double seconds, int callers, char **argv)
{
    long *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const double start = now();
    long sum = 0;
    for (int c = 0; c < callers; c++) {
        if (fork() == 0) {
            for (; now() - start < seconds * 1e6; counts[c * 8]++)
                once(argv);
            _exit(0);
        }
    }
    for (int c = 0; c < callers; c++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0)
            exit(1);
    }
    for (int c = 0; c < callers; c++)
        sum += counts[c * 8];
    printf("%.1f\n", (double)sum * 1e6 / (now() - start));
}

int main(int argc, char **argv)
{
    char **commands[COMMANDS];
    int count = 0;
    const int first = argc > 1 && strcmp(argv[1], "thr") == 0 ? 4 : 3;
    for (int i = first, start = first; i < argc; i++) {
        if (strcmp(argv[i], ";") != 0)
            continue;
        if (count == COMMANDS) {
            fprintf(stderr, "spawn: more than %d commands\n", COMMANDS);
            return 2;
        }
        argv[i] = NULL;
        commands[count++] = &argv[start];
        start = i + 1;
    }
    if (count == 0)
        return 2;
    if (first == 4)
        throughput(atof(argv[2]), atoi(argv[3]), commands[0]);
    else
        interleave(atoi(argv[2]), commands, count);
    return 0;
}
