#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "cli/input.h"
#include "result/result.h"

static struct policy *policy_of(const struct option_use *use)
{
    return &((struct run_options *)use->target)->policy;
}

/* A path of the host's: absolute as it is, relative from the caller's directory. */
static const char *host_path(const struct option_use *use, const char *path)
{
    if (path[0] == '/')
        return policy_normalize_path(use->arena, path);
    if (use->cwd == NULL || use->cwd[0] != '/')
        return NULL;
    const char *joined = arena_printf(use->arena, "%s/%s", use->cwd, path);
    return joined == NULL ? NULL : policy_normalize_path(use->arena, joined);
}

static int no_path(const struct option_use *use, const char *value)
{
    return option_not(use, value, "a path that can be made absolute",
                      "write it from / on: the current directory is not known");
}

static int apply_profile(const struct option_use *use, const char *value)
{
    unsigned profile = 0;
    const struct option word = {.name = use->option->name, .detail = &policy_profile_words};
    const struct option_use as_word = {.option = &word, .target = &profile, .err = use->err};
    int r = option_word(&as_word, value);
    if (r == 0)
        ((struct run_options *)use->target)->profile = (int)profile;
    return r;
}

/* As others have it: HOST:SANDBOX:ro. */
static bool says_how(const char *sandbox)
{
    const char *colon = strrchr(sandbox, ':');
    return colon != NULL && (strcmp(colon, ":ro") == 0 || strcmp(colon, ":rw") == 0);
}

/* HOST[:SANDBOX]. What is inside is absolute, so the two part at the first ":/". */
static int add_bind(const struct option_use *use, const char *value, struct policy_binds *list)
{
    const char *colon = strstr(value, ":/");
    const size_t len = colon != NULL ? (size_t)(colon - value) : strlen(value);
    if (len == 0)
        return option_refuse(use, "the host path is empty", "write HOST or HOST:SANDBOX");
    if (colon != NULL && says_how(colon + 1))
        return option_not(use, value, "HOST:SANDBOX", "leave out what follows the second colon: --ro and --rw say it");
    const char *host = arena_strndup(use->arena, value, len);
    host = host == NULL ? NULL : host_path(use, host);
    if (host == NULL)
        return no_path(use, value);
    return policy_add_bind(list, use->arena, host, colon != NULL ? colon + 1 : host, false,
                           use->err);
}

static int apply_ro(const struct option_use *use, const char *value)
{
    return add_bind(use, value, &policy_of(use)->ro);
}

static int apply_rw(const struct option_use *use, const char *value)
{
    return add_bind(use, value, &policy_of(use)->rw);
}

static int apply_hide(const struct option_use *use, const char *value)
{
    const char *path = value;
    if (value[0] == '\0')
        return option_refuse(use, "the path is empty", NULL);
    if (strncmp(value, "**/", 3) != 0)
        path = host_path(use, value);
    if (path == NULL)
        return no_path(use, value);
    return policy_add_name(&policy_of(use)->hide, use->arena, path, use->err);
}

static int apply_work(const struct option_use *use, const char *value)
{
    struct policy *policy = policy_of(use);
    if (value[0] == '\0')
        return option_refuse(use, "the directory is empty", "write private or a directory");
    if (strcmp(value, "private") == 0) {
        policy->work = WORK_PRIVATE;
        policy->work_host = NULL;
        return 0;
    }
    const char *host = host_path(use, value);
    if (host == NULL)
        return no_path(use, value);
    policy->work = WORK_HOST;
    policy->work_host = host;
    return 0;
}

static int apply_cwd(const struct option_use *use, const char *value)
{
    if (value[0] != '/')
        return option_not(use, value, "an absolute path", "write it as it is seen inside: /work");
    policy_of(use)->cwd = policy_normalize_path(use->arena, value);
    return 0;
}

