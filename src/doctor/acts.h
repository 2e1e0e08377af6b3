/* The acts by which the doctor finds out what works, each for a process of its own. */
#pragma once

#include "doctor/attempt.h"

/* Inside namespaces. */
attempt_fn act_pidns, act_tmpfs, act_procfs, act_devpts, act_overlay, act_pivot_root,
    act_mount_setattr;
/* As root, outside. */
attempt_fn act_idmap;

/* Bits of `number` of act_notify. */
enum {
    NOTIFY_ADDFD_SEND = 1 << 0,     /* a descriptor handed over and the answer in one step */
    NOTIFY_WAIT_KILLABLE = 1 << 1,  /* signals do not break into a call that is being decided */
    NOTIFY_SYNC_WAKE_UP = 1 << 2,   /* the two sides share a core */
};
attempt_fn act_landlock; /* `number`: the ABI */
attempt_fn act_seccomp, act_notify;

attempt_fn act_openat2, act_clone3, act_close_range, act_pidfd, act_memfd, act_keyring;
