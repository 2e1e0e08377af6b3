/* The listener at the supervisor's side: it is looked after, and what it saw is told. */
#include <sys/epoll.h>

#include "supervisor/events.h"
#include "sys/process.h"

#define LISTEN_US 1000000 /* how often it is looked after */

bool listening_begin(struct supervisor *s)
{
    s->listen_us = s->started_us + LISTEN_US;
    return supervisor_hear(s, s->listener.pidfd, TAG_LISTENER, EPOLLIN) &&
           supervisor_hear(s, s->listener.event, TAG_VIOLATION, EPOLLIN);
}

void listening_last(struct supervisor *s)
{
    if (s->listener.pidfd < 0)
        return;
    s->listen_us = sys_now_us() + LISTEN_US;
    clock_set(s);
}

void listening_tell(struct supervisor *s)
{
    struct result_violation violation;
    while (listener_tell(&s->listener, &violation)) {
        if (s->wishes.on_violation != NULL)
            s->wishes.on_violation(s->wishes.on_violation_context, &violation);
    }
}

/* Its last words; then it is nobody's any more. */
static void end_listener(struct supervisor *s)
{
    if (s->listener.pidfd < 0)
        return;
    listening_tell(s);
    listener_collect(&s->listener, &s->result->violations);
    listener_release(&s->listener);
    s->listen_us = 0;
}

/* Calls would wait for it for ever, or get an answer that nobody expects: nothing goes on without it. */
void listening_lose(struct supervisor *s)
{
    s->listener_lost = !s->init_gone && !listener_finished(&s->listener);
    if (s->listener_lost) /* before anything that may take its time */
        supervisor_kill(s);
    end_listener(s);
}

void listening_look(struct supervisor *s, uint64_t now)
{
    if (!listener_alive(&s->listener) || s->init_gone)
        listening_lose(s);
    else
        s->listen_us = now + LISTEN_US;
}
