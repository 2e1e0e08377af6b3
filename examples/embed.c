/*
 * The shortest useful program around libcordon: run a command that is not trusted, wait, and say how
 * it ended and what really kept it inside.
 *
 *   cc embed.c $(pkg-config --cflags --libs cordon) -o embed
 *   ./embed sh -c 'id; cat /etc/shadow'
 */
#include <cordon/cordon.h>
#include <stdio.h>

static int complain(const struct cordon_error *err)
{
    char text[1024];
    cordon_error_format(err, text, sizeof text);
    fprintf(stderr, "embed: %s\n", text);
    return 125;
}

static void print_ledger(const struct cordon_result *result)
{
    static const char *const capabilities[] = {"filesystem", "network", "processes", "memory", "syscalls"};
    size_t i;
    for (i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) {
        struct cordon_enforcement e;
        if (cordon_result_enforced(result, capabilities[i], &e) == 0)
            fprintf(stderr, "  %-11s %-3s by %s\n", capabilities[i], e.applied ? "yes" : "NO", e.mechanism);
    }
}

int main(int argc, char **argv)
{
    struct cordon_error err = {0};
    struct cordon_policy *policy;
    struct cordon_result *result;
    const char *out;
    size_t len = 0;
    int rc;

    if (argc < 2) {
        fprintf(stderr, "usage: embed COMMAND [ARG...]\n");
        return 2;
    }
    policy = cordon_policy_new("stage", &err);
    if (policy == NULL)
        return complain(&err);
    if (cordon_policy_set_limit(policy, "wall_ms", 10 * 1000, &err) < 0)
        return complain(&err);

    result = cordon_run(policy, argv + 1, NULL, &err);
    cordon_policy_free(policy);
    if (result == NULL)
        return complain(&err);

    out = cordon_result_stdout(result, &len);
    fwrite(out, 1, len, stdout);
    fprintf(stderr, "%s after %lu ms %s\n", cordon_result_status(result),
            (unsigned long)cordon_result_duration_ms(result), cordon_result_reason(result));
    print_ledger(result);
    rc = cordon_result_rc(result);
    cordon_result_free(result);
    return rc;
}
