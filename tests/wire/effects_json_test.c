#include "wire/effects_json.h"

#include "wire/policy_json.h"

#include "../harness.h"

static struct arena arena = {.max = 1 << 24};
static struct policy policy;
static struct cordon_error err;

static int read_text(const char *text)
{
    policy_init(&policy, PROFILE_STAGE);
    err = (struct cordon_error){0};
    return effects_read(&policy, &arena, text, strlen(text), &err);
}

TEST(effects_become_network_and_binds)
{
    CHECK_INT(
        read_text("[{\"effect\": \"Pure\"}, {\"effect\": \"FsRead\", \"path\": \"/etc/ssl\"},"
                  "{\"effect\": \"FsWrite\", \"path\": \"/srv/out/\"}, {\"effect\": \"Network\"},"
                  "{\"effect\": \"fs_read\", \"path\": \"/usr/share\"},"
                  "{\"effect\": \"FsRead\", \"path\": \"/etc/ssl\"}]"),
        0);
    CHECK_INT(policy.net, NET_HOST);
    CHECK_INT(policy.ro.count, 2); /* a set: said twice is said once */
    CHECK_STR(policy.ro.items[0].host, "/etc/ssl");
    CHECK_STR(policy.ro.items[0].sandbox, "/etc/ssl");
    CHECK_STR(policy.ro.items[1].host, "/usr/share");
    CHECK_INT(policy.rw.count, 1);
    CHECK_STR(policy.rw.items[0].sandbox, "/srv/out");
}

/* In whatever order: ro wins at the same place, and what was asked for would not be had. */
TEST(what_is_read_and_written_is_writable)
{
    CHECK_INT(read_text("[{\"effect\": \"FsRead\", \"path\": \"/srv/a\"}, {\"effect\": \"FsWrite\", \"path\": \"/srv/a\"},"
                        "{\"effect\": \"FsWrite\", \"path\": \"/srv/b\"}, {\"effect\": \"FsRead\", \"path\": \"/srv/b\"},"
                        "{\"effect\": \"FsRead\", \"path\": \"/srv/b/c\"}]"),
              0);
    CHECK_INT(policy.rw.count, 2);
    CHECK_INT(policy.ro.count, 1);
    CHECK_STR(policy.ro.items[0].host, "/srv/b/c");
}

TEST(other_effects_change_nothing)
{
    struct policy base;
    char want[65];
    char got[65];
    CHECK_INT(
        read_text("[{\"effect\": \"Pure\"}, {\"effect\": \"Fallible\"}, {\"effect\": \"Process\"},"
                  "{\"effect\": \"Llm\", \"model\": \"m\"}, {\"effect\": \"NonDeterministic\"},"
                  "{\"effect\": \"Cost\", \"cents\": 5}, {\"effect\": \"Unknown\"}]"),
        0);
    policy_init(&base, PROFILE_STAGE);
    CHECK_INT(policy_sha256(&base, want), 0);
    CHECK_INT(policy_sha256(&policy, got), 0);
    CHECK_STR(got, want);
    CHECK_INT(read_text("[]"), 0);
    CHECK_INT(read_text("{\"effects\": [{\"effect\": \"Network\"}]}"), 0);
    CHECK_INT(policy.net, NET_HOST);
}

static void refused(const char *text, const char *pointer, const char *why)
{
    if (read_text(text) == 0)
        test_fail(__FILE__, __LINE__, "accepted: %s", text);
    CHECK_STR(err.subject, pointer);
    CHECK_STR(err.why, why);
    CHECK_STR(err.what, "read effects");
}

TEST(wrong_effects_are_refused)
{
    refused("[{\"effect\": \"FsRaed\"}]", "/0/effect", "1:13: unknown effect");
    CHECK_STR(err.remedy, "did you mean \"FsRead\"?");
    refused("[{\"effect\": \"FsRead\"}]", "/0", "1:2: the effect has no \"path\"");
    refused("[{\"effect\": \"FsRead\", \"path\": \"x\"}]", "/0/path",
            "1:31: the path is not absolute");
    refused("[{\"path\": \"/x\"}]", "/0", "1:2: the key \"effect\" is missing");
    refused("[\"Network\"]", "/0", "1:2: expected an object, found a string");
    refused("{\"effect\": \"Network\"}", "", "1:1: expected a list, found an object");
    refused("[{\"effect\": \"F_s_Read\"}]", "/0/effect", "1:13: unknown effect");
}