/* A limit; detail: its key in policy_limit_table. */
static int apply_limit(const struct option_use *use, const char *value)
{
    static const char *const kinds[] = {
        [UNIT_MS] = "a duration", [UNIT_BYTES] = "a size", [UNIT_COUNT] = "a number"};
    static const char *const remedies[] = {
        [UNIT_MS] = "write 1500ms, 2s, 3m or 1h", [UNIT_BYTES] = "write 4096, 64K, 512M or 1G",
        [UNIT_COUNT] = "write a whole number"};
    static int (*const parsers[])(const char *, uint64_t *) = {
        [UNIT_MS] = parse_duration_ms, [UNIT_BYTES] = parse_size, [UNIT_COUNT] = parse_u64};
    const struct policy_limit *limit = policy_limit_find(use->option->detail);
    struct policy *policy = policy_of(use);
    struct policy base;
    char room[96];
    uint64_t number = POLICY_UNLIMITED;

    int r = strcmp(value, "none") == 0 ? 0 : parsers[limit->unit](value, &number);
    if (r == -ERANGE)
        return option_not(use, value, "in range", NULL);
    if (r < 0)
        return option_not(use, value, kinds[limit->unit], remedies[limit->unit]);
    if (number == 0 && limit->zero == ZERO_DEFAULT) {
        policy_init(&base, policy->profile);
        number = policy_limit_get(&base, limit);
    }
    const char *why = policy_limit_wrong(limit, number, room, sizeof room);
    if (why != NULL)
        return option_refuse(use, why, remedies[limit->unit]);
    policy_limit_set(policy, limit, number);
    if (strcmp(limit->key, "output_bytes") == 0)
        policy->limits.output_given = true;
    return 0;
}

/* Cores in thousandths have the grammar of seconds in milliseconds, without a unit. */
static int apply_cpus(const struct option_use *use, const char *value)
{
    uint64_t thousandths = 0;
    if (strcmp(value, "none") == 0) {
        policy_of(use)->limits.cpus = 0;
        return 0;
    }
    if (value[strspn(value, "0123456789.")] != '\0' || parse_duration_ms(value, &thousandths) < 0)
        return option_not(use, value, "a number of cores", "write 1, 0.5 or none");
    if (thousandths < 10 || thousandths > 4096 * 1000)
        return option_not(use, value, "in range: 0.01 to 4096", NULL);
    policy_of(use)->limits.cpus = (double)thousandths / 1000;
    return 0;
}

static int apply_env(const struct option_use *use, const char *value)
{
    if (value[0] == '\0' || strchr(value, '=') != NULL)
        return option_not(use, value, "the name of a variable",
                          "write NAME or PREFIX_*; --setenv takes NAME=VALUE");
    return policy_add_name(&policy_of(use)->env.allow, use->arena, value, use->err);
}

static int apply_setenv(const struct option_use *use, const char *value)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value)
        return option_not(use, value, "NAME=VALUE", "to pass the caller's own value: --env NAME");
    const char *name = arena_strndup(use->arena, value, (size_t)(equals - value));
    if (name == NULL)
        return option_refuse(use, "out of memory", NULL);
    return policy_add_var(&policy_of(use)->env.set, use->arena, name, equals + 1, use->err);
}

static int apply_require(const struct option_use *use, const char *value)
{
    char remedy[256];
    if (!capability_requirement(value)) {
        capability_remedy(value, remedy, sizeof remedy);
        return option_not(use, value, "a known capability or mechanism", remedy);
    }
    return policy_add_name(&policy_of(use)->require, use->arena, value, use->err);
}

static int apply_trace_id(const struct option_use *use, const char *value)
{
    if (!result_trace_valid(value))
        return option_not(use, value, "32 lower-case hex digits", NULL);
    return option_string(use, value);
}

