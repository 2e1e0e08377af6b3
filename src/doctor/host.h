/* What of the host is not a matter of one system call. */
#pragma once

#include "doctor/doctor.h"
#include "layer/cgroup.h"

/* `aside` keeps a trial in the place that a run would have, until it is released. */
void doctor_host_cgroup(struct doctor *d, struct layer_cgroup *aside);
void doctor_host_backends(struct doctor *d, const char *path);
