#include "tools/whitelist.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* A group of options of one kind; words are separated by blanks. */
struct group {
    enum tool_value kind;
    const char *options;
    const char *set; /* VALUE_SET: the words */
};

#define GROUPS_MAX 10

static const struct group find_groups[GROUPS_MAX] = {
    {VALUE_NONE,
     "-daystart -warn -nowarn -d -depth --help -ignore_readdir_race -mount "
     "-noignore_readdir_race --version -xdev -empty -executable -nogroup -nouser -readable -true "
     "-writable -ls -print -print0 -prune -quit ( ) ! -not -a -and -o -or ,",
     NULL},
    {VALUE_TEXT,
     "-regextype -fstype -group -ilname -iname -ipath -iregex -iwholename -lname -name -newerXY "
     "-path -perm -regex -size -type -user -wholename -xtype -context -printf",
     NULL},
    {VALUE_INTEGER, "-maxdepth -mindepth -gid -inum -links -mmin -mtime -uid", NULL},
    {VALUE_NUMBER, "-amin -atime -cmin -ctime -used", NULL},
    {VALUE_INSIDE, "-anewer -cnewer -newer -samefile", NULL},
};

static const struct group fd_groups[GROUPS_MAX] = {
    {VALUE_NONE,
     "-H --hidden -I --no-ignore -u --unrestricted --no-ignore-vcs --no-require-git -s "
     "--case-sensitive -i --ignore-case -g --glob --regex -F --fixed-strings -l --list-details -p "
     "--full-path -0 --print0 -1 -q --quite --show-errors --one-file-system --mount --xdev -h "
     "--help -V --version --prune",
     NULL},
    {VALUE_TEXT,
     "--and --type -e --extension -E --exclude -S --size --changed-within --changed-before -o "
     "--owner --format",
     NULL},
    {VALUE_INTEGER, "--max-results -d --max-depth --min-depth --exact-depth", NULL},
    {VALUE_SET, "--strip-cwd-prefix -c --color", "never always auto"},
    {VALUE_INSIDE, "--ignore-file", NULL},
};

static const struct group ripgrep_groups[GROUPS_MAX] = {
    {VALUE_NONE,
     "-s --case-sensitive --crlf -F --fixed-strings -i --ignore-case -v --invert-match -x "
     "--line-regexp -U --multiline --multiline-dotall --no-unicode --null-data -P --pcre2 -S "
     "--smart-case --stop-on-nonmatch -w --word-regexp --binary --glob-case-insensitive -. "
     "--hidden --ignore-file-case-insensitive --no-ignore --no-ignore-dot --no-ignore-exclude "
     "--no-ignore-files --no-ignore-global --no-ignore-parent --no-ignore-vcs --no-require-git "
     "--one-file-system --type-list -u --unrestricted -b --byte-offset --column --heading "
     "--no-heading -h --help --include-zero -n --line-number -N --no-line-number -O --null "
     "--passthru -p --pretty -q --quiet --trim --no-trim --vimgrep -H --with-filename -I "
     "--no-filename -c --count --count-matches -l --files-with-matches --files-without-match "
     "--json --debug --no-ignore-messages --no-messages --stats --trace --files --pcre2-version "
     "-V --version",
     NULL},
    {VALUE_TEXT,
     "-e -g --glob --iglob --max-filesize -t --type -T --type-not --type-add --type-clear "
     "--colors --context-separator --field-context-separator --field-match-separator -r "
     "--replace",
     NULL},
    {VALUE_INTEGER,
     "-m --max-count -d --max-depth -A --after-context -B --before-context -C --context -M "
     "--max-columns --max-columns-preview",
     NULL},
    {VALUE_SET, "-E --encoding", "utf-8 utf-16 utf-16le utf-16be ascii latin-1"},
    {VALUE_SET, "--engine", "default pcre2 auto"},
    {VALUE_SET, "--color", "never auto always ansi"},
    {VALUE_SET, "--sort --sortr", "none path modified accessed created"},
    {VALUE_SET, "--generate", "man complete-bash complete-zsh complete-fish complete-powershell"},
};

