/* The corpus of one fuzzer: each file, and each beginning of it. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PREFIXES 512 /* enough to stop in the middle of everything once */

static void replay(const char *path)
{
    static uint8_t data[1 << 21];
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    CHECK_INT(LLVMFuzzerTestOneInput(data, size), 0);
    for (size_t cut = 0; cut < size && cut < PREFIXES; cut++)
        CHECK_INT(LLVMFuzzerTestOneInput(data, cut), 0);
}

TEST(the_corpus_keeps_every_promise)
{
    char path[4096];
    unsigned count = 0;
    DIR *d = opendir(CORPUS);
    CHECK(d != NULL);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", CORPUS, e->d_name);
        replay(path);
        count++;
    }
    closedir(d);
    CHECK(count > 0);
}
