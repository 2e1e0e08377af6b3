/*
 * The rooted filesystem against the plain way, interleaved in one run: round after round each side
 * does the same work, and the fastest rounds are compared as a ratio: other work on the machine
 * only ever makes a round slower. The ratio of the medians is shown beside it; on a disk, whose
 * pace varies, it is the calmer one. Times themselves are of no interest.
 *
 *   rooted-bench [DIR [ITEM]]    works in a fresh directory beneath DIR (default: /tmp); only the
 *                               items whose names contain ITEM
 */
#include <cordon/root.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char top[256];
static struct cordon_root *root;
static char content[4096];

static const char *path(const char *name)
{
    static char ring[8][512];
    static unsigned next;
    char *out = ring[next++ % 8];
    snprintf(out, sizeof ring[0], "%s/%s", top, name);
    return out;
}

static void die(const char *what)
{
    fprintf(stderr, "rooted-bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void run(char *const argv[])
{
    pid_t pid;
    int status = 0;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ) != 0)
        die(argv[0]);
    waitpid(pid, &status, 0);
    posix_spawn_file_actions_destroy(&quiet);
    if (status != 0)
        die(argv[0]);
}

typedef void side(void);

struct item {
    const char *name;
    double bar;
    unsigned rounds; /* odd, at most ROUNDS_MAX */
    side *prepare; /* before each side's turn; not measured */
    side *ours, *theirs;
};

static double measure(const struct item *i, side *s)
{
    if (i->prepare != NULL)
        i->prepare();
    double start = now_us();
    s();
    return now_us() - start;
}

#define ROUNDS_MAX 1001

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int compare(const struct item *i)
{
    static double ours[ROUNDS_MAX], theirs[ROUNDS_MAX];
    for (unsigned r = 0; r < i->rounds; r++) {
        /* Whoever goes first has the colder caches: take turns. */
        if (r % 2 == 0)
            ours[r] = measure(i, i->ours);
        theirs[r] = measure(i, i->theirs);
        if (r % 2 != 0)
            ours[r] = measure(i, i->ours);
    }
    qsort(ours, i->rounds, sizeof ours[0], ascending);
    qsort(theirs, i->rounds, sizeof theirs[0], ascending);
    const double ratio = ours[0] / theirs[0];
    const double median = ours[i->rounds / 2] / theirs[i->rounds / 2];
    printf("%-44s %10.1f us %10.1f us   ratio %.2f (medians %.2f), bar %.2f%s\n", i->name, ours[0],
           theirs[0], ratio, median, i->bar, ratio <= i->bar ? "" : "  OVER");
    fflush(stdout);
    return ratio <= i->bar ? 0 : 1;
}

/* ---- read ---- */

#define READS 200

static void read_ours(void)
{
    struct cordon_root_data d;
    for (int i = 0; i < READS; i++) {
        if (cordon_root_read_file(root, "a/b/c/d/file", 0, &d, NULL) < 0)
            die("readFile");
        cordon_root_data_free(&d);
    }
}

static void read_theirs(void)
{
    const char *p = path("home/a/b/c/d/file");
    for (int i = 0; i < READS; i++) {
        struct stat st;
        int fd = open(p, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
            die("open");
        char *data = malloc((size_t)st.st_size + 1);
        if (data == NULL || read(fd, data, (size_t)st.st_size) != st.st_size)
            die("read");
        free(data);
        close(fd);
    }
}

static void open_theirs(void)
{
    const char *p = path("home/a/b/c/d/file");
    for (int i = 0; i < READS; i++) {
        struct stat st;
        int fd = open(p, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
            die("open");
        close(fd);
    }
}

/* ---- stat ---- */

static void stat_ours(void)
{
    struct cordon_root_stat st;
    for (int i = 0; i < READS; i++) {
        if (cordon_root_stat(root, "a/b/c/d/file", &st, NULL) < 0)
            die("stat");
    }
}

static void stat_theirs(void)
{
    const char *p = path("home/a/b/c/d/file");
    struct stat st;
    for (int i = 0; i < READS; i++) {
        if (stat(p, &st) < 0)
            die("stat");
    }
}

/* ---- writeFile ---- */

#define WRITES 20

static void write_ours(void)
{
    for (int i = 0; i < WRITES; i++) {
        if (cordon_root_write_file(root, "a/b/c/d/out", content, sizeof content, false, NULL) < 0)
            die("writeFile");
    }
}

static void write_theirs(void)
{
    const char *p = path("home/a/b/c/d/out2");
    const char *tmp = path("home/a/b/c/d/out2.tmp");
    for (int i = 0; i < WRITES; i++) {
        int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, content, sizeof content) != (ssize_t)sizeof content)
            die("write");
        close(fd);
        if (rename(tmp, p) < 0)
            die("rename");
    }
}

