#include "base/buf.h"

#include "../harness.h"

TEST(buf_grows_up_to_its_maximum_and_remembers_a_failure)
{
    BUF_AUTO b = BUF_INIT(10);
    buf_puts(&b, "12345");
    buf_puts(&b, "67890");
    CHECK(!b.failed);
    CHECK_INT(b.len, 10);
    buf_puts(&b, "x");
    CHECK(b.failed);
    buf_puts(&b, ""); /* and stays so */
    CHECK(b.failed);
    CHECK(buf_string(&b) == NULL);
}

TEST(buf_string_is_terminated)
{
    BUF_AUTO b = BUF_INIT(100);
    buf_printf(&b, "%s %d", "a", 1);
    CHECK_STR(buf_string(&b), "a 1");
    CHECK_INT(b.len, 3);
}
