/* What is wrong with a path, if anything. */
#pragma once

#include "audit/path.h"

/* One of the names of a list in cordon.json. */
bool judge_among(const struct project_names *names, const char *word);
/* A drive of Windows in both styles, or the very place of this project. */
bool judge_is_machine_path(const struct source *s, const char *path);

/* The rule that a path meets where it stands, and if it `changes`; RULE_COUNT: none. */
enum audit_rule judge_path(const struct source *s, const struct path *p, bool changes);

/* Worth to be remembered: a place at the root or above it, or what a rule may yet meet. */
bool judge_matters(const struct source *s, const struct path *p);
