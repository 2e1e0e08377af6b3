/*
 * Whatever init and the payload process leave in the page that they share with the supervisor, one
 * verdict follows: no claim without all of its proof, none at all if nothing ran, and OK only for what
 * was seen to end well. The first byte is what the supervisor itself saw, the rest is the page.
 */
#include <string.h>
#include <sys/wait.h>

#include "fuzz.h"
#include "supervisor/verdict.h"
#include "wire/result_json.h"

enum seen { SEEN_GONE = 1, SEEN_KILLED = 2, SEEN_OOM = 4, SEEN_TIMEOUT = 8, SEEN_CPU = 16, SEEN_LOST = 32, SEEN_OVERFLOW = 64 };

/* An ordinary host without a cgroup; the profile decides how much is claimed. */
static void make_plan(struct plan *plan, struct arena *arena, struct host *host, struct policy *policy, bool guard)
{
    static char program[] = "true";
    static char *command[] = {program, NULL};
    static char *environment[] = {NULL};
    struct cordon_error err = {0};
    *host = (struct host){.uid = 1000, .gid = 1000, .landlock_abi = 6, .cores = 2, .cwd = "/srv/project",
                          .home = {"/home/ann", "/home/ann"}, .spare_uid = 0x70000001};
    for (size_t i = 0; i < HOST_TOP_COUNT; i++)
        host->top[i].path = "/bin";
    policy_init(policy, guard ? PROFILE_LIMITS : PROFILE_STAGE);
    const struct plan_request request = {.policy = policy, .host = host, .command = command, .caller_env = environment};
    PROMISE(plan_compile(plan, arena, &request, &err) == 0);
}

/* A bool is 0 or 1 and a text ends, whoever writes them: err_set() cuts. */
static void make_flag(bool *flag)
{
    unsigned char byte;
    memcpy(&byte, flag, 1);
    *flag = (byte & 1) != 0;
}

static void make_error(struct cordon_error *e)
{
    e->what[sizeof e->what - 1] = e->subject[sizeof e->subject - 1] = '\0';
    e->why[sizeof e->why - 1] = e->remedy[sizeof e->remedy - 1] = '\0';
}

static void make_page(struct shared *page, const uint8_t *data, size_t size)
{
    memset(page, 0, sizeof *page);
    memcpy(page, data, size < sizeof *page ? size : sizeof *page);
    bool *const flags[] = {&page->failed, &page->payload_failed, &page->keys_shared, &page->executing,
                           &page->interpreter, &page->ended};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        make_flag(flags[i]);
    make_error(&page->error);
    make_error(&page->payload_error);
    page->processes &= UINT32_MAX; /* counted one by one */
    page->mem_peak &= UINT64_C(0xffffffffffff);
    uint32_t hit;
    memcpy(&hit, &page->hit, sizeof hit);
    page->hit = (enum limit_hit)(hit % (HIT_BLIND + 1));
}

static void check_result(const struct supervisor *s, const struct result *result)
{
    static const struct result_context context = {.profile = "stage", .kernel = "6.1"};
    static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 16};
    const struct shared *page = s->spawn.shared;
    const uint32_t own = s->init_gone ? PROOF_TIMER | PROOF_EMPTY : 0;

    PROMISE(result->status < STATUS_COUNT && result->rc >= 0 && result->rc <= 255);
    if (result->status == STATUS_OK)
        PROMISE(result->rc == 0 && page->executing && page->ended && page->exec_errno == 0 &&
                WIFEXITED(page->status) && WEXITSTATUS(page->status) == 0);
    for (int i = 0; i < CAPABILITY_COUNT; i++) {
        if (!result->ledger.entries[i].applied)
            continue;
        PROMISE(page->executing);
        PROMISE((s->plan->claims[i].proof & ~(page->proof | own)) == 0);
    }
    struct arena arena = ARENA_INIT(1 << 24);
    struct json_error why;
    BUF_AUTO out = BUF_INIT(1 << 20);
    result_write_json(result, &context, &out);
    PROMISE(!out.failed && json_parse(&arena, out.data, out.len, &limits, &why) != NULL);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct arena arena = ARENA_INIT(1 << 24);
    struct host host;
    struct policy policy;
    struct plan plan = {0};
    struct shared page;
    struct result result;
    make_plan(&plan, &arena, &host, &policy, (data[1] & 1) != 0);
    make_page(&page, data + 2, size - 2);
    struct supervisor s = {.plan = &plan,
                           .spawn.shared = &page,
                           .init_gone = (data[0] & SEEN_GONE) != 0,
                           .killed = (data[0] & SEEN_KILLED) != 0,
                           .oom = (data[0] & SEEN_OOM) != 0,
                           .timed_out = (data[0] & SEEN_TIMEOUT) != 0,
                           .cpu_hit = (data[0] & SEEN_CPU) != 0,
                           .listener_lost = (data[0] & SEEN_LOST) != 0,
                           .overflow = (data[0] & SEEN_OVERFLOW) != 0 ? 1 : 0,
                           .wishes.ledger = true};
    result_init(&result);
    verdict(&s, &result);
    check_result(&s, &result);
    result_release(&result);
    arena_free(&arena);
    return 0;
}
