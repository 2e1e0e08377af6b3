/*
 * Build-time generator: writes every variant of the filter as C data. libseccomp is asked for the
 * numbers of names and for nothing else; the programs are our own, because the kernel runs a
 * filter once for every system call number while loading it: a search tree over ranges of numbers
 * loads several times faster than a list of comparisons.
 *
 *     gen ARCHITECTURE > programs.inc
 *
 * A program is: the architecture, the tree, a block for each kind of argument check, the returns.
 * Arguments are compared as the kernel compares them: all that are looked at are 32 bits wide or
 * less there, so only the low half counts; but for a pointer.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <string.h>

#include "layer/filter/checks.h"

#define MAX_CALL 1024 /* numbers below are decided by the tables */
#define X32_FIRST 0x40000000u
#define X32_LAST 0x7fffffffu

struct architecture {
    const char *name;      /* meson's word */
    const char *predefine; /* the compiler's word */
    uint32_t scmp;
    uint32_t audit;
    bool has_x32;
};

static const struct architecture architectures[] = {
    {"x86_64", "__x86_64__", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64, true},
    {"aarch64", "__aarch64__", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, false},
};

struct range {
    uint32_t first;
    int target; /* a label */
};

/* --- the tables, with numbers --- */

struct call {
    const char *name;
    enum verdict verdict[SECCOMP_LEVELS];
};

static const struct call calls[] = {
#define CALL(name, normal, strict) {#name, {VERDICT_##normal, VERDICT_##strict}},
#include "layer/filter/calls.def"
};

static const struct {
    const char *name;
    int number;
} newer[] = {
#define CALL(name, normal, strict)
#define NEWER(name, number) {#name, number},
#include "layer/filter/calls.def"
};

/* -1: this architecture has no such call. */
static int number_of(const char *name, const struct architecture *arch)
{
    int number = seccomp_syscall_resolve_name_arch(arch->scmp, name);

    if (number >= 0)
        return number;
    if (number != __NR_SCMP_ERROR)
        return -1;
    for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++)
        if (strcmp(newer[i].name, name) == 0)
            return newer[i].number;
    die("unknown system call, and no number given", name);
}

static void fill_table(enum verdict table[MAX_CALL], enum policy_seccomp level,
                       const struct architecture *arch)
{
    bool seen[MAX_CALL] = {false};

    memset(table, 0, MAX_CALL * sizeof table[0]);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int number = number_of(calls[i].name, arch);
        if (number < 0)
            continue;
        if (number >= MAX_CALL || seen[number])
            die("number out of range or listed twice", calls[i].name);
        seen[number] = true;
        table[number] = calls[i].verdict[level];
    }
}

/* --- the tree --- */

static int label_of(enum verdict verdict, const struct seccomp_choice *choice)
{
    const bool own = choice->world == WORLD_OWN;

    switch (verdict) {
    case VERDICT_ALLOW: return RETURN_ALLOW;
    case VERDICT_FORBID: return RETURN_FORBID;
    case VERDICT_ABSENT: return RETURN_ENOSYS;
    case VERDICT_PROOF: return RETURN_PROOF;
    case VERDICT_UNSEEN: return choice->deny_memfd ? RETURN_ENOSYS : RETURN_ALLOW;
    case VERDICT_QUEUE: return choice->deny_memfd || !own ? RETURN_ENOSYS : RETURN_ALLOW;
    case VERDICT_IPC:
    case VERDICT_WATCH: return own ? RETURN_ALLOW : RETURN_ENOSYS;
    case VERDICT_ATTRIBUTE: return own ? RETURN_ALLOW : RETURN_DENIED;
    case VERDICT_CHMOD_1: return own ? (int)(BLOCK + VERDICT_MODE_1) : (int)RETURN_DENIED;
    case VERDICT_CHMOD_2: return own ? (int)(BLOCK + VERDICT_MODE_2) : (int)RETURN_DENIED;
    case VERDICT_PAIR: return BLOCK + (own ? (int)VERDICT_SOCKET : (int)VERDICT_PAIR);
    case VERDICT_PINNING: return choice->deny_memfd ? RETURN_INVALID : RETURN_ALLOW;
    case VERDICT_OPTION:
    case VERDICT_PRCTL: return choice->deny_memfd ? (int)(BLOCK + verdict) : (int)RETURN_ALLOW;
    case VERDICT_MEMFD: return choice->deny_memfd ? (int)RETURN_ENOSYS : (int)(BLOCK + verdict);
    case VERDICT_SEGMENT: return choice->deny_memfd || !own ? (int)RETURN_ENOSYS : (int)(BLOCK + verdict);
    default: return BLOCK + (int)verdict;
    }
}

static void add_range(struct range *ranges, size_t *count, uint32_t first, int target)
{
    if (*count > 0 && ranges[*count - 1].target == target)
        return;
    assert(*count < MAX_RANGES);
    ranges[(*count)++] = (struct range){first, target};
}

