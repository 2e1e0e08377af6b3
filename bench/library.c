/*
 * cordon_run() of /bin/true under the default policy.
 *
 *   library lat ROUNDS              each round once through the library, once bare; microseconds
 *   library thr SECONDS CALLERS     how many a second, by so many threads of this process
 *   library floor SECONDS CALLERS   the same, bare
 */
#include <cordon/cordon.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "layer/probe.h"
#include "sys/process.h"

extern char **environ;

static char *command[] = {(char[]){"/bin/true"}, NULL};

static void die(const char *what, const struct cordon_error *err)
{
    fprintf(stderr, "library: %s: %s '%s' %s\n", what, err->what, err->subject, strerror(err->errnum));
    exit(1);
}

static void run(const struct cordon_policy *policy)
{
    struct cordon_error err = {0};
    struct cordon_result *result = cordon_run(policy, command, NULL, &err);
    if (result == NULL || strcmp(cordon_result_status(result), "OK") != 0)
        die(result == NULL ? "not started" : cordon_result_json(result), &err);
    cordon_result_free(result);
}

static struct cordon_policy *make_policy(void)
{
    struct cordon_error err = {0};
    struct cordon_policy *policy = cordon_policy_new("stage", &err);
    if (policy == NULL)
        die("policy", &err);
    return policy;
}

/* What bare_run() does, until the end of this program. */
static const struct plan *make_plan(void)
{
    static struct policy same;
    static struct arena arena = ARENA_INIT(1 << 20);
    static struct host host;
    static struct plan plan;
    struct cordon_error err = {0};
    policy_init(&same, PROFILE_STAGE);
    const struct plan_request request = {.policy = &same, .host = &host, .command = command, .caller_env = environ};
    if (layer_probe(&host, &arena, &same, environ, &err) < 0 || plan_compile(&plan, &arena, &request, &err) < 0)
        die("plan", &err);
    return &plan;
}

static void run_bare(const struct plan *plan)
{
    if (bare_run(plan) < 0)
        die("bare", &(struct cordon_error){0});
}

static void compare(unsigned rounds)
{
    struct cordon_policy *policy = make_policy();
    const struct plan *plan = make_plan();
    for (unsigned i = 0; i < rounds + 3; i++) {
        const uint64_t start = sys_now_us();
        run(policy);
        const uint64_t middle = sys_now_us();
        run_bare(plan);
        const uint64_t end = sys_now_us();
        if (i >= 3)
            printf("%llu %llu\n", (unsigned long long)(middle - start), (unsigned long long)(end - middle));
    }
    cordon_policy_free(policy);
}

struct caller {
    pthread_t thread;
    const struct plan *bare; /* NULL: through the library */
    uint64_t until;
    unsigned long count;
};

static void *call(void *arg)
{
    struct caller *caller = arg;
    struct cordon_policy *policy = make_policy();
    for (; sys_now_us() < caller->until; caller->count++) {
        if (caller->bare != NULL)
            run_bare(caller->bare);
        else
            run(policy);
    }
    cordon_policy_free(policy);
    return NULL;
}

static void count(double seconds, unsigned callers, const struct plan *bare)
{
    struct caller all[16] = {{0}};
    unsigned long sum = 0;
    const uint64_t start = sys_now_us();
    for (unsigned i = 0; i < callers && i < 16; i++) {
        all[i].bare = bare;
        all[i].until = start + (uint64_t)(seconds * 1e6);
        pthread_create(&all[i].thread, NULL, call, &all[i]);
    }
    for (unsigned i = 0; i < callers && i < 16; i++) {
        pthread_join(all[i].thread, NULL);
        sum += all[i].count;
    }
    printf("%.1f\n", (double)sum * 1e6 / (double)(sys_now_us() - start));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "lat") == 0)
        compare((unsigned)atoi(argv[2]));
    else if (argc == 4 && strcmp(argv[1], "thr") == 0)
        count(atof(argv[2]), (unsigned)atoi(argv[3]), NULL);
    else if (argc == 4 && strcmp(argv[1], "floor") == 0)
        count(atof(argv[2]), (unsigned)atoi(argv[3]), make_plan());
    else
        return 2;
    return 0;
}
