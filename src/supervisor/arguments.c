#include <stdio.h>
#include <string.h>

#include "supervisor/supervisor.h"

void supervisor_find_arguments(struct run_wishes *wishes)
{
    char text[1024];
    FILE *stat = fopen("/proc/self/stat", "re");
    if (stat == NULL)
        return;
    size_t n = fread(text, 1, sizeof text - 1, stat);
    fclose(stat);
    text[n] = '\0';
    const char *p = strrchr(text, ')');
    for (int field = 2; p != NULL && field < 48; field++)
        p = strchr(p + 1, ' ');
    unsigned long start = 0;
    unsigned long end = 0;
    if (p != NULL && sscanf(p, "%lu %*u %*u %lu", &start, &end) == 2 && start != 0 && end > start) {
        wishes->arguments = (char *)start;
        wishes->arguments_size = end - start;
    }
}
