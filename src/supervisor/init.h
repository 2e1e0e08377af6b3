/* What the two kinds of init share: pid 1 of a namespace (init.c), a subreaper (subreaper.c). */
#pragma once

#include <signal.h>

#include "supervisor/spawn.h"

struct children {
    int fd;    /* tells that some have ended; lives as long as init */
    bool left; /* more of them than one round took */
};

_Noreturn void init_give_up(struct spawn *s, int payload);
int init_fail(struct spawn *s, enum cordon_layer layer, long r, const char *what, const char *subject);

void init_close_strangers(const struct spawn *s);
void init_tie_to_supervisor(const struct spawn *s);
int init_enter_cgroup(struct spawn *s);
void init_create_ruleset(struct spawn *s);   /* or gives up */
void init_watch_children(struct spawn *s, struct children *children); /* or gives up */
int init_wait_for_payload(struct spawn *s, int payload);
/* The caller's own words, before anybody inside can look at them. */
void init_leave_group(void);
void init_wipe_arguments(const struct spawn *s);

void init_seal(struct spawn *s, uint32_t *seen);
void init_settle(struct spawn *s);
/* Leaves the end of a mount namespace, which it takes over, to the kernel's own time. */
void init_defer_teardown(int ns);

/* Counts a child that has ended; true if it was the payload. */
bool init_record(struct spawn *s, int payload, const siginfo_t *info);
/*
 * Takes up those that have ended, if any are left or there is `news`; true when the payload itself has. A
 * round ends after some, and there is more to do than that: else whoever lets children end faster than
 * they are taken up would keep init from its watch.
 */
bool init_reap(struct spawn *s, struct children *children, int payload, bool news);

/* Init of the tier without namespaces. */
_Noreturn void subreaper_init(struct spawn *s);
