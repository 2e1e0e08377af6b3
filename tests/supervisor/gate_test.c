/* The memory of the fork gate: how many granted forks may still be on their way. */
#include "supervisor/gate.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../harness.h"
#include "sys/call.h"

#define MORE 300 /* threads than there are places */
#define AGE_US (PLAN_GATE_PENDING_MS * UINT64_C(1000))

static pthread_barrier_t all;
static uint32_t ids[MORE];

/* Lives to the end of the test: grants of the dead do not count. */
static void *live(void *id)
{
    *(uint32_t *)id = (uint32_t)sys_call(SYS_gettid);
    pthread_barrier_wait(&all);
    for (;;)
        pause();
    return NULL;
}

static void make_threads(void)
{
    _Static_assert(MORE > GATE_PENDING, "else nothing is crowded out");
    CHECK_INT(pthread_barrier_init(&all, NULL, MORE + 1), 0);
    for (unsigned i = 0; i < MORE; i++) {
        pthread_t thread;
        pthread_attr_t attr;
        CHECK_INT(pthread_attr_init(&attr), 0);
        CHECK_INT(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED), 0);
        CHECK_INT(pthread_create(&thread, &attr, live, &ids[i]), 0);
        pthread_attr_destroy(&attr);
    }
    pthread_barrier_wait(&all);
}

TEST(more_forks_at_once_than_places_are_all_on_their_way)
{
    static struct gate_grants g;
    const uint64_t start = 1000 * AGE_US;
    make_threads();
    for (unsigned i = 0; i < MORE; i++)
        gate_grant(&g, ids[i], start + i);
    const uint64_t last = start + MORE - 1;
    CHECK_INT(gate_pending(&g, 0, last), MORE);
    CHECK_INT(gate_pending(&g, ids[MORE - 1], last), MORE - 1); /* it asks again: it has forked */

    gate_grant(&g, ids[MORE - 1], last); /* and has the place that it had */
    CHECK_INT(gate_pending(&g, 0, last), MORE);

    /* Nobody waits for ever for those without a place. */
    const unsigned out = MORE - GATE_PENDING;
    CHECK_INT(gate_pending(&g, 0, start + out - 1 + AGE_US), GATE_PENDING);
    CHECK_INT(gate_pending(&g, 0, last + AGE_US), 0);

    gate_grant(&g, ids[0], last + AGE_US); /* in the place of an old one */
    CHECK_INT(gate_pending(&g, 0, last + AGE_US), 1);
    for (unsigned i = 1; i < MORE; i++)
        gate_grant(&g, ids[i], last + 2 * AGE_US + i);
    CHECK_INT(gate_pending(&g, 0, last + 2 * AGE_US + MORE), MORE - 1); /* the old crowd is not in it */
}

TEST(threads_that_are_gone_have_forked_or_never_will)
{
    static struct gate_grants g;
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    gate_grant(&g, (uint32_t)pid, AGE_US);
    CHECK_INT(gate_pending(&g, 0, AGE_US), 1); /* a zombie is somebody */
    CHECK_INT(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    CHECK_INT(gate_pending(&g, 0, AGE_US), 0);
}
