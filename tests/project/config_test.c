#include "project/config.h"

#include <string.h>

#include "harness.h"

static struct arena arena = {.max = 1 << 20};
static struct project_config config;
static struct cordon_error err;

static int read_text(const char *text)
{
    err = (struct cordon_error){0};
    return project_config_parse(&config, &arena, text, strlen(text), &err);
}

static void check_refused(const char *text, const char *pointer, const char *place)
{
    CHECK_INT(read_text(text), -EINVAL);
    CHECK_STR(err.subject, pointer);
    CHECK(strncmp(err.why, place, strlen(place)) == 0);
}

TEST(without_a_word_everything_is_as_usual)
{
    CHECK_INT(read_text("{}"), 0);
    CHECK_STR(config.test_root, ".");
    CHECK_INT(config.writable.count, 1);
    CHECK_STR(config.writable.items[0], "tests");
    CHECK_INT(config.caches.count, 6);
    CHECK_INT(config.protect.count, 7);
    CHECK_STR(config.config_env.items[0], "SLOP_CONFIG");
    CHECK_INT(config.command.count, 0);
}

TEST(lists_replace_and_paths_are_normalised)
{
    CHECK_INT(read_text("{\"test\": {\"root\": \"./a\", \"writable\": [\"b//c/\", \"./d\"], \"command\": [\"x\", \"\"]},"
                        " \"audit\": {\"rules\": {\"disable\": [\"tempfile-dir\"]}}}"), 0);
    CHECK_STR(config.test_root, "a");
    CHECK_STR(config.writable.items[0], "b/c");
    CHECK_STR(config.writable.items[1], "d");
    CHECK_STR(config.command.items[1], "");
    CHECK_STR(config.disabled.items[0], "tempfile-dir");
    CHECK_INT(config.protect.count, 7);
}

TEST(no_path_leaves_the_root)
{
    check_refused("{\"test\": {\"writable\": [\"a\", \"../b\"]}}", "/test/writable/1", "1:29: ");
    check_refused("{\"test\": {\"writable\": [\"/etc\"]}}", "/test/writable/0", "1:24: ");
    check_refused("{\"test\": {\"writable\": [\"a/../..\"]}}", "/test/writable/0", "1:24: ");
    check_refused("{\"test\": {\"writable\": [\".\"]}}", "/test/writable/0", "1:24: ");
    check_refused("{\"test\": {\"writable\": [\"\"]}}", "/test/writable/0", "1:24: ");
    check_refused("{\"test\": {\"config_template\": \"../x\"}}", "/test/config_template", "1:30: ");
    check_refused("{\"test\": {\"root\": \"/\"}}", "/test/root", "1:19: ");
}

TEST(what_is_not_known_is_refused_with_its_place)
{
    check_refused("{\"tset\": {}}", "/tset", "1:2: unknown key");
    CHECK_STR(err.remedy, "did you mean \"test\"?");
    check_refused("{\n  \"test\": {\"writable\": \"tests\"}}", "/test/writable", "2:24: expected ");
    check_refused("{\"test\": {\"writable\": []}}", "/test/writable", "1:23: ");
    check_refused("{\"test\": {\"caches\": [\"a/b\"]}}", "/test/caches/0", "1:22: ");
    check_refused("{\"test\": {\"caches\": [\"*\"]}}", "/test/caches/0", "1:22: ");
    check_refused("[]", "", "1:1: ");
    check_refused("{", "", "1:2: ");
}
