#include "base/text.h"

#include <signal.h>

#include "../harness.h"

static const char *escaped(const char *in, size_t len)
{
    static char out[256];
    text_escape(out, sizeof out, in, len);
    return out;
}

TEST(text_escapes_what_a_terminal_obeys)
{
    CHECK_STR(escaped("plain \xc3\xa9", 8), "plain \xc3\xa9");
    CHECK_STR(escaped("\x1b[31m", 5), "\\x1b[31m");
    CHECK_STR(escaped("a\nb\tc", 5), "a\\nb\\tc");
    CHECK_STR(escaped("\xff\x7f", 2), "\\xff\\x7f");
    CHECK_STR(escaped("\xc2\x9b", 2), "\\xc2\\x9b"); /* CSI in one character */
    CHECK_STR(escaped("a\0b", 3), "a\\x00b");
}

TEST(text_escapes_what_turns_its_direction)
{
    static const char *const marks[] = {"\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xaa",
                                        "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        CHECK(escaped(marks[i], strlen(marks[i]))[0] == '\\');
    CHECK_STR(escaped("txt.\xe2\x80\xaegpj", 10), "txt.\\xe2\\x80\\xaegpj");
    CHECK_STR(escaped("\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa\xd8\x9b", 11), "\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa\xd8\x9b");
}

TEST(text_escape_never_cuts_an_escape_in_half)
{
    char out[8];
    CHECK_INT(text_escape(out, sizeof out, "abcde\x01", 6), 9);
    CHECK_STR(out, "abcde");
    CHECK_INT(text_escape(NULL, 0, "abc", 3), 3);
}

TEST(text_knows_valid_utf8)
{
    CHECK_INT(text_utf8("a", 1), 1);
    CHECK_INT(text_utf8("\xe2\x82\xac", 3), 3);
    CHECK_INT(text_utf8("\xe2\x82\xac", 2), 0); /* cut */
    CHECK_INT(text_utf8("\xf4\x90\x80\x80", 4), 0); /* beyond Unicode */
    CHECK_INT(text_utf8("\x80", 1), 0);
    CHECK_INT(text_utf8("", 0), 0);
}

TEST(text_names_errors_and_signals)
{
    CHECK_STR(text_errno_name(ENOENT), "ENOENT");
    CHECK_STR(text_errno(EACCES), "permission denied");
    CHECK_STR(text_errno(123456), "system error");
    CHECK_STR(text_signal_name(SIGKILL), "SIGKILL");
    CHECK_STR(text_signal_name(1000), "signal");
}

TEST(text_is_appended_whole_or_the_buffer_says_that_it_failed)
{
    char line[3001];
    memset(line, '\x1b', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    BUF_AUTO out = BUF_INIT(1 << 16);
    buf_puts(&out, "> ");
    text_put(&out, line);
    text_put(&out, "");
    CHECK_INT(out.len, 2 + 4 * 3000);
    CHECK(!out.failed && memcmp(out.data + out.len - 4, "\\x1b", 4) == 0);
    BUF_AUTO small = BUF_INIT(16);
    text_put(&small, line);
    CHECK(small.failed);
}
