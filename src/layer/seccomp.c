#include "layer/seccomp.h"

#include <assert.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/call.h"

/* The kernel's interface lacks a const: it only reads the program. */
#define PROGRAM(instructions)                                            \
    {                                                                    \
        .len = sizeof(instructions) / sizeof((instructions)[0]),         \
        .filter = (struct sock_filter *)(uintptr_t)(instructions),       \
    }

#include "layer/filter/programs.inc"

const struct sock_fprog *layer_seccomp_program(const struct seccomp_choice *choice)
{
    if (choice->level == SECCOMP_OFF)
        return NULL;
    assert(seccomp_variant(choice) < SECCOMP_VARIANTS);
    return &programs[seccomp_variant(choice)];
}

const struct sock_fprog *layer_seccomp_of_plan(const struct plan *plan)
{
    const struct seccomp_choice choice = {.level = plan->seccomp,
                                          .on_forbidden = plan->on_forbidden,
                                          .deny_memfd = plan->deny_memfd,
                                          .world = !plan->bare           ? WORLD_OWN
                                                   : plan->host_sockets ? WORLD_HOST_NET
                                                                        : WORLD_HOST};
    return layer_seccomp_program(&choice);
}

const struct sock_fprog *layer_seccomp_listener(unsigned set)
{
    assert(set > 0 && set < LISTEN_SETS);
    return &listeners[set];
}

long layer_seccomp_load(const struct sock_fprog *program)
{
    return sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
}

bool layer_seccomp_proven(const struct sock_fprog *program)
{
    return sys_call(SECCOMP_PROOF_CALL, 0, 0, 0) == -(SECCOMP_PROOF_ERRNO + (program - programs));
}