static size_t make_ranges(struct range ranges[MAX_RANGES], const struct seccomp_choice *choice,
                          const struct architecture *arch)
{
    enum verdict table[MAX_CALL];
    size_t count = 0;

    fill_table(table, choice->level, arch);
    for (uint32_t number = 0; number < MAX_CALL; number++)
        add_range(ranges, &count, number, label_of(table[number], choice));
    add_range(ranges, &count, MAX_CALL, RETURN_ENOSYS);
    if (arch->has_x32 && choice->on_forbidden == FORBIDDEN_KILL) {
        /* Not beyond: a debugger skips a call by making its number -1. */
        add_range(ranges, &count, X32_FIRST, RETURN_FOREIGN);
        add_range(ranges, &count, X32_LAST + 1, RETURN_ENOSYS);
    }
    return count;
}

/*
 * How the ranges from one on are told apart with the fewest instructions, and of such ways with the fewest on the
 * longest path: each costs time to load. `split` 0: single numbers in the midst of one target, asked for one by one.
 */
struct choice {
    size_t cost, depth, split;
};

static struct choice choices[MAX_RANGES][MAX_RANGES + 1]; /* by the first range, and by how many */

#define MOST_SINGLES 3

/* How many single numbers are cut out of what is one target otherwise; 0: it is not so. */
static size_t count_singles(const struct range *ranges, size_t count)
{
    if (count % 2 == 0 || count / 2 > MOST_SINGLES)
        return 0;
    for (size_t i = 1; i < count; i += 2) {
        if (ranges[i + 1].target != ranges[0].target || ranges[i + 1].first != ranges[i].first + 1)
            return 0;
    }
    return count / 2;
}

static struct choice choose(const struct range *ranges, size_t first, size_t count)
{
    const size_t singles = count_singles(ranges + first, count);
    struct choice best = {.cost = singles, .depth = singles};
    for (size_t split = 1; split < count; split++) {
        const struct choice *low = &choices[first][split];
        const struct choice *high = &choices[first + split][count - split];
        const struct choice found = {.cost = 1 + low->cost + high->cost,
                                     .depth = 1 + (low->depth > high->depth ? low->depth : high->depth),
                                     .split = split};
        if (best.cost == 0 || found.cost < best.cost || (found.cost == best.cost && found.depth < best.depth))
            best = found;
    }
    return best;
}

static void choose_all(const struct range *ranges, size_t all)
{
    for (size_t count = 2; count <= all; count++) { /* one is told apart from nothing */
        for (size_t first = 0; first + count <= all; first++)
            choices[first][count] = choose(ranges, first, count);
    }
}

/* At `label` these ranges are told apart; what is but one target needs no node. */
static void emit_tree(struct program *p, const struct range *ranges, size_t first, size_t count, int label)
{
    const size_t split = choices[first][count].split;
    const struct range *here = ranges + first;

    place(p, label);
    if (split == 0) {
        for (size_t i = 1; i < count; i += 2)
            if_equal(p, here[i].first, here[i].target, i + 2 < count ? (int)NEXT : here[0].target);
        return;
    }
    int low = split == 1 ? here[0].target : TREE + p->nodes++;
    int high = count - split == 1 ? here[split].target : TREE + p->nodes++;
    emit(p, BPF_JMP | BPF_JGE | BPF_K, here[split].first, high, low);
    if (split > 1)
        emit_tree(p, ranges, first, split, low);
    if (count - split > 1)
        emit_tree(p, ranges, first + split, count - split, high);
}

static uint32_t value_of(int label, const struct seccomp_choice *choice)
{
    const enum policy_forbidden action = choice->on_forbidden;
    const uint32_t error = SECCOMP_RET_ERRNO, death = SECCOMP_RET_KILL_PROCESS;

    switch (label) {
    case RETURN_ALLOW: return SECCOMP_RET_ALLOW;
    case RETURN_ENOSYS: return error | ENOSYS;
    case RETURN_FORBID: return action == FORBIDDEN_KILL ? death : error | EPERM;
    case RETURN_FOREIGN: return action == FORBIDDEN_KILL ? death : error | ENOSYS;
    case RETURN_FAMILY: return action == FORBIDDEN_ERRNO ? error | EAFNOSUPPORT : death;
    case RETURN_PROTOCOL: return action == FORBIDDEN_ERRNO ? error | EPROTONOSUPPORT : death;
    case RETURN_LOCAL: return error | EAFNOSUPPORT;
    case RETURN_DENIED: return error | EPERM;
    case RETURN_NOMEM: return error | ENOMEM;
    case RETURN_DONE: return error; /* of no error */
    case RETURN_INVALID: return error | EINVAL;
    case RETURN_PROOF: return error | (SECCOMP_PROOF_ERRNO + seccomp_variant(choice));
    case RETURN_NOTIFY: return SECCOMP_RET_USER_NOTIF;
    default: abort();
    }
}

static void begin(struct program *p, const struct range *ranges, size_t count, const struct architecture *arch)
{
    memset(p, 0, sizeof *p);
    load(p, offsetof(struct seccomp_data, arch));
    if_equal(p, arch->audit, NEXT, RETURN_FOREIGN);
    load(p, offsetof(struct seccomp_data, nr));
    assert(count >= 2);
    choose_all(ranges, count);
    emit_tree(p, ranges, 0, count, TREE + p->nodes++);
}