static const struct group dust_groups[GROUPS_MAX] = {
    {VALUE_NONE,
     "-p --full-paths -x --limit-filesystem -s --apparent-size -r --reverse -c --no-colors -C "
     "--force-colors -b --no-percent-bars -B --bars-on-right -R --screen-reader --skip-total -f "
     "--filecount -i --ignore-hidden -P --no-progress --print-errors -D --only-dir -F --only-file "
     "-j --output-json -h --help -V --version",
     NULL},
    {VALUE_TEXT,
     "-X --ignore-directory -z --min-size -v --invert-filter -e --filter -t --file-types -o "
     "--output-format -M --mtime -A --atime -y --ctime --collapse",
     NULL},
    {VALUE_INTEGER, "-d --depth -n --number-of-lines -w --terminal-width", NULL},
    {VALUE_SET, "-m --filetime", "a c m"},
};

static const struct group ouch_groups[GROUPS_MAX] = {
    {VALUE_NONE,
     "-H --hidden g --gitignore -h --help -V --version --fast --slow r --remove "
     "--no-smart-unpack",
     NULL},
    {VALUE_TEXT, "-f --format -p --password -l --level", NULL},
    {VALUE_PATH, "-d --dir", NULL},
};

#define SNAPSHOT_FILTERS                                                                       \
    "--filter-label --filter-paths --filter-paths-exact --filter-after --filter-before "       \
    "--filter-size --filter-size-added --filter-jq"

static const struct group rustic_groups[][GROUPS_MAX] = {
    [RUSTIC_BACKUP] = {
        {VALUE_NONE,
         "--with-atime --ignore-devid --json --long --quiet -h --help --git-ignore "
         "--no-require-git -x --one-file-system",
         NULL},
        {VALUE_TEXT,
         "--label --tag --description --time --delete-after --as-path --glob --iglob "
         "--exclude-larger-than",
         NULL},
    },
    [RUSTIC_SNAPSHOTS] = {
        {VALUE_NONE, "--long --json --all -h --help", NULL},
        {VALUE_TEXT, "-g --group-by " SNAPSHOT_FILTERS, NULL},
    },
    [RUSTIC_RESTORE] = {
        {VALUE_NONE, "--delete --verify-existing --recursive -h --help", NULL},
        {VALUE_TEXT, "--glob --iglob", NULL},
    },
    [RUSTIC_FORGET] = {
        {VALUE_NONE, "--json -h --help --keep-none", NULL},
        {VALUE_TEXT,
         "-g --group-by " SNAPSHOT_FILTERS " --keep-tags --keep-id --keep-within "
         "--keep-within-minutely --keep-within-hourly --keep-within-daily --keep-within-weekly "
         "--keep-within-monthly --keep-within-quarter-yearly --keep-within-half-yearly "
         "--keep-within-yearly",
         NULL},
        {VALUE_INTEGER,
         "-l --keep-last -M --keep-minutely -H --keep-hourly -d --keep-daily -w --keep-weekly -m "
         "--keep-monthly --keep-quarter-yearly --keep-half-yearly -y --keep-yearly",
         NULL},
    },
};

static const struct group *groups_of(enum tool tool, int sub)
{
    static const struct group *const all[TOOL_COUNT] = {
        [TOOL_FIND] = find_groups, [TOOL_FD] = fd_groups,     [TOOL_RIPGREP] = ripgrep_groups,
        [TOOL_DUST] = dust_groups, [TOOL_OUCH] = ouch_groups,
    };
    return tool == TOOL_RUSTIC ? rustic_groups[sub] : all[tool];
}

/* Is `word` one of the words in the list? */
static bool listed(const char *list, const char *word)
{
    const size_t len = strlen(word);
    for (const char *p = list; *p != '\0'; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        if (n == len && memcmp(p, word, n) == 0)
            return true;
        p += n;
    }
    return false;
}

static const struct group *find_group(enum tool tool, int sub, const char *option)
{
    const struct group *g = groups_of(tool, sub);
    for (size_t i = 0; i < GROUPS_MAX && g[i].options != NULL; i++) {
        if (listed(g[i].options, option))
            return &g[i];
    }
    return NULL;
}

