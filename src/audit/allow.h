/* "# cordon: allow ID reason": what somebody looked at and decided to keep. */
#pragma once

#include "audit/lexer.h"

enum allow { ALLOW_NOTHING, ALLOW_WITHOUT_REASON, ALLOW_WITH_REASON };

/* Where the last search began; findings come in the order of the text. */
struct allow_cursor {
    uint32_t comment;
    uint32_t from, end; /* all between them is on one line, which ends there */
};

/* Whether a comment on a line of what lies between two offsets allows the rule. */
enum allow allow_find(const struct lexer *lexer, struct allow_cursor *cursor, uint32_t start,
                      uint32_t end, const char *id);
