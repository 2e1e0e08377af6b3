/* What the kernel itself costs: one child that does the plan's namespaces, mounts and filters. */
#pragma once

#include "plan/plan.h"

/* Runs the plan's command to its end: 0 if it exited with 0. Nothing is checked or read back. */
int bare_run(const struct plan *plan);
