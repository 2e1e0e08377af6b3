#include "supervisor/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "supervisor/descent.h"
#include "sys/entry.h"
#include "sys/files.h"
#include "sys/process.h"

#define PERIOD_MIN_US 2000
#define PERIOD_MAX_US 100000
/* How fast a core can touch fresh pages, with a margin; the period follows from the headroom. */
#define BYTES_PER_US 2500
#define TIMER_SLACK_NS 50000 /* the kernel's own: a caller may be content with seconds */
#define TICK_US 10000 /* USER_HZ is 100 on every architecture that we know */
#define WHO_SIZE 32 /* "PID/task/TID" */
#define STATUS_SIZE 16384 /* mostly 1,500; a thousand groups have their place there, too */
/* An exact look takes as long as the processes make it, by their mappings and their locks. */
#define EXACT_CPU_US 30000
#define EXACT_US 300000
#define LOOKS_AGAIN 2
/* One process alone could make it long: the tables of 16 GiB, or of a page here and there. */
#define EXACT_TABLES (UINT64_C(32) << 20)

struct sample {
    uint64_t resident; /* bytes: an upper bound, shared pages count once for each process; with the next two */
    uint64_t tables, swapped;
    uint64_t private;  /* of these what is in no file: the sandbox's own tmpfs are counted by themselves */
    uint64_t shared;   /* of an exact look, which keeps it apart: pages of tmpfs */
    uint64_t cpu_us;
};

static void join(char *out, size_t size, const char *a, const char *b)
{
    size_t n = strlen(a);
    size_t m = strlen(b);
    out[0] = '\0';
    if (n + 1 + m >= size)
        return;
    memcpy(out, a, n);
    out[n] = '/';
    memcpy(out + n + 1, b, m + 1);
}

static uint64_t number(const char **p)
{
    uint64_t value = 0;
    while (**p == ' ' || **p == '\t')
        (*p)++;
    for (; **p >= '0' && **p <= '9'; (*p)++)
        value = value * 10 + (uint64_t)(**p - '0');
    return value;
}

/* A watcher that cannot look any more must not take that for "nothing there". */
static int opened(struct watch *w, int fd)
{
    w->blind = w->blind || fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM;
    return fd;
}

/* Reads /proc/WHO/NAME; 0 if the process is gone or hides it. */
static long read_of(struct watch *w, const char *who, const char *name, char *out, size_t size)
{
    char path[WHO_SIZE + 16];
    join(path, sizeof path, who, name);
    const int fd = opened(w, sys_open(w->proc, path, O_RDONLY, 0));
    if (fd < 0)
        return 0;
    long r = sys_read(fd, out, size - 1);
    sys_close(fd);
    out[r > 0 ? r : 0] = '\0';
    return r;
}

/* A number of KiB in a text of /proc, as bytes. */
static uint64_t field(const char *text, const char *name)
{
    const char *p = strstr(text, name);
    if (p == NULL)
        return 0;
    p += strlen(name);
    return number(&p) * 1024;
}

/*
 * What belongs to a process although no page of it is resident: the tables of its pages, a gigabyte of them for
 * reading a byte here and there, and what it asked the kernel to move out of its sight (MADV_PAGEOUT).
 */
static void add_unseen(struct watch *w, const char *who, struct sample *sum)
{
    char text[STATUS_SIZE];
    const long r = read_of(w, who, "status", text, sizeof text);
    w->blind = w->blind || (r == sizeof text - 1 && strstr(text, "\nVmSwap:") == NULL); /* cut before it */
    if (r <= 0)
        return;
    sum->tables += field(text, "\nVmPTE:");
    sum->swapped += field(text, "\nVmSwap:");
}

/* Resident pages, and those in swap; false if there is no memory behind this name. */
static bool add_memory(struct watch *w, const char *who, struct sample *sum)
{
    char text[256];
    if (read_of(w, who, "statm", text, sizeof text) <= 0)
        return false;
    const char *p = text;
    if (number(&p) == 0)
        return false;
    const uint64_t pages = number(&p);
    const uint64_t of_files = number(&p);
    add_unseen(w, who, sum);
    sum->resident += pages * w->page_bytes + sum->tables + sum->swapped;
    sum->private += (pages - (of_files < pages ? of_files : pages)) * w->page_bytes + sum->tables + sum->swapped;
    return true;
}

/*
 * A process whose first thread has ended shows no memory under its own number, only under those
 * of the threads that live on: `who` becomes one of them.
 */
