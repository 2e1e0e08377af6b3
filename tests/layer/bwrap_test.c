/* What init compares before a payload of bwrap's is executed: no bwrap runs here. */
#include "layer/bwrap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../harness.h"

TEST(a_source_that_was_replaced_on_the_way_is_seen)
{
    char top[] = "/tmp/bwrap-test-XXXXXX";
    CHECK(test_directory(top) != NULL);
    CHECK_INT(chdir(top), 0);
    CHECK(mkdir("named", 0755) == 0 && mkdir("other", 0755) == 0 && symlink("other", "link") == 0);
    const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char source[64];
    snprintf(source, sizeof source, "%s/named", top);
    struct plan_step step = {.kind = STEP_BIND, .flags = STEP_LISTED, .source = source, .target = "shown"};
    const struct plan plan = {.steps = &step, .step_count = 1};
    CHECK_STR(layer_bwrap_swapped(&plan, here), "shown"); /* nothing is there */
    CHECK_INT(symlink("named", "shown"), 0);              /* stands for the mount */
    CHECK(layer_bwrap_swapped(&plan, here) == NULL);
    CHECK(unlink("shown") == 0 && symlink("other", "shown") == 0);
    CHECK_STR(layer_bwrap_swapped(&plan, here), "shown"); /* bwrap went by a link that is gone again */
    CHECK(rename("named", "away") == 0 && rename("link", "named") == 0);
    CHECK_STR(layer_bwrap_swapped(&plan, here), "shown"); /* or is still there */
    CHECK_INT(unlink("named"), 0);
    CHECK_STR(layer_bwrap_swapped(&plan, here), "shown");
    step.flags |= STEP_OPTIONAL;
    CHECK(layer_bwrap_swapped(&plan, here) == NULL);
    CHECK(rmdir("away") == 0 && rmdir("other") == 0 && unlink("shown") == 0 && rmdir(top) == 0);
    close(here);
}
