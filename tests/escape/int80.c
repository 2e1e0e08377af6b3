/* Makes calls by the 32-bit entry of a 64-bit process; prints what came back. */
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
static long int80(long number, long a, long b, long c)
{
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory",
                     "r8", "r9", "r10", "r11");
    return (int)r;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "socket") == 0) {
        /* 359: socket, by its own number; AF_INET */
        printf("%ld\n", int80(359, 2, 1, 0));
        return 0;
    }
    printf("%ld\n", int80(20, 0, 0, 0)); /* getpid */
    return 0;
}
#else
int main(void)
{
    puts("none");
    return 0;
}
#endif
