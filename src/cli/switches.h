/*
 * Layers that a test switches off from outside, by CORDON_TEST_DISABLE=name,name. Only the test
 * build (cordon-test) has them; in a release nothing in the environment can loosen anything.
 */
#pragma once

#include "plan/host.h"

/* 0, or -EINVAL with an unknown name in *unknown. Takes the variable out of the environment. */
int switches_read(struct host *host, char **env, const char **unknown);
