/* Every file of the corpora through its target, so that what was once found stays found. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "../tests/harness.h"
#include "fuzz.h"

static void replay_file(const char *path, int (*target)(const uint8_t *, size_t))
{
    static uint8_t data[1 << 21];
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    CHECK_INT(target(data, size), 0);
    for (size_t cut = 0; cut < size && cut < 512; cut++) /* every beginning of it as well */
        CHECK_INT(target(data, cut), 0);
}

static void replay(const char *dir, int (*target)(const uint8_t *, size_t))
{
    char path[4096];
    unsigned count = 0;
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        replay_file(path, target);
        count++;
    }
    closedir(d);
    CHECK(count > 0);
}

TEST(policy_documents)
{
    replay(CORPUS "/policy_json", fuzz_policy_json);
}

TEST(effects)
{
    replay(CORPUS "/effects", fuzz_effects);
}

TEST(options)
{
    replay(CORPUS "/options", fuzz_options);
}
