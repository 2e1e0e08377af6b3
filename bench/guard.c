/*
 * What guard mode costs a program: prints the least time of each act in nanoseconds.
 *
 *     guard DIR     DIR is writable, and holds what this program makes there
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SMALL_FILES 64
#define BLOCK (64 * 1024)
#define BATCHES 40

static char block[BLOCK];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void read_small(unsigned i)
{
    char name[16];
    snprintf(name, sizeof name, "small%u", i % SMALL_FILES);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, block, 100) != 100)
        die(name);
    close(fd);
}

static int big;

static void read_block(unsigned i)
{
    (void)i;
    if (pread(big, block, BLOCK, 0) != BLOCK)
        die("pread");
}

static char made[4096];

/* A call that waits for the listener, and is as cheap as one can be without it. */
static void ask(unsigned i)
{
    (void)i;
    if (mkdir(made, 0755) == 0)
        die("mkdir");
}

static void write_file(unsigned i)
{
    (void)i;
    int fd = open("new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, block, 100) != 100 || close(fd) < 0 || rename("new", "newer") < 0 || unlink("newer") < 0)
        die("write");
}

static uint64_t least(void (*act)(unsigned), unsigned count)
{
    uint64_t best = UINT64_MAX;
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        const uint64_t start = now();
        for (unsigned i = 0; i < count; i++)
            act(i);
        const uint64_t each = (now() - start) / count;
        best = each < best ? each : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    if (argc != 2 || chdir(argv[1]) < 0)
        die("guard DIR");
    for (unsigned i = 0; i < SMALL_FILES; i++) {
        char name[16];
        snprintf(name, sizeof name, "small%u", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, block, 100) != 100)
            die(name);
        close(fd);
    }
    big = open("big", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (big < 0 || write(big, block, BLOCK) != BLOCK)
        die("big");
    snprintf(made, sizeof made, "%s/made", argv[1]);
    mkdir(made, 0755);
    printf("%llu %llu %llu %llu\n", (unsigned long long)least(read_small, 500), (unsigned long long)least(read_block, 200),
           (unsigned long long)least(ask, 200), (unsigned long long)least(write_file, 50));
    return 0;
}
