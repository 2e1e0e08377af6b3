#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy.h"

int policy_words_parse(const struct policy_words *words, const char *s)
{
    for (int i = 0; i < words->count; i++) {
        if (strcmp(words->names[i], s) == 0)
            return i;
    }
    return -1;
}

void policy_words_list(const struct policy_words *words, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < words->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 words->names[i]);
}

int policy_words_find(const struct policy_words *words, const char *what, const char *name, struct cordon_error *err)
{
    char list[160];
    char remedy[192];
    int found = policy_words_parse(words, name);
    if (found >= 0)
        return found;
    err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_POLICY, EINVAL, what, name);
    err_why(err, "there is no such name");
    policy_words_list(words, list, sizeof list);
    snprintf(remedy, sizeof remedy, "allowed: %s", list);
    err_remedy(err, remedy);
    return -EINVAL;
}

/* One table a set: its names, and the list for readers and messages. */
#define WORDS(set, type, ...)                                                                   \
    static const char *const set##_names[] = {__VA_ARGS__};                                     \
    const struct policy_words policy_##set##_words = {                                          \
        set##_names, (int)(sizeof set##_names / sizeof set##_names[0])};                        \
    const char *policy_##set##_name(type v)                                                     \
    {                                                                                           \
        return (int)v < policy_##set##_words.count ? set##_names[v] : "?";                      \
    }

WORDS(profile, enum policy_profile, [PROFILE_STAGE] = "stage", [PROFILE_MODULE] = "module",
      [PROFILE_LIMITS] = "limits", [PROFILE_TEST] = "test", [PROFILE_AGENT] = "agent")
WORDS(fs_mode, enum policy_fs_mode, [FS_VIEW] = "view", [FS_GUARD] = "guard")
WORDS(net, enum policy_net, [NET_NONE] = "none", [NET_LOOPBACK] = "loopback", [NET_HOST] = "host")
WORDS(uid, enum policy_uid, [UID_NOBODY] = "nobody", [UID_CALLER] = "caller")
WORDS(seccomp, enum policy_seccomp, [SECCOMP_DEFAULT] = "default", [SECCOMP_STRICT] = "strict",
      [SECCOMP_OFF] = "off")
WORDS(forbidden, enum policy_forbidden, [FORBIDDEN_ERRNO] = "errno", [FORBIDDEN_KILL] = "kill",
      [FORBIDDEN_KILL_SOCKETS] = "kill_sockets")
WORDS(overflow, enum policy_overflow, [OVERFLOW_TRUNCATE] = "truncate", [OVERFLOW_KILL] = "kill")
WORDS(backend, enum policy_backend, [BACKEND_AUTO] = "auto", [BACKEND_NATIVE] = "native",
      [BACKEND_BWRAP] = "bwrap", [BACKEND_POSIX] = "posix", [BACKEND_NONE] = "none")
WORDS(work, enum policy_work, [WORK_NONE] = "none", [WORK_PRIVATE] = "private",
      [WORK_HOST] = "host")
