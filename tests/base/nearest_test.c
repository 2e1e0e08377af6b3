#include "base/nearest.h"

#include <stdint.h>

#include "../harness.h"

TEST(nearest_counts_letters)
{
    CHECK_INT(nearest_distance("", "abc"), 3);
    CHECK_INT(nearest_distance("kitten", "sitting"), 3);
    CHECK_INT(nearest_distance("same", "same"), 0);
    static char lengthy[200];
    memset(lengthy, 'a', sizeof lengthy - 1);
    CHECK(nearest_distance(lengthy, "a") == SIZE_MAX);
}

TEST(nearest_finds_a_slip_and_nothing_else)
{
    static const char *const words[] = {"wall", "cpu", "allow-partial"};
    CHECK_STR(nearest_word("wal", words, 3, sizeof words[0]), "wall");
    CHECK_STR(nearest_word("allow-partal", words, 3, sizeof words[0]), "allow-partial");
    CHECK(nearest_word("proc", (const char *const[]){"ro", "rw"}, 2, sizeof words[0]) == NULL);
    CHECK(nearest_word("elephant", words, 3, sizeof words[0]) == NULL);
    static const char *const options[] = {"--ro", "--timeout"};
    CHECK(nearest_word("--foo", options, 2, sizeof options[0]) == NULL);
    CHECK_STR(nearest_word("--roo", options, 2, sizeof options[0]), "--ro");
    CHECK_STR(nearest_word("--tiemout", options, 2, sizeof options[0]), "--timeout");
}
