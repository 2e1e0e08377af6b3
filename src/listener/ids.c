#include "listener/ids.h"

#include <sys/syscall.h>

/* Users stand at places [users, groups), groups at [groups, end). */
struct form {
    int number;
    unsigned char users, groups, end;
    bool file;
};

static const struct form forms[] = {
    {SYS_setuid, 0, 1, 1, false},    {SYS_setreuid, 0, 2, 2, false}, {SYS_setresuid, 0, 3, 3, false},
    {SYS_setgid, 0, 0, 1, false},    {SYS_setregid, 0, 0, 2, false}, {SYS_setresgid, 0, 0, 3, false},
#if defined(__x86_64__)
    {SYS_chown, 1, 2, 3, true},      {SYS_lchown, 1, 2, 3, true},
#endif
    {SYS_fchown, 1, 2, 3, true},     {SYS_fchownat, 2, 3, 4, true},
};

static const struct form *form_of(int number)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (forms[i].number == number)
            return &forms[i];
    }
    return NULL;
}

bool ids_only(const struct notify_call *call)
{
    const struct form *form = form_of(call->number);
    return form != NULL && !form->file;
}

bool ids_unknown(const struct notify_call *call, const struct plan *plan)
{
    const struct form *form = form_of(call->number);
    if (form == NULL || plan->bare) /* which has the host's numbers */
        return false;
    for (unsigned i = form->users; i < form->end; i++) {
        const uint32_t id = (uint32_t)call->args[i];
        const uint32_t own = i < form->groups ? plan->uid_inside : plan->gid_inside;
        if (id != (uint32_t)-1 && id != own) /* -1: as it is */
            return true;
    }
    return false;
}
