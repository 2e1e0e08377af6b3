#include <cordon/doctor.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "doctor/doctor.h"

#define DOCUMENT_MAX (1024 * 1024)

char *cordon_doctor_json(const char *profile, struct cordon_error *err)
{
    const int which = profile == NULL
                          ? -1
                          : policy_words_find(&policy_profile_words, "find profile", profile, err);
    if (profile != NULL && which < 0)
        return NULL;
    const struct doctor_options options = {
        .profile = which, .path = getenv("PATH"), .has_test = true, .has_audit = true};
    BUF_AUTO out = BUF_INIT(DOCUMENT_MAX);
    struct doctor *d = malloc(sizeof *d);
    if (d != NULL) {
        doctor_examine(d, &options);
        doctor_write_json(d, &out);
        free(d);
    }
    char *text = d == NULL || buf_string(&out) == NULL ? NULL : strdup(out.data);
    if (text == NULL)
        err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, ENOMEM, "examine this host", "");
    return text;
}