static int apply_die_with(const struct option_use *use, const char *value)
{
    uint64_t number = 0;
    if (parse_u64(value, &number) < 0 || number == 0 || number > INT_MAX)
        return option_not(use, value, "the number of a process", "to end with a shell: --die-with $$");
    ((struct run_options *)use->target)->die_with = (int)number;
    return 0;
}

static const char *const exit_names[] = {[EXIT_CHILD] = "child", [EXIT_NORMALIZED] = "normalized"};
static const struct policy_words exit_words = {exit_names, 2};

#define OPT(field) offsetof(struct run_options, field)

static const struct option run_options_table[] = {
    {"profile", "NAME", NULL, apply_profile, 0, NULL,
     true},
    {"policy", "FILE|-|fd:N", "a policy document; other options refine it", option_once,
     OPT(policy_spec), NULL, true},
    {"within", "FILE", "a ceiling: who asks for more than this document is refused", option_once,
     OPT(within_spec), NULL, false},
    {"ro", "HOST[:SANDBOX]", "show a file or directory, read-only", apply_ro, 0, NULL, false},
    {"rw", "HOST[:SANDBOX]", "show a file or directory, writable", apply_rw, 0, NULL, false},
    {"hide", "PATH|GLOB", "hide names inside what is shown: /srv/in/.env, **/.env", apply_hide, 0,
     NULL, false},
    {"work", "private|DIR", "/work: an empty one that is gone afterwards, or a directory",
     apply_work, 0, NULL, false},
    {"cwd", "DIR", "the working directory, as seen inside", apply_cwd, 0, NULL, false},
    {"tmp", "SIZE", "the size of /tmp, /work and /dev/shm", apply_limit, 0, "tmp_bytes", false},
    {"net", "none|loopback|host", "which network there is", option_word, OPT(policy.net),
     &policy_net_words, false},
    {"env", "NAME|PREFIX_*", "pass variables of the caller's", apply_env, 0, NULL, false},
    {"setenv", "NAME=VALUE", "set a variable", apply_setenv, 0, NULL, false},
    {"wall", "DUR", "time by the clock; 0: the profile's, none: no limit", apply_limit, 0,
     "wall_ms", false},
    {"cpu", "DUR", "processor time of all processes together", apply_limit, 0, "cpu_ms", false},
    {"mem", "SIZE", "memory of all processes together", apply_limit, 0, "mem_bytes", false},
    {"pids", "N", "processes and threads at once", apply_limit, 0, "pids", false},
    {"nofile", "N", "open files of each process", apply_limit, 0, "nofile", false},
    {"output", "SIZE", "bytes of stdout, and of stderr", apply_limit, 0, "output_bytes", false},
    {"on-overflow", "truncate|kill", "what happens to more output", option_word,
     OPT(policy.limits.on_overflow), &policy_overflow_words, false},
    {"grace", "DUR", "between SIGTERM and SIGKILL; 0: at once", apply_limit, 0, "grace_ms", false},
    {"cpus", "N", "processor cores; may be a fraction", apply_cpus, 0, NULL, false},
    {"seccomp", "default|strict|off", "the system call filter", option_word, OPT(policy.seccomp),
     &policy_seccomp_words, false},
    {"on-forbidden", "errno|kill", "what a forbidden system call gets", option_word,
     OPT(policy.on_forbidden), &policy_forbidden_words, false},
    {"require", "CAPABILITY[:MECHANISM]", "refuse to run without it: memory:cgroup2", apply_require,
     0, NULL, false},
    {"uid", "nobody|caller", "who one is inside", option_word, OPT(policy.uid), &policy_uid_words,
     false},
    {"allow-partial", NULL, "run although something asked for cannot be enforced", option_flag,
     OPT(policy.allow_partial), NULL, false},
    {"backend", "auto|native|bwrap|posix|none", "what builds the sandbox", option_word,
     OPT(policy.backend), &policy_backend_words, false},
    {"unsafe-no-isolation", NULL, "no warning with --backend none", option_flag,
     OPT(unsafe_no_isolation), NULL, false},
    {"tty", NULL, "a pseudo-terminal, for interactive programs", option_flag, OPT(tty), NULL,
     false},
    {"stdin", "none", "give the command no input", option_only_word, OPT(stdin_none), "none", false},
    {"die-with", "PID", "end at once when this process ends", apply_die_with, 0, NULL, false},
    {"result", "FILE|fd:N", "write the result document there", option_string, OPT(result), NULL,
     false},
    {"json", NULL, "capture the output, print the result on stdout", option_flag, OPT(json), NULL,
     false},
    {"stdout-file", "FILE", "the exact bytes of stdout", option_string, OPT(stdout_file), NULL,
     false},
    {"stderr-file", "FILE", "the exact bytes of stderr", option_string, OPT(stderr_file), NULL,
     false},
    {"exit", "child|normalized", "the child's own exit status, or the one of the result's status",
     option_word, OPT(exit_style), &exit_words, false},
    {"format", "text", "a header line with trace id and duration, then stdout, then stderr",
     option_only_word, OPT(format_text), "text", false},
    {"trace-id", "ID", "32 hex digits for the result", apply_trace_id, OPT(trace_id), NULL, false},
    {"progress", NULL, "a live line on a terminal", option_flag, OPT(progress), NULL, false},
    {"quiet", NULL, "no warnings, no word about a limit", option_flag, OPT(quiet), NULL, false},
    {"dry-run", NULL, "print the plan, run nothing", option_flag, OPT(dry_run), NULL, false},
    {"help", NULL, "this text", option_flag, OPT(help), NULL, true},
};

