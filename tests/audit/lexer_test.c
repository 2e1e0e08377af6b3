#include "audit/lexer.h"

#include <string.h>

#include "harness.h"

static struct lexer lexer;

static void lex(const char *text)
{
    CHECK_INT(lexer_run(&lexer, text, strlen(text)), 0);
}

/* The kinds of all tokens as letters: n name, 0 number, s string, o operator, ; newline, . end. */
static void check_kinds(const char *text, const char *kinds)
{
    char seen[128];
    size_t used = 0;
    lex(text);
    for (uint32_t i = 0; i < lexer.count && used + 1 < sizeof seen; i++)
        seen[used++] = "n0so;."[lexer.tokens[i].kind];
    seen[used] = '\0';
    CHECK_STR(seen, kinds);
}

static void check_string(const char *text, const char *meaning, bool complete)
{
    char out[64];
    bool whole;
    lex(text);
    CHECK_INT(lexer_string(&lexer, 0, out, sizeof out, &whole), lexer.count - 1);
    CHECK_STR(out, meaning);
    CHECK_INT(whole, complete);
}

TEST(lines_end_outside_of_brackets_only)
{
    check_kinds("a = b\n\n  # c\nf(\n  x,  # y\n)\n", "non;nonoo;.");
    check_kinds("a = \\\n  b\n", "non;.");
    check_kinds("x == 1.5e3\n", "noo0;.");
}

TEST(strings_in_all_forms_are_one_token)
{
    check_kinds("'a' \"b\" r'\\'' b\"x\" Rb'\\\\' u'' f''\n", "sssssss;.");
    check_kinds("\"\"\"a\n\"b\" # no comment\n\"\"\" '''x'''\n", "ss;.");
    check_kinds("xf'a' f 'b'\n", "nsns;.");
    check_kinds("'unfinished\nb\n", "s;n;.");
    check_kinds("'goes\\\non' x\n", "sn;.");
    check_kinds("'''never ends\n", "s.");
}

TEST(fields_of_f_strings_may_hold_strings)
{
    check_kinds("f\"{a[\"k\"]}\" x\n", "sn;.");
    check_kinds("f'{x!r:>{w}}' x\n", "sn;.");
    check_kinds("f'{{' x\n", "sn;.");
    check_kinds("f\"{f\"{f\"{1}\"}\"}\" x\n", "sn;.");
    check_kinds("f'{\nx\n", "s;n;.");
}

TEST(a_quote_in_a_format_is_a_character)
{
    check_kinds("f(f\"{x:'>8}\", y)\n", "nosono;.");
    check_kinds("f'{x!r:\"^{w}}' x\n", "sn;.");
    check_kinds("f'{x:{\"{\"}}' x\n", "sn;.");
    check_kinds("f\"{d[a:b][\"k:\"]:'<3}\" x\n", "sn;.");
    check_kinds("f\"{(lambda: \"}\")()}\" x\n", "sn;.");
}

TEST(a_mark_and_ends_of_lines_from_windows_are_no_part_of_a_word)
{
    struct lexer_line line = LEXER_LINE_INIT;
    lex("\xef\xbb\xbfimport x\r\ny\r\n");
    CHECK_INT(lexer.tokens[0].at, 3);
    CHECK_INT(lexer.tokens[0].len, 6);
    CHECK_INT(lexer_column(&lexer, &line, lexer.tokens[1].at), 8);
    check_kinds("'goes\\\r\non' x\r\n", "sn;.");
    check_string("'a\\\r\nb'", "ab", true);
}

TEST(brackets_know_their_partner)
{
    lex("a(b[c]{d})");
    CHECK_INT(lexer.tokens[1].match, 9);
    CHECK_INT(lexer.tokens[9].match, 1);
    CHECK_INT(lexer.tokens[3].match, 5);
    lex("(]");
    CHECK_INT(lexer.tokens[0].match, 0);
    CHECK_INT(lexer.tokens[1].match, 0);
}

TEST(escapes_and_adjacent_strings_are_decoded)
{
    check_string("'C:\\\\a' r'\\b'", "C:\\a\\b", true);
    check_string("'\\x63\\157n' \"\\u0066\"", "conf", true);
    check_string("'a\\\nb'", "ab", true);
    check_string("f'{{x}}'", "{x}", true);
    check_string("f'tests/{name}/x'", "tests/", false);
    check_string("'0123456789012345678901234567890123456789012345678901234567890123456789'",
                 "012345678901234567890123456789012345678901234567890123456789012", false);
}

TEST(columns_count_characters)
{
    struct lexer_line line = LEXER_LINE_INIT;
    lex("x\n\xc3\xa4\xc3\xb6 = y\n");
    lexer_line_to(&lexer, &line, 9);
    CHECK_INT(line.number, 2);
    CHECK_INT(lexer_column(&lexer, &line, 9), 6);
}

TEST(a_text_that_is_too_long_is_refused)
{
    CHECK_INT(lexer_run(&lexer, "", (size_t)LEXER_TEXT_MAX + 1), -EFBIG);
}
