/*
 * Network: an own namespace, made by the payload process while init builds the mounts. What is in it init
 * sees to, which joins it: the payload process has the longer way of the two.
 */
#pragma once

#include "plan/plan.h"

/* Needs no id map, only the capabilities of the fresh user namespace. */
int layer_network_make(const struct plan *plan, struct cordon_error *err);

/* In that namespace: lo is up, or nothing is. */
int layer_network_settle(const struct plan *plan, uint32_t *proof, struct cordon_error *err);