static int read_document(const char *spec, struct policy *policy, struct policy_source *source,
                         struct arena *arena, struct cordon_error *err)
{
    BUF_AUTO text = BUF_INIT(0);
    int r = input_read(spec, &text, POLICY_MAX_BYTES, "read policy", err);
    if (r < 0)
        return r;
    r = policy_read(policy, arena, text.data != NULL ? text.data : "", text.len, source, err);
    if (r < 0 && err != NULL && strcmp(spec, "-") != 0)
        doc_name(err, spec); /* there may be two of them */
    return r;
}

static int begin_policy(struct run_options *o, const struct options_setting *setting,
                        struct cordon_error *err)
{
    o->source = (struct policy_source){.profile = o->profile, .fallback = setting->profile};
    if (o->policy_spec != NULL)
        return read_document(o->policy_spec, &o->policy, &o->source, setting->arena, err);
    if (o->source.profile < 0)
        o->source.profile = (int)setting->profile;
    policy_init(&o->policy, (enum policy_profile)o->source.profile);
    return 0;
}

static int check_within(struct run_options *o, const struct options_setting *setting,
                        struct cordon_error *err)
{
    struct policy_source source = {.profile = -1, .fallback = setting->profile};
    if (o->within_spec == NULL)
        return 0;
    struct policy *ceiling = arena_alloc(setting->arena, sizeof *ceiling);
    if (ceiling == NULL)
        return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_POLICY, ENOMEM, "read policy", o->within_spec);
    int r = read_document(o->within_spec, ceiling, &source, setting->arena, err);
    o->ceiling = ceiling;
    return r < 0 ? r : policy_within(&o->policy, ceiling, setting->cwd, err);
}

/* What only a run has something for. */
static const char *options_of_results(const struct run_options *o)
{
    return o->json                  ? "--json"
           : o->result != NULL      ? "--result"
           : o->format_text         ? "--format"
           : o->stdout_file != NULL ? "--stdout-file"
           : o->stderr_file != NULL ? "--stderr-file"
                                    : NULL;
}

static int contradiction(struct cordon_error *err, const char *option, const char *why)
{
    return option_misuse(err, "read option", option, why, "give one of the two");
}

