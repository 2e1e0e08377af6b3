#include "cli/option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

int option_misuse(struct cordon_error *err, const char *what, const char *subject, const char *why,
                  const char *remedy)
{
    int r = err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_NONE, EINVAL, what, subject);
    err_why(err, why);
    err_remedy(err, remedy);
    return r;
}

int option_refuse(const struct option_use *use, const char *why, const char *remedy)
{
    char subject[64];
    snprintf(subject, sizeof subject, "--%s", use->option->name);
    return option_misuse(use->err, "read option", subject, why, remedy);
}

int option_not(const struct option_use *use, const char *value, const char *kind,
               const char *remedy)
{
    char why[192];
    snprintf(why, sizeof why, "'%.120s' is not %s", value, kind);
    return option_refuse(use, why, remedy);
}

int option_flag(const struct option_use *use, const char *value)
{
    (void)value;
    *(bool *)((char *)use->target + use->option->offset) = true;
    return 0;
}

int option_string(const struct option_use *use, const char *value)
{
    if (value[0] == '\0')
        return option_refuse(use, "the value is empty", NULL);
    *(const char **)(void *)((char *)use->target + use->option->offset) = value;
    return 0;
}

int option_once(const struct option_use *use, const char *value)
{
    if (*(const char **)(void *)((char *)use->target + use->option->offset) != NULL)
        return option_refuse(use, "it is given twice, and only one of both could count", NULL);
    return option_string(use, value);
}

int option_word(const struct option_use *use, const char *value)
{
    const struct policy_words *words = use->option->detail;
    char list[128];
    char remedy[192];
    int found = policy_words_parse(words, value);
    if (found < 0) {
        policy_words_list(words, list, sizeof list);
        snprintf(remedy, sizeof remedy, "allowed: %s", list);
        return option_not(use, value, "one of its words", remedy);
    }
    *(unsigned *)(void *)((char *)use->target + use->option->offset) = (unsigned)found;
    return 0;
}

int option_only_word(const struct option_use *use, const char *value)
{
    char remedy[64];
    if (strcmp(value, use->option->detail) != 0) {
        snprintf(remedy, sizeof remedy, "allowed: %s", (const char *)use->option->detail);
        return option_not(use, value, "one of its words", remedy);
    }
    return option_flag(use, value);
}

/* The option that `word` ("--name" or "--name=value") names, and its table. */
static const struct option *find(const struct option_walk *walk, const char *word, void **target)
{
    const size_t len = strcspn(word + 2, "=");
    for (size_t t = 0; t < walk->table_count; t++) {
        const struct option_table *table = &walk->tables[t];
        for (size_t i = 0; i < table->count; i++) {
            const char *name = table->items[i].name;
            if (strncmp(name, word + 2, len) == 0 && name[len] == '\0') {
                *target = table->target;
                return &table->items[i];
            }
        }
    }
    return NULL;
}

/* What other sandboxes call it. */
static const char *in_our_words(const struct option_walk *walk, const char *name)
{
    static const struct {
        const char *theirs, *ours;
    } pairs[] = {
        {"bind", "--rw"}, {"ro-bind", "--ro"}, {"volume", "--rw"}, {"chdir", "--cwd"}, {"workdir", "--cwd"},
        {"timeout", "--wall"}, {"network", "--net"}, {"share-net", "--net"}, {"whitelist", "--ro"},
        {"read-only", "--ro"}, {"read-write", "--rw"}, {"blacklist", "--hide"}, {"private", "--work"},
        {"rlimit-as", "--mem"}, {"rlimit_as", "--mem"}, {"cgroup_mem_max", "--mem"}, {"rlimit-cpu", "--cpu"},
        {"rlimit_cpu", "--cpu"}, {"rlimit-nofile", "--nofile"}, {"rlimit_nofile", "--nofile"},
        {"rlimit-nproc", "--pids"}, {"rlimit_nproc", "--pids"}, {"cgroup_pids_max", "--pids"}, {"max_cpus", "--cpus"},
        {"unshare-net", "--net"}, {"die-with-parent", "--die-with"}, {"json-status-fd", "--result"},
        {"info-fd", "--result"}, {"args", "--policy"},
    };
    void *target;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct option *ours = strcmp(name, pairs[i].theirs) == 0 ? find(walk, pairs[i].ours, &target) : NULL;
        if (ours != NULL)
            return ours->name;
    }
    return NULL;
}

static const char *nearest_option(const struct option_walk *walk, const char *name)
{
    const char *best = NULL;
    for (size_t t = 0; t < walk->table_count; t++) {
        const struct option_table *table = &walk->tables[t];
        const char *near = nearest_word(name, &table->items->name, table->count, sizeof *table->items);
        if (near != NULL && (best == NULL || nearest_distance(name, near) < nearest_distance(name, best)))
            best = near;
    }
    return best;
}

static int unknown(const struct option_walk *walk, const char *word, struct cordon_error *err)
{
    char subject[128];
    char remedy[128] = "see --help for all options";
    const char *best = NULL;
    snprintf(subject, sizeof subject, "%.*s", (int)strcspn(word, "="), word);
    if (strlen(subject) > 2)
        best = in_our_words(walk, subject + 2);
    if (strlen(subject) > 2 && best == NULL)
        best = nearest_option(walk, subject + 2);
    if (best != NULL)
        snprintf(remedy, sizeof remedy, "did you mean --%s?", best);
    return option_misuse(err, "read option", subject, "there is no such option", remedy);
}

static int value_missing(const struct option_use *use)
{
    char remedy[128];
    snprintf(remedy, sizeof remedy, "write --%s %s", use->option->name, use->option->arg);
    return option_refuse(use, "its value is missing", remedy);
}

int option_walk(const struct option_walk *walk, int argc, char **argv, struct cordon_error *err)
{
    int i = 0;
    while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0' && strcmp(argv[i], "--") != 0) {
        struct option_use use = {.arena = walk->arena, .cwd = walk->cwd, .err = err};
        const char *word = strcmp(argv[i], "-h") == 0 ? "--help" : argv[i];
        const char *value = strchr(word, '=');
        if (word[1] == '-')
            use.option = find(walk, word, &use.target);
        if (use.option == NULL)
            return unknown(walk, word, err);

        i++;
        if (use.option->arg == NULL && value != NULL)
            return option_refuse(&use, "it takes no value", NULL);
        if (value != NULL)
            value++;
        else if (use.option->arg != NULL && i < argc && strcmp(argv[i], "--") != 0)
            value = argv[i++];
        if (use.option->arg != NULL && value == NULL)
            return value_missing(&use);
        if (use.option->first != walk->first)
            continue;
        int r = use.option->apply(&use, value);
        if (r < 0)
            return r;
    }
    return i;
}

void option_help(const struct option_table *table, struct buf *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct option *o = &table->items[i];
        char left[96];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->arg != NULL ? " " : "",
                 o->arg != NULL ? o->arg : "");
        if (strlen(left) > 28)
            buf_printf(out, "  %s\n  %-28s  %s\n", left, "", o->help);
        else
            buf_printf(out, "  %-28s  %s\n", left, o->help);
    }
}
