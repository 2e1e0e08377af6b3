/* Native, and auto, which begins with it. */
#include <errno.h>

#include "backend/supervised.h"
#include "layer/refusal.h"

/* As if it had been met by trying. */
static const struct cordon_error *refusal_of_test(struct backend_run *run, struct cordon_error *room)
{
    const bool all = host_off(&run->host, OFF_NATIVE);
    if (!all && !host_off(&run->host, OFF_USERNS))
        return NULL;
    err_set(room, CORDON_ERROR_SETUP, CORDON_LAYER_NAMESPACES, EPERM, "make namespaces", all ? "native" : "clone3");
    return room;
}

static int plan(struct backend_run *run)
{
    struct cordon_error room = {0};
    int r = supervised_probe(run);
    if (r < 0)
        return r;
    const struct cordon_error *met = refusal_of_test(run, &room);
    return met == NULL ? backend_compile(run, BACKEND_NATIVE) : supervised_next_plan(run, met);
}

const struct backend backend_native = {
    .kind = "native",
    .effective = true,
    .plan = plan,
    .rehearse = supervised_rehearse,
    .start = supervised_start,
    .step = supervised_step,
    .kill = supervised_kill,
    .finish = supervised_finish,
    .usage = supervised_usage,
    .resize = supervised_resize,
    .descriptor = supervised_descriptor,
};
