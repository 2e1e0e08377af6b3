/*
 * The options of `run`, which `test` and `call` share: the policy that they amount to, and how
 * its run is shown. --profile and --policy count first, wherever they stand; the others refine
 * what they gave, in order.
 */
#pragma once

#include "cli/option.h"
#include "wire/policy_json.h"

enum exit_style { EXIT_CHILD, EXIT_NORMALIZED };

struct run_options {
    struct policy policy;        /* validated, and within --within */
    struct policy_source source; /* of --policy; warnings of the reader are there */

    int profile;              /* --profile; -1: not given */
    const char *policy_spec;  /* FILE, - or fd:N; NULL: not given */
    const char *within_spec;
    const struct policy *ceiling; /* the document of --within; NULL: not given */

    int die_with; /* the process with which the run ends; 0: none */
    bool tty;
    bool stdin_none;
    bool unsafe_no_isolation;
    const char *result; /* FILE or fd:N */
    bool json;
    const char *stdout_file, *stderr_file;
    enum exit_style exit_style;
    bool format_text;
    const char *trace_id; /* 32 hex digits; NULL: make one */
    bool progress;
    bool quiet;
    bool dry_run;
    bool help; /* --help was given: nothing else is checked */

    char **command; /* borrowed from argv; NULL: there was no `--` */
    int command_count;
};

/* What the command adds and assumes. */
struct options_setting {
    enum policy_profile profile;    /* without --profile and --policy */
    const struct option_table *own; /* the command's own options, which win; NULL: none */
    struct arena *arena;            /* for the policy; POLICY_ARENA_BYTES */
    const char *cwd;                /* the caller's, absolute; NULL: unknown, so that a relative
                                       host path is refused */
    /* Adds what the command itself asks for, before the policy is judged; NULL: nothing. */
    int (*refine)(void *context, struct run_options *options, struct cordon_error *err);
    void *context;
};

/*
 * `argv` begins behind the command's name. Returns the index of the first word that is no option
 * (`call` takes a module's name there; for `run` it is an error of the caller's to see), or
 * -errno with kind USAGE or POLICY: exit status 2.
 */
int options_parse(struct run_options *options, const struct options_setting *setting, int argc,
                  char **argv, struct cordon_error *err);

/* The same, and a command after `--` must be there. */
int options_parse_command(struct run_options *options, const struct options_setting *setting,
                          int argc, char **argv, struct cordon_error *err);

/*
 * The list of options for --help, without those that a command's own table has (NULL: none) and those
 * that it refuses (names, ended by NULL; NULL: none); `usual`: the profile where none is named.
 */
void options_help(struct buf *out, enum policy_profile usual, const struct option_table *own,
                  const char *const *refused);
