#include "audit/allow.h"

#include <string.h>

#define PARTS_MAX 16 /* of one comment, each with a # */

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

/* The rest behind a word that ends there; NULL if it is another one. */
static const char *skip_word(const char *p, const char *end, const char *word)
{
    const size_t len = strlen(word);
    if ((size_t)(end - p) < len || memcmp(p, word, len) != 0)
        return NULL;
    p += len;
    return p == end || *p == ' ' || *p == '\t' || *p == '\r' ? skip_blanks(p, end) : NULL;
}

/* `p` is at a #; all that follows the rule is the reason. */
static enum allow read_part(const char *p, const char *end, const char *id)
{
    p = skip_word(skip_blanks(p + 1, end), end, "cordon:");
    if (p != NULL)
        p = skip_word(p, end, "allow");
    if (p != NULL)
        p = skip_word(p, end, id);
    return p == NULL ? ALLOW_NOTHING : p == end ? ALLOW_WITHOUT_REASON : ALLOW_WITH_REASON;
}

/* Other tools want their words on the same line: "# noqa: E501  # cordon: allow ID reason". */
static enum allow read_comment(const char *p, const char *end, const char *id)
{
    enum allow best = ALLOW_NOTHING;
    for (unsigned i = 0; p != NULL && i < PARTS_MAX; i++) {
        const enum allow found = read_part(p, end, id);
        best = found > best ? found : best;
        p = memchr(p + 1, '#', (size_t)(end - p - 1));
    }
    return best;
}

enum allow allow_find(const struct lexer *lexer, struct allow_cursor *cursor, uint32_t start,
                      uint32_t end, const char *id)
{
    enum allow best = ALLOW_NOTHING;
    if (end < cursor->from || end > cursor->end) {
        cursor->from = end;
        cursor->end = lexer_line_end(lexer, end);
    }
    const uint32_t last = cursor->end;
    while (cursor->comment < lexer->comment_count && lexer->comments[cursor->comment].at < start)
        cursor->comment++;
    for (uint32_t i = cursor->comment; i < lexer->comment_count; i++) {
        const struct comment *c = &lexer->comments[i];
        if (c->at >= last)
            break;
        const char *text = lexer->text + c->at;
        const enum allow found = read_comment(text, text + c->len, id);
        best = found > best ? found : best;
    }
    return best;
}