/* ---- trees: 10,000 files in 100 directories ---- */

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(p);
}

static void remove_copy(void)
{
    nftw(path("home/copy"), remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

static void make_copy(void)
{
    remove_copy();
    char from[512], to[512];
    snprintf(from, sizeof from, "%s", path("home/tree"));
    snprintf(to, sizeof to, "%s", path("home/copy"));
    run((char *[]){(char[]){"cp"}, (char[]){"-a"}, from, to, NULL});
}

static void rm_ours(void)
{
    const struct cordon_root_rm_options o = {.size = sizeof o, .recursive = true};
    const char *p = "copy";
    if (cordon_root_rm(root, &p, 1, &o, NULL) < 0)
        die("rm");
}

static void rm_theirs(void)
{
    char p[512];
    snprintf(p, sizeof p, "%s", path("home/copy"));
    run((char *[]){(char[]){"rm"}, (char[]){"-rf"}, p, NULL});
}

static void cp_ours(void)
{
    const struct cordon_root_cp_options o = {
        .size = sizeof o, .recursive = true, .preserve_timestamps = true};
    if (cordon_root_cp(root, "tree", "copy", &o, NULL) < 0)
        die("cp");
}

static void cp_theirs(void)
{
    char from[512], to[512];
    snprintf(from, sizeof from, "%s", path("home/tree"));
    snprintf(to, sizeof to, "%s", path("home/copy"));
    run((char *[]){(char[]){"cp"}, (char[]){"-a"}, from, to, NULL});
}

/* ---- getListing of 100,000 entries ---- */

static void list_ours(void)
{
    struct cordon_root_entries l;
    if (cordon_root_get_listing(root, "large", &l, NULL) < 0 || l.count != 100000)
        die("getListing");
    cordon_root_entries_free(&l);
}

static void list_theirs(void)
{
    char p[512];
    snprintf(p, sizeof p, "%s", path("home/large"));
    run((char *[]){(char[]){"ls"}, (char[]){"-lU"}, p, NULL});
}

static void put(const char *name, const char *data, size_t len)
{
    int fd = open(path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, data, len) != (ssize_t)len)
        die(name);
    close(fd);
}

static void build(bool trees, bool large)
{
    static const char *const dirs[] = {"home", "home/a", "home/a/b", "home/a/b/c", "home/a/b/c/d",
                                       "home/tree", "home/large"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        if (mkdir(path(dirs[i]), 0755) < 0)
            die(dirs[i]);
    }
    memset(content, 'x', sizeof content);
    put("home/a/b/c/d/file", content, sizeof content);
    char name[64];
    for (int i = 0; trees && i < 100; i++) {
        snprintf(name, sizeof name, "home/tree/d%d", i);
        mkdir(path(name), 0755);
        for (int k = 0; k < 100; k++) {
            snprintf(name, sizeof name, "home/tree/d%d/file%d", i, k);
            put(name, content, (size_t)(k * 40));
        }
    }
    for (int i = 0; large && i < 100000; i++) {
        snprintf(name, sizeof name, "home/large/file%d", i);
        put(name, content, 0);
    }
}

int main(int argc, char **argv)
{
    static const struct item items[] = {
        {"readFile, 4 levels / open+fstat+read+close", 1.25, 1001, NULL, read_ours, read_theirs},
        {"readFile, 4 levels / open+fstat+close", 1.25, 1001, NULL, read_ours, open_theirs},
        {"stat, 4 levels / stat", 2.2, 1001, NULL, stat_ours, stat_theirs},
        {"writeFile 4 KiB / temporary + rename", 1.15, 301, NULL, write_ours, write_theirs},
        {"rm -r, 10,000 files / rm -rf", 1.1, 9, make_copy, rm_ours, rm_theirs},
        {"cp -r, 10,000 files / cp -a", 1.1, 9, remove_copy, cp_ours, cp_theirs},
        {"getListing, 100,000 entries / ls -lU", 1.0, 11, NULL, list_ours, list_theirs},
    };
    snprintf(top, sizeof top, "%s/cordon-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (mkdtemp(top) == NULL)
        die(top);
    const char *only = argc > 2 ? argv[2] : "";
    build(strstr("rm -r cp -r", only) != NULL, strstr("getListing", only) != NULL);
    char home[300];
    snprintf(home, sizeof home, "%s/home", top);
    const struct cordon_root_options o = {.size = sizeof o, .home = home};
    if (cordon_root_open(&o, &root, NULL) < 0)
        die("cordon_root_open");
    int over = 0;
    printf("%-44s %13s %13s\n", "ours / the plain way (fastest)", "ours", "plain");
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        over += strstr(items[i].name, only) == NULL ? 0 : compare(&items[i]);
    cordon_root_close(root);
    nftw(top, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    return over != 0;
}
