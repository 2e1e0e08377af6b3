/* Listeners of a filter: what Debian 12's <linux/seccomp.h> lacks. */
#pragma once

#include <linux/seccomp.h>

#define SYS_SECCOMP_SET_FLAGS 0x40082104u /* SECCOMP_IOCTL_NOTIF_SET_FLAGS, 6.6 */
#define SYS_SECCOMP_SYNC_WAKE_UP 1u       /* SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: the two sides share a core */
