/* Computes for a while and prints what it used, user and system time, in microseconds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define ITEMS (1 << 16)

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static uint64_t items[ITEMS];
    uint64_t state = 88172645463325252u, sum = 0;
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < ITEMS; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            items[i] = state;
        }
        qsort(items, ITEMS, sizeof items[0], compare);
        sum += items[round];
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld %d\n", (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
           sum != 0);
    return 0;
}
