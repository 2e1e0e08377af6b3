/*
 * Any bytes as a test file: tokens that lie in the text, in order, apart from each other, brackets
 * that know their partner; and findings inside the text.
 */
#include "fuzz.h"

#include <string.h>

#include "audit/allow.h"
#include "audit/rules.h"

static void check_tokens(const struct lexer *lexer)
{
    uint32_t end = 0;
    PROMISE(lexer->count > 0 && lexer->tokens[lexer->count - 1].kind == TOKEN_END);
    for (uint32_t i = 0; i < lexer->count; i++) {
        const struct token *t = &lexer->tokens[i];
        PROMISE(t->at >= end && t->len <= lexer->len && t->at <= lexer->len - t->len);
        PROMISE(t->len > 0 || t->kind == TOKEN_END);
        if (t->match != 0)
            PROMISE(t->match < lexer->count && (lexer->tokens[t->match].match == i || i == 0));
        end = t->at + t->len;
    }
}

static void check_strings(const struct lexer *lexer)
{
    char text[64];
    bool whole;
    for (uint32_t i = 0; i < lexer->count;) {
        if (lexer->tokens[i].kind != TOKEN_STRING) {
            i++;
            continue;
        }
        uint32_t next = lexer_string(lexer, i, text, sizeof text, &whole);
        PROMISE(next > i && next < lexer->count && memchr(text, '\0', sizeof text) != NULL);
        i = next;
    }
}

struct seen {
    const struct lexer *lexer;
    struct lexer_line line;
    struct allow_cursor cursor;
};

static void found(void *user, const struct rule_finding *f)
{
    struct seen *s = user;
    PROMISE(f->at < f->end && f->end <= s->lexer->len && f->rule < RULE_COUNT);
    PROMISE(f->at >= s->line.start);
    lexer_line_to(s->lexer, &s->line, f->at);
    PROMISE(lexer_column(s->lexer, &s->line, f->at) <= f->at - s->line.start + 1);
    allow_find(s->lexer, &s->cursor, s->line.start, f->end, audit_rules[f->rule].id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lexer lexer = LEXER_INIT;
    struct project_config config;
    project_config_default(&config);
    const struct rule_context context = {.config = &config, .root = "/srv/project", .up = 2};
    struct seen seen = {.lexer = &lexer, .line = LEXER_LINE_INIT};
    PROMISE(lexer_run(&lexer, size == 0 ? "" : (const char *)data, size) == 0);
    check_tokens(&lexer);
    check_strings(&lexer);
    rules_apply(&lexer, &context, found, &seen);
    lexer_free(&lexer);
    return 0;
}