int tool_option_kind(enum tool tool, int sub, const char *option)
{
    const struct group *g = find_group(tool, sub, option);
    return g != NULL ? (int)g->kind : -1;
}

static int fail(struct tool_problem *p, const char *before, const char *option, const char *after)
{
    char shown[160];
    text_escape(shown, sizeof shown, option, strlen(option));
    snprintf(p->message, sizeof p->message, "%s%s%s", before, shown, after);
    return -EINVAL;
}

/* A sign perhaps (find knows +N and -N), digits, and for a number one point. */
static bool is_number(const char *text, bool whole)
{
    const char *p = text + (*text == '-' || *text == '+');
    bool point = false;
    bool digit = false;
    for (; *p != '\0'; p++) {
        if (*p == '.' && !whole && !point)
            point = true;
        else if (*p >= '0' && *p <= '9')
            digit = true;
        else
            return false;
    }
    return digit;
}

static const char *path_problem(const char *path)
{
    unsigned depth = 0;
    if (path[0] == '/')
        return "path must be relative";
    for (const char *p = path; *p != '\0'; p += strspn(p, "/")) {
        const size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.') {
            if (depth-- == 0)
                return "path must stay within working directory";
        } else if (n != 1 || p[0] != '.') {
            depth++;
        }
        p += n;
    }
    return NULL;
}

static int check_value(const struct group *g, const char *value, struct tool_problem *problem)
{
    switch (g->kind) {
    case VALUE_INTEGER:
        return is_number(value, true) ? 0 : fail(problem, "argument must be an integer", "", "");
    case VALUE_NUMBER:
        return is_number(value, false) ? 0 : fail(problem, "argument must be a number", "", "");
    case VALUE_SET:
        return listed(g->set, value) ? 0 : fail(problem, "invalid value", "", "");
    case VALUE_INSIDE: {
        const char *why = path_problem(value);
        return why == NULL ? 0 : fail(problem, why, "", "");
    }
    case VALUE_NONE:
    case VALUE_TEXT:
    case VALUE_PATH:
        return 0;
    }
    return 0;
}

int tool_check_options(enum tool tool, int sub, const char *const *options, size_t count,
                       struct tool_problem *problem)
{
    for (size_t i = 0; i < count; i++) {
        const struct group *g = find_group(tool, sub, options[i]);
        if (g == NULL)
            return fail(problem, "Disallowed option: ", options[i], "");
        if (g->kind == VALUE_NONE)
            continue;
        if (i + 1 == count)
            return fail(problem, "Option ", options[i], " requires a value");
        int rc = check_value(g, options[++i], problem);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* In ms, which no value of the caller's can lift; 0: none. */
static uint32_t cap_of(enum tool tool)
{
    static const uint32_t caps[TOOL_COUNT] = {
        [TOOL_FIND] = 5000,  [TOOL_FD] = 5000,      [TOOL_RIPGREP] = 5000,
        [TOOL_DUST] = 20000, [TOOL_OUCH] = 600000,
    };
    return caps[tool];
}

uint32_t tool_timeout_ms(enum tool tool, double asked_ms)
{
    enum { RUSTIC_USUAL_MS = 120000 };
    const uint32_t cap = cap_of(tool);
    const bool asked = asked_ms > 0 && asked_ms < 4e9; /* nor NaN */
    if (cap == 0)
        return asked ? (uint32_t)asked_ms : RUSTIC_USUAL_MS;
    return asked && asked_ms < cap ? (uint32_t)asked_ms : cap;
}

int tool_check_command(enum tool tool, const char *command, struct tool_problem *problem)
{
    static const char *const rustic[] = {"backup", "snapshots", "restore", "forget"};
    if (tool == TOOL_OUCH)
        return listed("compress c decompress d list l ls", command)
                   ? 0
                   : fail(problem, "first argument must be one of compress, c, decompress, d, "
                                   "list, l, ls", "", "");
    for (int i = 0; i < 4; i++) {
        if (strcmp(command, rustic[i]) == 0)
            return i;
    }
    if (strcmp(command, "init") == 0)
        return fail(problem, "init not allowed", "", "");
    return fail(problem, "subcommand not allowed: ", command, "");
}
