/* What the listener has seen, read while it may still write: the supervisor gives up on one that is stuck. */
#include "listener/record.h"

#include <stdlib.h>

#include "../harness.h"

static struct records records;

static const struct sighting seen = {.op = "remove", .rule = "read-only", .path = "/a", .comm = "sh", .pid = 7};

TEST(collects_each_with_its_text)
{
    struct result_violations out = {0};
    CHECK(record_add(&records, &seen));
    CHECK(!record_add(&records, &seen));
    CHECK(record_collect(&records, &out));
    CHECK_INT(out.count, 1);
    CHECK_INT(out.total, 2);
    CHECK_STR(out.items[0].path, "/a");
    CHECK_STR(out.items[0].comm, "sh");
    CHECK(out.items[0].test == NULL);
    free(out.items);
}

TEST(reads_no_more_text_than_there_is)
{
    struct result_violations out = {0};
    CHECK(record_add(&records, &seen));
    records.text_used = 64u * sizeof records;
    CHECK(record_collect(&records, &out));
    CHECK_STR(out.items[0].path, "/a");
    free(out.items);
}
