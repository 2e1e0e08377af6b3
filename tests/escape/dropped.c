/* Shared memory that stays although no page table shows it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE (16u << 20)
#define PIECES 18

int main(int argc, char **argv)
{
    const int zero = argc > 1 && strcmp(argv[1], "zero") == 0 ? open("/dev/zero", O_RDWR) : -1;
    const int flags = MAP_SHARED | (zero < 0 ? MAP_ANONYMOUS : 0);
    volatile char *pieces[PIECES];
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, flags, zero, 0);
        if (pieces[i] == MAP_FAILED)
            return 3;
        for (size_t at = 0; at < PIECE; at += 4096)
            pieces[i][at] = 1;
        madvise((void *)pieces[i], PIECE, MADV_DONTNEED);
    }
    usleep(500000);
    size_t kept = 0;
    for (int i = 0; i < PIECES; i++)
        kept += pieces[i][PIECE / 2] == 1;
    puts(kept == PIECES ? "has it all" : "has less");
    return 0;
}