static int check_contradictions(const struct run_options *o, struct cordon_error *err)
{
    const char *of_results = options_of_results(o);
    if (o->dry_run && of_results != NULL)
        return contradiction(err, of_results, "--dry-run prints the plan: nothing runs, and there is no result");
    if (o->json && o->format_text)
        return contradiction(err, "--format", "--json prints the result in another form");
    if (o->tty && o->stdin_none)
        return contradiction(err, "--tty", "--stdin none leaves nothing to type");
    if (o->tty && o->progress)
        return contradiction(err, "--progress", "--tty gives the terminal to the command");
    if (o->policy_spec != NULL && o->within_spec != NULL && strcmp(o->policy_spec, "-") == 0 &&
        strcmp(o->within_spec, "-") == 0)
        return contradiction(err, "--within", "standard input holds the policy already");
    return 0;
}

int options_parse(struct run_options *options, const struct options_setting *setting, int argc,
                  char **argv, struct cordon_error *err)
{
    struct option_table tables[2];
    struct option_walk walk = {
        .tables = tables, .arena = setting->arena, .cwd = setting->cwd, .first = true};
    if (setting->own != NULL)
        tables[walk.table_count++] = *setting->own;
    tables[walk.table_count++] = OPTION_TABLE(run_options_table, options);

    *options = (struct run_options){.profile = -1};
    int r = option_walk(&walk, argc, argv, err);
    if (r >= 0 && !options->help) {
        r = begin_policy(options, setting, err);
        walk.first = false;
        if (r == 0)
            r = option_walk(&walk, argc, argv, err);
    }
    if (r < 0 || options->help)
        return r;

    const int rest = r;
    if (rest < argc && strcmp(argv[rest], "--") == 0) {
        options->command = argv + rest + 1;
        options->command_count = argc - rest - 1;
    }
    r = check_contradictions(options, err);
    if (r == 0 && setting->refine != NULL)
        r = setting->refine(setting->context, options, err);
    if (r == 0)
        r = policy_validate(&options->policy, err);
    if (r == 0)
        r = check_within(options, setting, err);
    return r < 0 ? r : rest;
}

int options_parse_command(struct run_options *options, const struct options_setting *setting,
                          int argc, char **argv, struct cordon_error *err)
{
    int rest = options_parse(options, setting, argc, argv, err);
    if (rest < 0 || options->help)
        return rest;
    const char *why = options->command == NULL && rest < argc ? "put -- before the command"
                      : options->command == NULL || options->command_count == 0 ? "the command is missing"
                      : options->command[0][0] == '\0'        ? "the command is empty"
                                                              : NULL;
    if (why == NULL)
        return rest;
    return option_misuse(err, "read command", rest < argc ? argv[rest] : "--", why,
                         "as in: cordon run --wall 5s -- COMMAND ARG");
}

static bool has_name(const struct option_table *table, const char *name)
{
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        if (strcmp(table->items[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_listed(const char *const *names, const char *name)
{
    while (names != NULL && *names != NULL && strcmp(*names, name) != 0)
        names++;
    return names != NULL && *names != NULL;
}

/* All profiles, and which one it is without the option. */
static void list_profiles(enum policy_profile usual, char *out, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < PROFILE_COUNT && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s%s", i == 0 ? "" : i + 1 < PROFILE_COUNT ? ", " : " or ",
                                 policy_profile_name((enum policy_profile)i), i == usual ? " (default)" : "");
}

void options_help(struct buf *out, enum policy_profile usual, const struct option_table *own,
                  const char *const *refused)
{
    char profiles[128];
    list_profiles(usual, profiles, sizeof profiles);
    for (size_t i = 0; i < sizeof run_options_table / sizeof run_options_table[0]; i++) {
        struct option item = run_options_table[i];
        const struct option_table one = {.items = &item, .count = 1};
        if (item.apply == apply_profile)
            item.help = profiles;
        if (!has_name(own, item.name) && !is_listed(refused, item.name))
            option_help(&one, out);
    }
}
