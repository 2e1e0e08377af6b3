/* Policies by the public interface. */
#include "box.h"

TEST(a_profile_that_does_not_exist_is_a_usage_error)
{
    struct cordon_error err = {0};
    CHECK(cordon_policy_new("stag", &err) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_USAGE);
    CHECK_STR(err.subject, "stag");
    CHECK_STR(err.remedy, "allowed: stage, module, limits, test, agent");
    CHECK(cordon_policy_new("stag", NULL) == NULL); /* err may be NULL */
}

TEST(a_document_is_read_and_written_in_its_normal_form)
{
    static const char text[] = "{\"version\": 1, \"extends\": \"stage\", \"limits\": {\"pids\": 7}}";
    struct cordon_error err = {0};
    struct cordon_policy *policy = cordon_policy_parse(text, sizeof text - 1, &err);
    CHECK(policy != NULL);
    char *once = cordon_policy_json(policy);
    CHECK(once != NULL && strstr(once, "\"pids\": 7") != NULL);
    struct cordon_policy *again = cordon_policy_parse(once, strlen(once), &err);
    char *twice = cordon_policy_json(again);
    CHECK_STR(twice, once);
    free(once);
    free(twice);
    cordon_policy_free(policy);
    cordon_policy_free(again);
    cordon_policy_free(NULL);
}

TEST(the_doctor_answers_and_refuses_a_profile_that_does_not_exist)
{
    struct cordon_error err = {0};
    char *text = cordon_doctor_json("limits", &err);
    CHECK(text != NULL && text[0] == '{');
    CHECK(strstr(text, "\"landlock\"") != NULL && strstr(text, "\"limits\"") != NULL);
    free(text);
    CHECK(cordon_doctor_json("limit", &err) == NULL);
    CHECK_STR(err.subject, "limit");
}

TEST(a_malformed_document_is_refused_with_its_place)
{
    static const char text[] = "{\"version\": 1, \"limits\": {\"pids\": \"many\"}}";
    struct cordon_error err = {0};
    CHECK(cordon_policy_parse(text, sizeof text - 1, &err) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    CHECK(strstr(err.subject, "/limits/pids") != NULL);
}

TEST(each_setter_checks_what_it_is_given)
{
    struct cordon_policy *policy = stage();
    struct cordon_error err = {0};
    CHECK_INT(cordon_policy_set_limit(policy, "wall_ms", 5000, &err), 0);
    CHECK_INT(cordon_policy_set_limit(policy, "mem_bytes", CORDON_UNLIMITED, &err), 0);
    CHECK_INT(cordon_policy_set_limit(policy, "speed", 1, &err), -EINVAL);
    CHECK_STR(err.remedy,
              "allowed: wall_ms, cpu_ms, mem_bytes, pids, nofile, output_bytes, grace_ms, tmp_bytes");
    CHECK_INT(cordon_policy_set_limit(policy, "pids", 0, &err), -ERANGE);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    CHECK_INT(cordon_policy_set_net(policy, "loopback", &err), 0);
    CHECK_INT(cordon_policy_set_net(policy, "some", &err), -EINVAL);
    CHECK(cordon_policy_add_ro(policy, "relative", NULL, &err) < 0);
    CHECK_INT(cordon_policy_add_ro(policy, "/usr", "/data", &err), 0);
    CHECK_INT(cordon_policy_add_rw(policy, "/tmp", NULL, &err), 0);
    CHECK_INT(cordon_policy_allow_env(policy, "TERM", &err), 0);
    CHECK_INT(cordon_policy_set_env(policy, "A", "b", &err), 0);
    cordon_policy_free(policy);
}

TEST(a_policy_that_contradicts_itself_gives_no_sandbox)
{
    struct cordon_policy *policy = stage();
    struct cordon_error err = {0};
    char *const argv[] = {(char[]){"true"}, NULL};
    CHECK_INT(cordon_policy_add_ro(policy, "/usr", "/proc/x", &err), 0);
    CHECK(cordon_run(policy, argv, NULL, &err) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_POLICY);
    char *const none[] = {NULL};
    CHECK(cordon_run(policy, none, NULL, &err) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_USAGE);
    char *const empty[] = {(char[]){""}, NULL};
    err = (struct cordon_error){0};
    CHECK(cordon_run(policy, empty, NULL, &err) == NULL);
    CHECK_INT(err.kind, CORDON_ERROR_USAGE);
    cordon_policy_free(policy);
}
