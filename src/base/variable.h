/* A variable of an environment, by its name. */
#pragma once

/* The value of the first of this name; NULL: there is none. `env` ends with NULL, and may itself be NULL. */
const char *variable_of(char *const *env, const char *name);
