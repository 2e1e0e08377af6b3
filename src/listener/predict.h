/*
 * What a call on a place that is read-only here would have come to outside. The kernel refuses it in
 * any case; but it says EROFS where the caller might have met ENOENT or EACCES, and tests ask for those.
 * Raw calls only.
 */
#pragma once

#include "listener/spot.h"

enum outcome {
    OUTCOME_OWN,       /* nothing that the guard forbids: the kernel's business */
    OUTCOME_ERROR,     /* it would have failed outside, too */
    OUTCOME_VIOLATION, /* it would have worked */
};

struct prediction {
    enum outcome outcome;
    int error;       /* of OUTCOME_ERROR */
    unsigned culprit; /* of OUTCOME_VIOLATION: which operand */
};

struct prediction predict(struct attempt *attempt, const struct spot spots[2], const struct view *view);
