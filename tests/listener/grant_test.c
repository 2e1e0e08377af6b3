/*
 * The cache grant, end to end: a run in guard mode with a project of its own, in which a shell or
 * python does what a test runner does. The same acts beside the caches are refused and named.
 */
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../harness.h"
#include "layer/probe.h"
#include "listener/grant.h"
#include "supervisor/supervisor.h"

extern char **environ;

static struct box {
    char root[64];
    struct arena arena;
    struct policy policy;
    struct host host;
    struct plan plan;
    struct supervisor supervisor;
    struct result result;
    enum plan_on_violation on_violation;
    unsigned told;
} box;

static const char *const caches[] = {"__pycache__", ".pytest_cache", ".coverage", ".coverage.*", "list.txt/Out", NULL};

static const char *in(const char *name)
{
    static char path[4][4096];
    static unsigned turn;
    char *out = path[turn++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", box.root, name);
    return out;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in(name), "w");
    CHECK(f != NULL);
    fputs(text, f);
    fclose(f);
}

static const char *get(const char *name)
{
    static char text[256];
    FILE *f = fopen(in(name), "r");
    if (f == NULL)
        return "(missing)";
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static bool there(const char *name)
{
    struct stat st;
    return lstat(in(name), &st) == 0;
}

static void count_told(void *context, const struct result_violation *violation)
{
    (void)context;
    CHECK(violation->path[0] == '/');
    box.told++;
}

static void project(void)
{
    memset(&box, 0, sizeof box);
    snprintf(box.root, sizeof box.root, "/var/tmp/cordon-grant-XXXXXX");
    CHECK(test_directory(box.root) != NULL);
    CHECK_INT(mkdir(in("src"), 0755), 0);
    CHECK_INT(mkdir(in("tests"), 0755), 0);
    CHECK_INT(mkdir(in("src/__pycache__"), 0755), 0);
    put("config.toml", "keep");
}

/* Python knows errno and flags; its answer is what it prints. */
static void start(const char *code, struct plan_guard guard)
{
    static const struct run_wishes options = {
        .input = -1, .output = {-1, -1}, .capture = true, .ledger = true, .signals = -1, .on_violation = count_told};
    char *command[] = {(char[]){"/usr/bin/python3"}, (char[]){"-c"}, NULL, NULL};
    box.arena = ARENA_INIT(64u * 1024 * 1024);
    policy_init(&box.policy, PROFILE_TEST);
    CHECK_INT(policy_add_bind(&box.policy.rw, &box.arena, in("tests"), in("tests"), false, NULL), 0);
    box.policy.cwd = arena_strdup(&box.arena, box.root);
    box.policy.allow_partial = true; /* of the machine's other file systems, not of this project's */
    command[2] = arena_printf(&box.arena,
                              "import os,errno\n"
                              "def t(f,*a,**k):\n"
                              "    try: return str(f(*a,**k) or 0)\n"
                              "    except OSError as e: return errno.errorcode[e.errno]\n"
                              "%s",
                              code);
    result_init(&box.result);
    const struct plan_request request = {
        .policy = &box.policy,
        .host = &box.host,
        .command = command,
        .caller_env = environ,
        .guard = guard};
    struct cordon_error err = {0};
    CHECK_INT(layer_probe(&box.host, &box.arena, &box.policy, environ, NULL), 0);
    if (plan_compile(&box.plan, &box.arena, &request, &err) < 0)
        test_fail(__FILE__, __LINE__, "%s %s: %s", err.what, err.subject, err.why);
    if (supervisor_start(&box.supervisor, &box.plan, &options, &box.result) < 0)
        test_fail(__FILE__, __LINE__, "%s %s", box.result.error.what, box.result.error.subject);
}

static void finish(void)
{
    while (!supervisor_step(&box.supervisor, true)) {
    }
    supervisor_finish(&box.supervisor);
}

static void run_with(const char *code, const char *notes)
{
    start(code, (struct plan_guard){
                    .root = box.root, .caches = caches, .test_notes = notes, .on_violation = box.on_violation});
    finish();
}

static void run(const char *code)
{
    run_with(code, NULL);
}

static void said(const char *want)
{
    buf_puts(&box.result.out.captured, ""); /* terminated */
    const char *out = buf_string(&box.result.out.captured);
    if (out == NULL || strcmp(out, want) != 0)
        test_fail(__FILE__, __LINE__, "said '%s', not '%s'; %s", out == NULL ? "" : out, want,
                  box.result.err.captured.len > 0 ? buf_string(&box.result.err.captured) : box.result.reason);
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void end(void)
{
    result_release(&box.result);
    arena_free(&box.arena);
    nftw(box.root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

TEST(patterns_match_whole_components)
{
    CHECK(grant_matches("__pycache__", "__pycache__", 11));
    CHECK(!grant_matches("__pycache__", "__pycache__x", 12));
    CHECK(!grant_matches(".coverage", ".coveragerc", 11));
    CHECK(grant_matches(".coverage.*", ".coverage.host.1", 16));
    CHECK(!grant_matches(".coverage.*", ".coveragerc", 11));
    CHECK(grant_matches("*", "", 0));
    CHECK(!grant_matches("", "a", 1));
}

TEST(a_cache_can_be_filled_replaced_and_emptied)
{
    project();
    put("src/__pycache__/old", "old");
    run("os.umask(0o027)\n"
        "os.mkdir('.pytest_cache', 0o777)\n"
        "os.mkdir('.pytest_cache/v')\n"
        "f = os.open('src/__pycache__/m.tmp', os.O_WRONLY|os.O_CREAT|os.O_EXCL, 0o666)\n"
        "os.write(f, b'code'); os.close(f)\n"
        "os.replace('src/__pycache__/m.tmp', 'src/__pycache__/m.pyc')\n"
        "open('.pytest_cache/v/x', 'w').write('1')\n"
        "os.unlink('src/__pycache__/old')\n"
        "open('.coverage', 'w').write('data')\n"
        "open('.coverage', 'a').write('more')\n"
        "open('.coverage', 'r+').write('D')\n"
        "os.chmod('.coverage', 0o600)\n"
        "os.utime('.coverage', (5, 5))\n"
        "os.mkdir('.pytest_cache/gone'); os.rmdir('.pytest_cache/gone')\n"
        "print(open('src/__pycache__/m.pyc').read(), open('.coverage').read())");
    said("code Datamore\n");
    CHECK_INT(box.result.violations.total, 0);
    CHECK_INT(box.result.status, STATUS_OK);
    CHECK_STR(get("src/__pycache__/m.pyc"), "code");
    CHECK_STR(get(".pytest_cache/v/x"), "1");
    CHECK(!there("src/__pycache__/old") && !there("src/__pycache__/m.tmp") && !there(".pytest_cache/gone"));
    struct stat st;
    CHECK_INT(stat(in(".pytest_cache"), &st), 0);
    CHECK_INT(st.st_mode & 07777, 0750);
    CHECK_INT(st.st_uid, (long long)getuid());
    CHECK_INT(stat(in("src/__pycache__/m.pyc"), &st), 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    CHECK_INT(st.st_uid, (long long)getuid());
    CHECK_INT(stat(in(".coverage"), &st), 0);
    CHECK_INT(st.st_mtime, 5);
    end();
}

TEST(beside_the_caches_nothing_is_granted)
{
    project();
    put(".coveragerc", "rc");
    CHECK_INT(mkdir(in("not__pycache__"), 0755), 0);
    run("print(t(open, 'config.toml', 'w'), t(open, '.coveragerc', 'w'), t(open, 'not__pycache__/x', 'w'),\n"
        "  t(open, 'src/__pycache__/../new', 'w'), t(os.rename, 'config.toml', 'src/__pycache__/c'),\n"
        "  t(os.rename, 'src/__pycache__', 'src/other'), t(os.symlink, '/etc', 'src/__pycache__/l'),\n"
        "  t(os.link, 'config.toml', 'src/__pycache__/h'), t(os.mkfifo, 'src/__pycache__/f'))");
    said("EROFS EROFS EROFS EROFS EROFS EROFS EROFS EROFS EROFS\n");
    CHECK_STR(get("config.toml"), "keep");
    CHECK_STR(get(".coveragerc"), "rc");
    CHECK(!there("src/new") && !there("src/other") && !there("src/__pycache__/h"));
    CHECK_INT(box.result.violations.total, 9);
    CHECK_INT(box.told, (long long)box.result.violations.count);
    CHECK_INT(box.result.status, STATUS_POLICY_VIOLATION);
    CHECK_INT(result_exit_child(&box.result), 1);
    end();
}

TEST(a_cache_that_is_a_link_leads_nowhere)
{
    project();
    CHECK_INT(mkdir(in("data"), 0755), 0);
    CHECK_INT(mkdir(in("other"), 0755), 0);
    put("data/x", "keep");
    CHECK_INT(symlink("../data", in("other/__pycache__")), 0);
    CHECK_INT(symlink("../../data/x", in("src/__pycache__/l")), 0);
    CHECK_INT(link(in("data/x"), in("src/__pycache__/hard")), 0);
    run("print(t(open, 'other/__pycache__/x', 'w'), t(open, 'src/__pycache__/l', 'w'),\n"
        "  t(open, 'src/__pycache__/hard', 'w'), t(os.unlink, 'other/__pycache__'),\n"
        "  t(os.chmod, 'src/__pycache__/hard', 0))");
    said("EROFS EROFS EROFS EROFS EROFS\n");
    CHECK_STR(get("data/x"), "keep");
    CHECK_INT(box.result.violations.total, 5);
    end();
}

/* "Out" is a cache beside a list.txt. */
TEST(a_common_name_is_a_cache_beside_its_mark_alone)
{
    project();
    CHECK_INT(mkdir(in("build"), 0755), 0);
    CHECK_INT(mkdir(in("src/Out"), 0755), 0);
    CHECK_INT(mkdir(in("linked"), 0755), 0);
    put("build/list.txt", "");
    CHECK_INT(symlink("../build/list.txt", in("linked/list.txt")), 0);
    put("src/Out/x", "keep");
    run("os.makedirs('build/Out/deep/Out')\n"
        "open('build/Out/deep/Out/x', 'w').write('1')\n"
        "print(t(open, 'src/Out/x', 'w'), t(os.mkdir, 'Out'), t(os.mkdir, 'linked/Out'), t(os.mkdir, 'build/Outer'),\n"
        "  t(open, 'build/list.txt', 'w'))");
    said("EROFS EROFS EROFS EROFS EROFS\n");
    CHECK_STR(get("build/Out/deep/Out/x"), "1");
    CHECK_STR(get("src/Out/x"), "keep");
    CHECK_INT(box.result.violations.total, 5);
    end();
}

TEST(without_a_path_there_is_nothing_to_grant)
{
    project();
    put("src/__pycache__/x", "keep");
    run("import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "f = os.open('src/__pycache__/x', os.O_RDONLY)\n"
        "print(libc.openat(f, None, os.O_WRONLY|os.O_TRUNC), ctypes.get_errno() == errno.EFAULT)");
    said("-1 True\n");
    CHECK_STR(get("src/__pycache__/x"), "keep");
    CHECK_INT(box.result.violations.total, 0);
    end();
}

TEST(errors_of_a_grant_are_those_of_the_call)
{
    project();
    put("src/__pycache__/x", "x");
    run("E = os.O_WRONLY|os.O_CREAT|os.O_EXCL\n"
        "print(t(os.open, 'src/__pycache__/x', E), t(os.unlink, 'src/__pycache__/missing'),\n"
        "  t(os.open, 'src/__pycache__/missing', os.O_WRONLY), t(os.mkdir, 'src/__pycache__'),\n"
        "  t(os.open, 'missing/__pycache__/x', E))");
    said("EEXIST ENOENT ENOENT EEXIST ENOENT\n");
    CHECK_INT(box.result.violations.total, 0);
    CHECK_INT(box.result.status, STATUS_OK);
    end();
}

TEST(a_handed_file_opens_no_way_out)
{
    project();
    run("f = os.open('src/__pycache__/x', os.O_RDWR|os.O_CREAT|os.O_CLOEXEC)\n"
        "import fcntl\n"
        "print(fcntl.fcntl(f, fcntl.F_GETFD), t(os.ftruncate, f, 3), t(os.open, '../config.toml', os.O_WRONLY, dir_fd=f),\n"
        "  t(os.open, '/proc/self/fd/%d/../../../config.toml' % f, os.O_WRONLY))");
    said("1 0 ENOTDIR ENOTDIR\n");
    CHECK_STR(get("config.toml"), "keep");
    end();
}

/* The words are read once: what another thread makes of them afterwards is not what is granted. */
TEST(words_that_change_meanwhile_gain_nothing)
{
    project();
    run("import ctypes, threading\n"
        "libc = ctypes.CDLL(None)\n"
        "cache, config = b'src/__pycache__/x\\0', b'config.toml\\0'\n"
        "buf = ctypes.create_string_buffer(cache, 32)\n"
        "stop = []\n"
        "def flip():\n"
        "    while not stop:\n"
        "        ctypes.memmove(buf, config, len(config)); ctypes.memmove(buf, cache, len(cache))\n"
        "t = threading.Thread(target=flip); t.start()\n"
        "for i in range(3000):\n"
        "    f = libc.open(buf, os.O_WRONLY|os.O_CREAT|os.O_TRUNC, 0o644)\n"
        "    if f >= 0: os.write(f, b'x'); os.close(f)\n"
        "    libc.unlink(buf)\n"
        "stop.append(1); t.join()\n");
    CHECK_STR(get("config.toml"), "keep");
    CHECK_INT(box.result.exited, 1);
    CHECK_INT(box.result.exit_code, 0);
    end();
}

TEST(a_report_leaves_the_verdict_alone)
{
    project();
    box.on_violation = VIOLATIONS_REPORT;
    run("t(open, 'config.toml', 'w'); raise SystemExit(3)");
    CHECK_INT(box.result.violations.total, 1);
    CHECK(box.result.violations.watched);
    CHECK_INT(box.result.status, STATUS_NONZERO_EXIT);
    CHECK_INT(result_exit_child(&box.result), 3);
    end();
}

TEST(the_test_that_runs_is_named)
{
    char notes[128];
    project();
    snprintf(notes, sizeof notes, "%s", in("tests/notes"));
    run_with("import subprocess\n"
             "os.mkdir('tests/notes')\n"
             "open('tests/notes/%d' % os.getpid(), 'w').write('tests/test_a.py::test_b\\nrest')\n"
             "t(open, 'config.toml', 'w')\n"
             "subprocess.run(['sh', '-c', 'echo x > config.toml; true'], stderr=subprocess.DEVNULL)",
             notes);
    CHECK_INT(box.result.violations.count, 2);
    for (size_t i = 0; i < 2; i++)
        CHECK_STR(box.result.violations.items[i].test, "tests/test_a.py::test_b");
    CHECK_STR(box.result.violations.items[0].comm, "python3");
    CHECK_STR(box.result.violations.items[1].comm, "sh");
    end();
}

/* Without a project the listener has no use for the last of its places. */
TEST(what_the_caller_has_open_stays_its_own)
{
    int ends[2], held[8], count = 0;
    project();
    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    do
        held[count] = fcntl(ends[1], F_DUPFD_CLOEXEC, 5);
    while (held[count++] < 9);
    start("import time; time.sleep(600)", (struct plan_guard){.root = NULL});
    close(ends[1]);
    while (count > 0)
        close(held[--count]);
    struct pollfd closed = {.fd = ends[0]};
    for (int i = 0; i < 1000 && poll(&closed, 1, 10) == 0; i++)
        CHECK(!supervisor_step(&box.supervisor, false));
    CHECK(box.supervisor.listener.pidfd >= 0);
    CHECK_INT(closed.revents, POLLHUP);
    supervisor_kill(&box.supervisor);
    finish();
    end();
}
