/* Network: an own namespace, made by the payload process while init builds the mounts. */
#pragma once

#include "plan/plan.h"

/* Needs no id map, only the capabilities of the fresh user namespace. */
int layer_network_apply(const struct plan *plan, uint32_t *proof, struct cordon_error *err);
