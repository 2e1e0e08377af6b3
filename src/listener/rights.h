/* What the caller's own permissions would allow, if there were no guard. Raw calls only. */
#pragma once

#include <sys/stat.h>

#include "listener/spot.h"

/* 0, or a positive errno. */
int rights_stat(int fd, struct stat *st);

/* faccessat() with `mode`: 0, or a positive errno. */
int rights_access(const struct view *view, int fd, int mode);

/* Who may do what is left to a file's owner. */
bool rights_owner(const struct view *view, const struct stat *st);

/* May a file's owner give it to `group`, as the payload numbers groups? */
bool rights_group(const struct view *view, uint32_t group);

/* Files of others may be linked only by those who could write to them, where the host says so. */
bool rights_link(const struct view *view, int fd, const struct stat *st);