static bool add_living_thread(struct watch *w, char who[WHO_SIZE], struct sample *sum)
{
    _Alignas(struct sys_dirent) char entries[2048];
    char tasks[WHO_SIZE];
    join(tasks, sizeof tasks, who, "task");
    const int dir = opened(w, sys_open(w->proc, tasks, O_RDONLY | O_DIRECTORY, 0));
    bool found = false;
    for (long n; !found && dir >= 0 && (n = sys_getdents(dir, entries, sizeof entries)) > 0;) {
        for (long at = 0; !found && at < n;) {
            const char *name = sys_next_entry(entries, &at)->name;
            if (name[0] < '1' || name[0] > '9')
                continue;
            join(who, WHO_SIZE, tasks, name);
            found = add_memory(w, who, sum);
        }
    }
    sys_close(dir);
    return found;
}

/* utime, stime and those of children that it has waited for: fields 14 to 17 of stat. */
static void add_cpu(struct watch *w, const char *pid, struct sample *sum)
{
    char text[1024];
    if (read_of(w, pid, "stat", text, sizeof text) <= 0)
        return;
    const char *p = strrchr(text, ')'); /* the name before it may hold anything */
    for (int field = 2; p != NULL && field < 14; field++)
        p = strchr(p + 1, ' ');
    for (int i = 0; p != NULL && i < 4; i++)
        sum->cpu_us += number(&p) * TICK_US;
}

