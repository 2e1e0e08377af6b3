/* What the two kinds of init share: pid 1 of a namespace (init.c), a subreaper (subreaper.c). */
#pragma once

#include <signal.h>

#include "supervisor/spawn.h"

_Noreturn void init_give_up(struct spawn *s, int payload);
int init_fail(struct spawn *s, enum cordon_layer layer, long r, const char *what, const char *subject);

void init_close_strangers(const struct spawn *s);
void init_tie_to_supervisor(const struct spawn *s);
int init_enter_cgroup(struct spawn *s);
void init_create_ruleset(struct spawn *s);   /* or gives up */
int init_watch_children(struct spawn *s);    /* the descriptor, or gives up */
int init_wait_for_payload(struct spawn *s, int payload);
/* The caller's own words, before anybody inside can look at them. */
void init_wipe_arguments(const struct spawn *s);

void init_seal(struct spawn *s, uint32_t *seen);
void init_settle(struct spawn *s);
/* Leaves the end of a mount namespace, which it takes over, to the kernel's own time. */
void init_defer_teardown(int ns);

/* Counts a child that has ended; true if it was the payload. */
bool init_record(struct spawn *s, int payload, const siginfo_t *info);
/* True when the payload itself has ended. */
bool init_reap(struct spawn *s, int payload);

/* Init of the tier without namespaces. */
_Noreturn void subreaper_init(struct spawn *s);
