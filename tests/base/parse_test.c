#include "base/parse.h"

#include "../harness.h"

static uint64_t value;

TEST(parse_numbers_are_whole_strings)
{
    CHECK_INT(parse_u64("0", &value), 0);
    CHECK_INT(parse_u64("18446744073709551614", &value), 0);
    CHECK_INT(parse_u64("18446744073709551615", &value), -ERANGE); /* it means "no limit" */
    CHECK_INT(parse_u64("18446744073709551616", &value), -ERANGE);
    static const char *const wrong[] = {"", " 1", "1 ", "+1", "-1", "0x10", "1e3", "1.0", "a"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_INT(parse_u64(wrong[i], &value), -EINVAL);
}

static uint64_t ms(const char *s)
{
    CHECK_INT(parse_duration_ms(s, &value), 0);
    return value;
}

TEST(parse_durations)
{
    CHECK_INT(ms("2"), 2000);
    CHECK_INT(ms("1500ms"), 1500);
    CHECK_INT(ms("1.5s"), 1500);
    CHECK_INT(ms("0.25"), 250);
    CHECK_INT(ms("3m"), 180000);
    CHECK_INT(ms("1h"), 3600000);
    CHECK_INT(ms("0"), 0);
    CHECK_INT(parse_duration_ms("0.1ms", &value), -EINVAL); /* would round to "default" */
    CHECK_INT(parse_duration_ms("0.0001s", &value), -EINVAL);
    CHECK_INT(ms("0.000s"), 0);
}

TEST(parse_refuses_what_is_no_duration)
{
    static const char *const wrong[] = {"", "s", "1x", "1S", "-1s", "1 s", "1.", ".5", "1s2", "1d"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_INT(parse_duration_ms(wrong[i], &value), -EINVAL);
    CHECK_INT(parse_duration_ms("9999999999999999999h", &value), -ERANGE);
}

TEST(parse_sizes)
{
    CHECK_INT(parse_size("4096", &value), 0);
    CHECK_INT(value, 4096);
    CHECK_INT(parse_size("64K", &value), 0);
    CHECK_INT(value, 65536);
    CHECK_INT(parse_size("512M", &value), 0);
    CHECK_INT(value, 536870912);
    CHECK_INT(parse_size("2G", &value), 0);
    CHECK_INT(value, 2147483648);
    static const char *const wrong[] = {"", "K", "1k", "1KB", "1.5M", "-1", "1T"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_INT(parse_size(wrong[i], &value), -EINVAL);
    CHECK_INT(parse_size("99999999999999999999G", &value), -ERANGE);
    CHECK_INT(parse_size("18014398509481984K", &value), -ERANGE);
}
