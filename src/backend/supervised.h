/* What native and bwrap share: one supervisor, and other plans where a host refuses the first. */
#pragma once

#include "backend/backend.h"

/* Facts about this host, less what a test takes away. */
int supervised_probe(struct backend_run *run);

/* bwrap as a fact, with its warning; -ENOENT and the error if there is none to trust. */
int supervised_find_bwrap(struct backend_run *run, struct cordon_error *err);

void supervised_rehearse(struct backend_run *run);
int supervised_start(struct backend_run *run);
bool supervised_step(struct backend_run *run, bool wait);
void supervised_kill(struct backend_run *run);
void supervised_finish(struct backend_run *run);
int supervised_descriptor(const struct backend_run *run);
void supervised_usage(const struct backend_run *run, struct run_usage *out);
void supervised_resize(struct backend_run *run, unsigned rows, unsigned columns);

/*
 * The next plan after a set-up that failed for `failure`: native without a procfs of its own, bwrap,
 * native without namespaces, as far as the policy wants them. On failure the result says why.
 */
int supervised_next_plan(struct backend_run *run, const struct cordon_error *failure);
