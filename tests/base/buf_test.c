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

TEST(what_is_printed_fits_at_every_length)
{
    for (int n = 0; n < 600; n++) {
        BUF_AUTO b = BUF_INIT(2000);
        buf_puts(&b, "<");
        buf_printf(&b, "%*d", n, 7);
        buf_puts(&b, ">");
        CHECK_INT(b.len, (n < 1 ? 1 : n) + 2);
        CHECK(b.data[0] == '<' && b.data[b.len - 2] == '7' && b.data[b.len - 1] == '>');
    }
}

TEST(an_array_serves_until_it_is_too_small)
{
    char room[4];
    BUF_AUTO b = BUF_IN(room, 100);
    buf_puts(&b, "1234");
    CHECK(b.data == room);
    buf_printf(&b, "%s", "5678");
    CHECK(b.data != room);
    CHECK_STR(buf_string(&b), "12345678");
    buf_free(&b);
    CHECK_INT(b.len, 0);

    BUF_AUTO small = BUF_IN(room, 3); /* its maximum holds within the array, too */
    buf_puts(&small, "1234");
    CHECK(small.failed);
}
