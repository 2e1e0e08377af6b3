/* What statx() says, in the shape of the interface. */
#pragma once

#include <cordon/root.h>
#include <stdint.h>

struct sys_statx_time;

char meta_type(uint32_t mode); /* f d l b c s p ? */
double meta_ms(const struct sys_statx_time *t);

/* Of `name` in `dir`, links not followed; "" is dir itself. 0 or -errno. */
int meta_stat_at(int dir, const char *name, struct cordon_root_stat *out);