static uint64_t own_cpu_us(void)
{
    return sys_clock_us(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Whether it has no memory but its parent's, as between vfork() and exec: that counts once. The kernel
 * is asked by the number that a process has for init.
 */
static bool shares_with_parent(struct watch *w, const char *pid)
{
    char text[1024];
    const bool outer_numbers = w->spawn->plan->host_proc && !w->spawn->plan->bare;
    if (outer_numbers || read_of(w, pid, "stat", text, sizeof text) <= 0)
        return false;
    const char *p = strrchr(text, ')'); /* ") S PARENT" */
    p = p == NULL ? NULL : strchr(p + 2, ' ');
    return p != NULL && sys_same_memory((int)number(&pid), (int)number(&p));
}

/*
 * What the process really has to itself, by the kernel's own division of shared pages, as long as that
 * takes little time; the rest counts as if nobody shared anything, for nobody is watched meanwhile.
 */
static void add_exact(struct watch *w, const char *pid, const char *who, const struct sample *bound, struct sample *sum)
{
    char text[2048];
    struct sample still = {0};
    if (own_cpu_us() > w->exact_cpu_us || sys_now_us() > w->exact_us || bound->tables > EXACT_TABLES) {
        sum->resident += plan_hosted(w->spawn->plan) ? bound->resident : bound->private;
    } else if (strcmp(pid, who) == 0 && shares_with_parent(w, pid)) {
        return; /* a first thread that has ended has no memory to be compared */
    } else if (read_of(w, who, "smaps_rollup", text, sizeof text) <= 0) {
        /* It made itself unreadable, or has just ended: then it has nothing more, and may have had it with its parent. */
        sum->resident += add_memory(w, who, &still) ? still.resident : 0;
    } else {
        sum->resident += field(text, "\nPss_Anon:") + field(text, "\nSwapPss:") + bound->tables;
        sum->shared += field(text, "\nPss_Shmem:");
    }
}

static void add_process(struct watch *w, const char *pid, bool exact, struct sample *sum)
{
    const struct plan *plan = w->spawn->plan;
    char who[WHO_SIZE];
    struct sample bound = {0};
    memcpy(who, pid, strlen(pid) + 1);
    const bool living = plan->watch_memory && (add_memory(w, who, &bound) || add_living_thread(w, who, &bound));
    if (living && exact)
        add_exact(w, pid, who, &bound, sum);
    else if (living)
        sum->resident += bound.resident;
    if (plan->watch_cpu && !exact)
        add_cpu(w, pid, sum);
}

/* Init's own copy: it has one thread. */
static struct descent descent;

/* For every descendant, where /proc shows others as well. */
static void each_descendant(struct watch *w, bool exact, struct sample *sum)
{
    char pid[SYS_NUMBER_SIZE + 1];
    descent_read(&descent, w->proc);
    w->blind = w->blind || descent.cut;
    for (size_t i = 0; i < descent.count; i++) {
        *sys_put_number(pid, (unsigned)descent.pids[i]) = '\0';
        add_process(w, pid, exact, sum);
    }
}

/* Its /proc is the host's. */
static bool shows_others(const struct plan *plan)
{
    return plan_hosted(plan) || plan->host_proc;
}

/* For every process but init. */
static void each_process(struct watch *w, bool exact, struct sample *sum)
{
    _Alignas(struct sys_dirent) char entries[4096];
    if (shows_others(w->spawn->plan)) {
        each_descendant(w, exact, sum);
        return;
    }
    sys_call(SYS_lseek, w->proc, 0, SEEK_SET);
    for (;;) {
        long n = sys_getdents(w->proc, entries, sizeof entries);
        if (n <= 0)
            return;
        for (long at = 0; at < n;) {
            const char *name = sys_next_entry(entries, &at)->name;
            if (name[0] < '1' || name[0] > '9' || strcmp(name, "1") == 0 || strlen(name) >= WHO_SIZE)
                continue;
            add_process(w, name, exact, sum);
        }
    }
}

static uint64_t tmpfs_bytes(const struct watch *w)
{
    uint64_t bytes = 0;
    for (int i = 0; i < 3; i++) {
        struct statfs fs;
        if (w->tmpfs[i] >= 0 && sys_fstatfs(w->tmpfs[i], &fs) == 0)
            bytes += (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
    }
    return bytes;
}

/*
 * A file in a tmpfs of the run's own is there once, mapped or not. Beneath bwrap shared memory can be had that is
 * in none of them (/dev/zero).
 */
static uint64_t exact_bytes(const struct plan *plan, const struct sample *exact, uint64_t files)
{
    if (plan_hosted(plan))
        return exact->resident + exact->shared + files;
    return exact->resident + (exact->shared > files ? exact->shared : files);
}

static uint64_t reaped_cpu_us(void)
{
    struct rusage usage;
    return sys_call(SYS_getrusage, RUSAGE_CHILDREN, &usage) < 0 ? 0 : sys_cpu_us(&usage);
}

static uint64_t clamp(uint64_t us)
{
    return us < PERIOD_MIN_US ? PERIOD_MIN_US : us > PERIOD_MAX_US ? PERIOD_MAX_US : us;
}

/* How many there are for the payload: it may widen the mask that the caller has, as far as the kernel lets it. */
static unsigned cores_within_reach(void)
{
    unsigned long own[64];
    unsigned long wide[64];
    unsigned cores = 0;
    memset(wide, 0xff, sizeof wide);
    const long size = sys_call(SYS_sched_getaffinity, 0, sizeof own, own);
    if (size <= 0)
        return 0;
    sys_call(SYS_sched_setaffinity, 0, sizeof wide, wide);
    const long n = sys_call(SYS_sched_getaffinity, 0, sizeof wide, wide);
    sys_call(SYS_sched_setaffinity, 0, size, own);
    for (long i = 0; i < n / (long)sizeof wide[0]; i++)
        cores += (unsigned)__builtin_popcountl(wide[i]);
    return cores;
}

/* How long nothing can go beyond its limit. */
static uint64_t period(const struct watch *w, uint64_t bytes, uint64_t cpu_us)
{
    const struct plan *plan = w->spawn->plan;
    const uint64_t rate = BYTES_PER_US * w->cores;
    const uint64_t memory = plan->watch_memory ? clamp((plan->mem_bytes - bytes) / rate) : PERIOD_MAX_US;
    const uint64_t cpu = plan->watch_cpu ? clamp(plan->cpu_ms * 1000 - cpu_us) : PERIOD_MAX_US;
    return memory < cpu ? memory : cpu;
}

/* The plan's own at this place; NULL: none, or a bind is on top of it. `doubtful`: one that may have been left out. */
static const struct plan_step *own_tmpfs(const struct plan *plan, const char *place, bool *doubtful)
{
    const struct plan_step *own = NULL;
    *doubtful = false;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (strcmp(step->target, place) != 0)
            continue;
        *doubtful = step->kind != STEP_TMPFS;
        own = step->kind == STEP_TMPFS ? step : (step->flags & STEP_OPTIONAL) != 0 ? own : NULL;
    }
    return own;
}

/* What lies in a tmpfs of the host's is not this tree's memory. In doubt the size tells. */
static bool is_own(int dir, const struct plan_step *own, bool doubtful)
{
    struct statfs fs;
    if (sys_fstatfs(dir, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
        return false;
    const uint64_t block = (uint64_t)fs.f_bsize;
    return !doubtful || fs.f_blocks == (own->size + block - 1) / block;
}

void watch_places(struct watch *w, int root)
{
    static const char *const places[3] = {"tmp", "work", "dev/shm"};
    const struct plan *plan = w->spawn->plan;
    w->next_us = sys_now_us() + period(w, 0, 0); /* what runs from now on has used nothing yet */
    for (int i = 0; plan->watch_memory && i < 3; i++) {
        bool doubtful;
        const struct plan_step *own = own_tmpfs(plan, places[i], &doubtful);
        w->tmpfs[i] = own == NULL ? -1 : opened(w, sys_open_in_root(root, places[i], O_PATH | O_DIRECTORY));
        if (w->tmpfs[i] >= 0 && !is_own(w->tmpfs[i], own, doubtful)) {
            sys_close(w->tmpfs[i]);
            w->tmpfs[i] = -1;
        }
    }
}

void watch_start(struct watch *w, struct spawn *s)
{
    const struct plan *plan = s->plan;
    *w = (struct watch){.spawn = s, .proc = -1, .tmpfs = {-1, -1, -1}, .page_bytes = getauxval(AT_PAGESZ)};
    if (!plan->watch_memory && !plan->watch_cpu)
        return;
    const unsigned cores = plan->watch_memory ? cores_within_reach() : 0;
    w->cores = cores < plan->host->cores ? plan->host->cores : cores;
    sys_prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0);
    w->proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
    if (plan->bwrap != NULL)
        w->next_us = UINT64_MAX / 2; /* there is nothing to see before its payload */
    char text[256];
    if (w->proc >= 0 && (shows_others(plan) ? descent_shown(w->proc) : read_of(w, "1", "statm", text, sizeof text) > 0))
        __atomic_or_fetch(&s->shared->proof, PROOF_WATCHER, __ATOMIC_RELAXED);
}

const struct timespec *watch_pause(const struct watch *w, struct timespec *room)
{
    if (w->proc < 0)
        return NULL;
    uint64_t now = sys_now_us();
    uint64_t us = w->next_us > now ? w->next_us - now : 0;
    *room = (struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    return room;
}

/*
 * Of a child that nobody waits for the kernel keeps nothing: what was seen of it stays in the sum. One that is waited
 * for while we look is, for this once, neither among the living nor in its parent's account: so look again.
 */
static uint64_t keep_cpu(struct watch *w, uint64_t seen)
{
    for (int i = 0; i < LOOKS_AGAIN && seen < w->cpu_seen && !w->blind; i++) {
        struct sample sum = {0};
        each_process(w, false, &sum);
        const uint64_t again = sum.cpu_us + reaped_cpu_us();
        seen = again > seen ? again : seen;
    }
    w->cpu_lost += seen < w->cpu_seen ? w->cpu_seen - seen : 0;
    w->cpu_seen = seen;
    return seen + w->cpu_lost;
}

enum limit_hit watch_look(struct watch *w)
{
    const struct plan *plan = w->spawn->plan;
    const uint64_t now = sys_now_us();
    uint64_t bytes = 0;
    uint64_t cpu_us = 0;
    struct sample sum = {0};
    if (w->proc < 0 || now < w->next_us)
        return HIT_NONE;

    w->next_us = now + PERIOD_MAX_US; /* also after a hit: who dies slowly is not looked at all the time */
    each_process(w, false, &sum);
    if (w->blind)
        return HIT_BLIND;
    if (plan->watch_memory) {
        const uint64_t files = tmpfs_bytes(w);
        bytes = sum.resident + files;
        if (bytes > plan->mem_bytes) {
            struct sample exact = {0};
            w->exact_cpu_us = own_cpu_us() + EXACT_CPU_US;
            w->exact_us = now + EXACT_US;
            each_process(w, true, &exact);
            bytes = exact_bytes(plan, &exact, files);
        }
        if (bytes > w->spawn->shared->mem_peak)
            w->spawn->shared->mem_peak = bytes;
        if (bytes > plan->mem_bytes)
            return HIT_MEMORY;
    }
    if (plan->watch_cpu) {
        cpu_us = keep_cpu(w, sum.cpu_us + reaped_cpu_us());
        if (w->blind)
            return HIT_BLIND;
        if (cpu_us >= plan->cpu_ms * 1000)
            return HIT_CPU;
    }
    w->next_us = now + period(w, bytes, cpu_us);
    return HIT_NONE;
}
