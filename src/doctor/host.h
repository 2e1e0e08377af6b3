/* What of the host is not a matter of one system call. */
#pragma once

#include "doctor/doctor.h"

void doctor_host_cgroup(struct doctor *d);
void doctor_host_backends(struct doctor *d, const char *path);