static void emit_returns(struct program *p, const struct seccomp_choice *choice)
{
    for (int label = RETURN_ALLOW; label <= LAST_RETURN; label++) {
        if (!p->used[label])
            continue;
        place(p, label);
        emit(p, BPF_RET | BPF_K, value_of(label, choice), NEXT, NEXT);
    }
}

static void build(struct program *p, const struct seccomp_choice *choice,
                  const struct architecture *arch)
{
    struct range ranges[MAX_RANGES];
    begin(p, ranges, make_ranges(ranges, choice, arch), arch);
    for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
        checks_emit(p, (enum verdict)verdict, choice);
    emit_returns(p, choice);
}

/* --- programs with a listener --- */

#define WATCHED_NOTIFY RETURN_NOTIFY
#define WATCHED_ABSENT RETURN_ENOSYS
#define WATCHED_OPEN_1 (BLOCK + VERDICT_OPEN_1)
#define WATCHED_OPEN_2 (BLOCK + VERDICT_OPEN_2)

static const struct {
    const char *name;
    unsigned set;
    int label;
} watched[] = {
#define WATCHED(name, set, when) {#name, LISTEN_##set, WATCHED_##when},
#include "layer/filter/watched.def"
};

/* Foreign numbers for the same calls do not exist here, also where there is no other filter. */
static void build_listener(struct program *p, unsigned set, const struct architecture *arch)
{
    static const struct seccomp_choice plain = {.on_forbidden = FORBIDDEN_ERRNO};
    struct range ranges[MAX_RANGES];
    int labels[MAX_CALL];
    size_t count = 0;
    for (size_t i = 0; i < MAX_CALL; i++)
        labels[i] = RETURN_ALLOW;
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        int number = number_of(watched[i].name, arch);
        if (number >= 0 && (watched[i].set & set) != 0)
            labels[number] = watched[i].label;
    }
    for (uint32_t number = 0; number < MAX_CALL; number++)
        add_range(ranges, &count, number, labels[number]);
    if (arch->has_x32) {
        add_range(ranges, &count, X32_FIRST, RETURN_ENOSYS);
        add_range(ranges, &count, X32_LAST + 1, RETURN_ALLOW);
    }
    begin(p, ranges, count, arch);
    for (unsigned flags = 1; flags <= 2; flags++) {
        const int block = flags == 1 ? WATCHED_OPEN_1 : WATCHED_OPEN_2;
        if (!p->used[block])
            continue;
        place(p, block);
        load_argument(p, flags);
        if_any_bit(p, O_ACCMODE | O_TRUNC | OPEN_MAKES_A_FILE, RETURN_NOTIFY, RETURN_ALLOW);
    }
    emit_returns(p, &plain);
}

static size_t distance(const struct program *p, size_t from, int label)
{
    if (label == NEXT)
        return 0;
    assert(p->place[label] > from); /* the kernel has no backward jumps */
    assert(p->place[label] - from - 1 <= UINT8_MAX);
    return p->place[label] - from - 1;
}

static void print(const struct program *p, const char *kind, unsigned variant)
{
    printf("static const struct sock_filter %s_%u[] = {\n", kind, variant);
    for (size_t i = 0; i < p->count; i++) {
        const struct instruction *item = &p->items[i];
        printf("    {0x%02x, %zu, %zu, 0x%08x},\n", item->code, distance(p, i, item->yes),
               distance(p, i, item->no), item->k);
    }
    printf("};\n\n");
}

int main(int argc, char **argv)
{
    static struct program program;
    const struct architecture *arch = NULL;

    for (size_t i = 0; argc == 2 && i < sizeof architectures / sizeof architectures[0]; i++)
        if (strcmp(architectures[i].name, argv[1]) == 0)
            arch = &architectures[i];
    if (arch == NULL)
        die("no such architecture", argc == 2 ? argv[1] : "none given");

    printf("/* Written by gen.c for %s from calls.def: do not edit. */\n", arch->name);
    printf("#ifndef %s\n#error \"made for another architecture\"\n#endif\n\n", arch->predefine);
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
        struct seccomp_choice choice = seccomp_choice_of(variant);
        build(&program, &choice, arch);
        print(&program, "program", variant);
    }
    for (unsigned set = 1; set < LISTEN_SETS; set++) {
        build_listener(&program, set, arch);
        print(&program, "listener", set);
    }
    printf("static const struct sock_fprog programs[SECCOMP_VARIANTS] = {\n");
    for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++)
        printf("    PROGRAM(program_%u),\n", variant);
    printf("};\n\nstatic const struct sock_fprog listeners[LISTEN_SETS] = {\n");
    for (unsigned set = 1; set < LISTEN_SETS; set++)
        printf("    [%u] = PROGRAM(listener_%u),\n", set, set);
    printf("};\n");
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}
