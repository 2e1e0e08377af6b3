/* The backends posix and none: one loop over poll(). */
#include "backend/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "result/ending.h"

#define FRONT_AGAIN_MS 100

/* One run; `state` of struct backend_run. */
struct posix_run {
    pid_t keeper;
    int report;  /* owned; the keeper's, read end */
    int control; /* owned; a byte is a signal for the group; its end ends everything */
    int stdio[3]; /* owned until the keeper has them */
    struct posix_input input;
    struct stream streams[2]; /* owned */
    struct posix_workdir workdir;
    struct posix_report told;
    uint64_t started_ms, deadline_ms, kill_ms; /* 0: not set */
    bool reported; /* the keeper has ended, with or without a report */
    bool work_left; /* the work directory could not be removed */
    bool complete; /* `told` holds */
    bool timed_out, killed, impatient;
    int overflow;
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int fail(struct backend_run *run, int errnum, const char *what, const char *subject)
{
    return err_set(&run->result->error, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, errnum, what, subject);
}

/* ---- start ---- */

static int open_input(struct backend_run *run)
{
    struct posix_run *s = run->state;
    int fds[2];
    if (run->wishes.input < 0) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        s->stdio[0] = null < 0 ? -errno : fd_above_standard(null);
        return s->stdio[0] < 0 ? s->stdio[0] : 0;
    }
    int r = posix_pipe(fds);
    if (r < 0)
        return r;
    s->stdio[0] = fds[0];
    s->input.to = fds[1];
    s->input.from = run->wishes.input;
    s->input.data = malloc(STREAM_CHUNK);
    if (s->input.data == NULL)
        return -ENOMEM;
    return fcntl(s->input.to, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int open_output(struct backend_run *run, int i)
{
    struct posix_run *s = run->state;
    struct result_stream *record = i == 0 ? &run->result->out : &run->result->err;
    struct stream *stream = &s->streams[i];
    int fds[2];
    int r = posix_pipe(fds);
    if (r < 0)
        return r;
    s->stdio[1 + i] = fds[1];
    stream_open(stream, fds[0], run->wishes.output[i], record);
    stream_obey(stream, &run->plan, &run->wishes);
    return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int open_all(struct backend_run *run)
{
    struct posix_run *s = run->state;
    const char *work = run->plan.work_dir;
    int r = work == NULL ? 0 : posix_workdir_make(&s->workdir, work);
    if (r < 0)
        return fail(run, -r, "make the work directory", work);
    r = open_input(run);
    for (int i = 0; r == 0 && i < 2; i++)
        r = open_output(run, i);
    if (r < 0)
        return fail(run, -r, "make pipes", "");
    pid_t keeper = posix_keeper_start(&run->plan, &s->workdir, s->stdio, &s->report, &s->control);
    if (keeper < 0)
        return fail(run, -(int)keeper, "start the keeper", "fork");
    s->keeper = keeper;
    return 0;
}

static int start(struct backend_run *run)
{
    struct posix_run *s = calloc(1, sizeof *s);
    if (s == NULL)
        return fail(run, ENOMEM, "start", "");
    *s = (struct posix_run){.report = -1, .control = -1, .stdio = {-1, -1, -1}, .input = {.from = -1, .to = -1}};
    for (int i = 0; i < 2; i++)
        s->streams[i] = (struct stream){.from = -1, .to = -1, .out = -1};
    run->state = s;
    s->started_ms = now_ms();
    if (run->plan.wall_ms != POLICY_UNLIMITED)
        s->deadline_ms = s->started_ms + run->plan.wall_ms;
    int r = open_all(run);
    for (int i = 0; i < 3; i++)
        fd_close(&s->stdio[i]);
    return r;
}

/* ---- the end ---- */

static void kill_run(struct backend_run *run)
{
    struct posix_run *s = run->state;
    const unsigned char order = SIGKILL;
    s->killed = true;
    if (s->control < 0)
        return; /* there is no keeper, or it was waited for and its number is another's */
    kill(s->keeper, SIGCONT); /* the command may have stopped it */
    if (fd_write_quietly(s->control, &order, 1) != 1)
        fd_close(&s->control); /* its end says the same */
}

/* A polite request to the group, and a date for the end of politeness. */
static void ask_to_end(struct backend_run *run, int sig)
{
    struct posix_run *s = run->state;
    const unsigned char byte = (unsigned char)sig;
    if (run->plan.grace_ms == 0 || fd_write_quietly(s->control, &byte, 1) != 1)
        kill_run(run);
    else
        s->kill_ms = now_ms() + run->plan.grace_ms;
}

static void look_at_clock(struct backend_run *run)
{
    struct posix_run *s = run->state;
    const uint64_t now = now_ms();
    if (s->reported)
        return;
    if (s->kill_ms != 0 && now >= s->kill_ms) {
        s->kill_ms = 0;
        kill_run(run);
    }
    if (s->deadline_ms != 0 && now >= s->deadline_ms) {
        s->deadline_ms = 0;
        s->timed_out = true;
        ask_to_end(run, SIGTERM);
    }
}

static void look_at_signals(struct backend_run *run)
{
    struct posix_run *s = run->state;
    const int sig = run->wishes.next_signal(run->wishes.signals);
    if (sig <= 0)
        return;
    s->impatient = s->impatient || s->reported;
    if (s->reported)
        return;
    if (run->result->caller_signal != 0) {
        kill_run(run); /* asked twice: no more patience */
        return;
    }
    run->result->caller_signal = sig;
    ask_to_end(run, sig);
}

/* The group is gone; what is in the pipes is all that counts. A process that left it may hold them open. */
static void drain(struct posix_run *s, int i)
{
    if (s->impatient)
        stream_drop(&s->streams[i]);
    stream_drain(&s->streams[i]);
}

static void take_report(struct backend_run *run)
{
    struct posix_run *s = run->state;
    const unsigned char done = POSIX_DONE;
    int ignored;
    s->complete = fd_read_full(s->report, &s->told, sizeof s->told) == (ssize_t)sizeof s->told;
    s->reported = true;
    s->work_left = !posix_workdir_remove(&s->workdir);
    fd_close(&s->report);
    (void)fd_write_quietly(s->control, &done, 1); /* a process forked meanwhile may hold the other end open, too */
    fd_close(&s->control);
    while (waitpid(s->keeper, &ignored, 0) < 0 && errno == EINTR) {
    }
    s->impatient = s->timed_out || run->result->caller_signal != 0;
    posix_input_close(&s->input);
}

/* ---- the loop ---- */

enum { AT_REPORT, AT_SIGNALS, AT_INPUT, AT_FROM, AT_SINK = AT_FROM + 2, AT_COUNT = AT_SINK + 2 };

static void watch(struct pollfd *at, int fd, short events)
{
    *at = (struct pollfd){.fd = fd, .events = events};
}

static void list_events(const struct backend_run *run, struct pollfd fds[AT_COUNT], bool elsewhere)
{
    const struct posix_run *s = run->state;
    const bool waiting = posix_input_pending(&s->input);
    watch(&fds[AT_REPORT], s->report, POLLIN);
    watch(&fds[AT_SIGNALS], run->wishes.signals, POLLIN);
    watch(&fds[AT_INPUT], s->input.to < 0 || elsewhere ? -1 : waiting ? s->input.to : s->input.from,
          waiting ? POLLOUT : POLLIN);
    for (int i = 0; i < 2; i++) {
        const struct stream *stream = &s->streams[i];
        const bool pending = stream_pending(stream);
        watch(&fds[AT_FROM + i], pending ? -1 : stream->from, POLLIN);
        watch(&fds[AT_SINK + i], pending ? stream->out : -1, POLLOUT);
    }
}

/* Milliseconds until the next date; -1: none. Nobody tells when a terminal is this process's again. */
static int pause_of(const struct posix_run *s, bool elsewhere)
{
    const uint64_t now = now_ms();
    uint64_t next = s->deadline_ms;
    if (s->kill_ms != 0 && (next == 0 || s->kill_ms < next))
        next = s->kill_ms;
    if (elsewhere && (next == 0 || now + FRONT_AGAIN_MS < next))
        next = now + FRONT_AGAIN_MS;
    if (next == 0 || s->reported)
        return -1;
    const uint64_t left = next > now ? next - now : 0;
    return left < 3600000 ? (int)left : 3600000;
}

static void look_at_stream(struct backend_run *run, int i, const struct pollfd fds[AT_COUNT])
{
    struct posix_run *s = run->state;
    struct stream *stream = &s->streams[i];
    if (fds[AT_SINK + i].revents != 0)
        stream_write(stream);
    if (fds[AT_FROM + i].revents != 0)
        stream_read(stream);
    if (s->overflow == 0 && run->plan.on_overflow == OVERFLOW_KILL && stream_ran_over(stream)) {
        s->overflow = 1 + i;
        kill_run(run);
    }
    if (s->reported)
        drain(s, i);
}

static bool step(struct backend_run *run, bool wait)
{
    struct posix_run *s = run->state;
    struct pollfd fds[AT_COUNT];
    const bool elsewhere = s->input.to >= 0 && !posix_input_pending(&s->input) && fd_is_elsewhere(s->input.from);
    list_events(run, fds, elsewhere);
    if (poll(fds, AT_COUNT, wait ? pause_of(s, elsewhere) : 0) > 0) {
        if (fds[AT_REPORT].revents != 0)
            take_report(run);
        if (fds[AT_SIGNALS].revents != 0)
            look_at_signals(run);
        if (fds[AT_INPUT].revents != 0)
            posix_input_pump(&s->input);
        for (int i = 0; i < 2; i++)
            look_at_stream(run, i, fds);
    }
    look_at_clock(run);
    bool over = s->reported;
    for (int i = 0; i < 2; i++)
        over = over && s->streams[i].from < 0 && !stream_pending(&s->streams[i]);
    return over;
}

static void judge(struct backend_run *run, uint32_t proof)
{
    const struct posix_run *s = run->state;
    const struct posix_report *told = &s->told;
    struct result *result = run->result;
    const struct ending ending = {.ran = true,
                                  .exec_errno = told->exec_errno,
                                  .interpreter = told->interpreter,
                                  .ended = true,
                                  .status = told->status,
                                  .timed_out = s->timed_out,
                                  .killed = s->killed,
                                  .overflow = s->overflow,
                                  .cpu_us = told->cpu_us};
    result->cpu_ms = told->cpu_us / 1000;
    result->processes = 1; /* the payload: nobody else's end is seen */
    ending_judge(&ending, &run->plan, result);
    ending_tell_partial(&run->plan, proof, result);
}

/* Before anything was executed. */
static bool never_ran(struct backend_run *run)
{
    const struct posix_run *s = run->state;
    struct cordon_error *err = &run->result->error;
    if (err->kind != CORDON_ERROR_NONE)
        return true;
    if (!s->complete)
        fail(run, 0, "watch the command", "the keeper was killed from outside");
    else if (s->told.chdir_errno != 0)
        err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_PROCESS, s->told.chdir_errno, "change into the directory",
                run->plan.cwd);
    else if (s->told.limit_errno != 0)
        err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_RLIMITS, s->told.limit_errno, "set limits", "setrlimit");
    else if ((s->told.proof & run->plan.must) != run->plan.must)
        err_set(err, CORDON_ERROR_PARTIAL, CORDON_LAYER_PROCESS, 0, "prove what was applied", "");
    return err->kind != CORDON_ERROR_NONE;
}

static void finish(struct backend_run *run)
{
    struct posix_run *s = run->state;
    struct result *result = run->result;
    if (s == NULL) {
        ending_refused(result);
        return;
    }
    const uint32_t proof = s->told.proof | (s->complete ? (uint32_t)PROOF_TIMER : 0);
    const bool failed = never_ran(run);
    result->duration_ms = now_ms() - s->started_ms;
    result->ran = !failed || (s->keeper > 0 && !s->complete); /* who is not told must expect it */
    if (failed)
        ending_refused(result);
    else
        judge(run, proof);
    if (run->wishes.ledger)
        ledger_fill(&result->ledger, &run->plan, proof, result->ran);
    if (s->work_left || !posix_workdir_remove(&s->workdir))
        result_warn(result, "the work directory could not be removed as a whole: %s", run->plan.work_dir);
    for (int i = 0; i < 2; i++) {
        const int errnum = s->streams[i].error;
        run->lost_output = errnum != 0 && errnum != EPIPE ? errnum : run->lost_output;
        stream_close(&s->streams[i]);
    }
    posix_input_close(&s->input);
    free(s->input.data);
    fd_close(&s->report);
    fd_close(&s->control);
    free(s);
    run->state = NULL;
}

static int descriptor(const struct backend_run *run)
{
    (void)run;
    return -1; /* POSIX has no descriptor for several */
}

#define BY_POSIX .start = start, .step = step, .kill = kill_run, .finish = finish, .descriptor = descriptor

const struct backend backend_posix = {.kind = "posix", .effective = true, .plan = posix_plan, BY_POSIX};
const struct backend backend_none = {.kind = "none", .effective = false, .plan = posix_plan_none, BY_POSIX};
