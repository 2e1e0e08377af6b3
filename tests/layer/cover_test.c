#include "layer/cover.h"

#include <fcntl.h>
#include <unistd.h>

#include "../harness.h"

/* Who makes names without end in a watched directory must not keep init from its other work. */
TEST(news_without_end_are_read_once_in_a_round)
{
    struct layer_cover cover = {.box = -1, .events = open("/dev/zero", O_RDONLY | O_CLOEXEC)};
    CHECK(cover.events >= 0);
    alarm(5);
    layer_cover_again(&cover);
    close(cover.events);
}
