/*
 * Several sandboxes in one event loop, in one thread, without a signal handler: each is a descriptor
 * that becomes readable when there is something to do.
 *
 *   cc epoll.c $(pkg-config --cflags --libs cordon) -o epoll
 *   ./epoll 'sleep 0.2; echo second' 'echo first'
 */
#include <cordon/cordon.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MOST 64

struct job {
    char *script;
    struct cordon_sandbox *sandbox;
};

static int complain(const struct cordon_error *err)
{
    char text[1024];
    cordon_error_format(err, text, sizeof text);
    fprintf(stderr, "epoll: %s\n", text);
    return -1;
}

static int start(struct job *job, const struct cordon_policy *policy, int loop)
{
    struct cordon_error err = {0};
    struct epoll_event event = {0};
    char shell[] = "sh";
    char option[] = "-c";
    char *argv[4];

    argv[0] = shell;
    argv[1] = option;
    argv[2] = job->script;
    argv[3] = NULL;
    job->sandbox = cordon_start(policy, argv, NULL, &err);
    if (job->sandbox == NULL)
        return complain(&err);
    if (cordon_sandbox_fd(job->sandbox) < 0)
        return 0; /* it failed at once; the result says why */
    event.events = EPOLLIN;
    event.data.ptr = job;
    return epoll_ctl(loop, EPOLL_CTL_ADD, cordon_sandbox_fd(job->sandbox), &event);
}

static void finish(struct job *job, int loop)
{
    /* By hand: a sandbox that is just being started may hold a copy of the descriptor for a moment. */
    int fd = cordon_sandbox_fd(job->sandbox);
    if (fd >= 0)
        epoll_ctl(loop, EPOLL_CTL_DEL, fd, NULL);
    struct cordon_result *result = cordon_sandbox_wait(job->sandbox); /* does not wait: it is over */
    size_t len = 0;
    const char *out = cordon_result_stdout(result, &len);
    printf("%s: %s: %.*s", job->script, cordon_result_status(result), (int)len, out);
    if (len == 0 || out[len - 1] != '\n')
        printf("\n");
    cordon_result_free(result);
    job->sandbox = NULL;
}

int main(int argc, char **argv)
{
    struct cordon_error err = {0};
    struct cordon_policy *policy = cordon_policy_new("stage", &err);
    struct job jobs[MOST];
    int loop = epoll_create1(EPOLL_CLOEXEC);
    int count = argc - 1 < MOST ? argc - 1 : MOST;
    int running = 0;
    int i;

    if (policy == NULL || loop < 0)
        return complain(&err) < 0 ? 125 : 0;
    for (i = 0; i < count; i++) {
        jobs[i].script = argv[i + 1];
        if (start(&jobs[i], policy, loop) < 0)
            return 125;
        if (cordon_sandbox_step(jobs[i].sandbox))
            finish(&jobs[i], loop);
        else
            running++;
    }
    cordon_policy_free(policy);
    while (running > 0) {
        struct epoll_event events[8];
        int n = epoll_wait(loop, events, 8, -1);
        for (i = 0; i < n; i++) {
            struct job *job = events[i].data.ptr;
            if (cordon_sandbox_step(job->sandbox)) {
                finish(job, loop); /* its descriptor leaves the loop with it */
                running--;
            }
        }
    }
    close(loop);
    return 0;
}
