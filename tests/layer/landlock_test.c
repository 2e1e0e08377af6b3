/* Landlock in a child for each act: first without the domain, then in it. */
#include "layer/landlock.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ground.h"
#include "sys/landlock.h"

static char root[] = "/tmp/cordon-landlock-XXXXXX";

static void make_root(void)
{
    if (sys_landlock_abi() < 1)
        test_skip("this kernel has no Landlock");
    CHECK(test_directory(root) != NULL);
    CHECK_INT(chdir(root), 0);
    CHECK_INT(mkdir("dir", 0755), 0);
    CHECK_INT(mkdir("dir/empty", 0755), 0);
    CHECK_INT(mkdir("other", 0755), 0);
    write_text("dir/file", "content");
    write_text("dir/script", "#!/bin/true\n");
    CHECK_INT(chmod("dir/script", 0755), 0);
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK_INT(system(command), 0);
}

/* As the payload would be: everything readable, `access` beneath dir. */
static void confine(int abi, uint64_t access)
{
    char dir[64];
    char other[64];
    snprintf(dir, sizeof dir, "%s/dir", root);
    snprintf(other, sizeof other, "%s/other", root);
    struct plan_rule rules[] = {{"/usr", LL_EXECUTE | LL_READ_FILE | LL_READ_DIR, 0},
                                {"/no/such/place", LL_READ_FILE, 0}, /* an optional bind that is missing */
                                {other, LL_MAKE_REG | LL_REFER, 0},
                                {dir, access, 0}};
    const struct plan plan = {.rules = rules, .rule_count = 4, .landlock_abi = abi};
    struct cordon_error err = {0};
    int ruleset = layer_landlock_create(&plan, &err);
    CHECK(ruleset >= 0);
    CHECK_INT(layer_landlock_rules(&plan, ruleset, &err), 0);
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_INT(layer_landlock_enter(ruleset, &err), 0);
}

static int newest(void)
{
    int abi = sys_landlock_abi();
    return abi > 7 ? 7 : abi;
}

static int answer(int r)
{
    int errnum = errno;
    return r < 0 ? errnum : 0;
}

static int read_file(void) { return answer(open("dir/file", O_RDONLY)); }
static int write_file(void) { return answer(open("dir/file", O_WRONLY)); }
static int read_dir(void) { return answer(open("dir", O_RDONLY | O_DIRECTORY)); }
static int make_reg(void) { return answer(mknod("dir/new", S_IFREG | 0644, 0)); }
static int make_dir(void) { return answer(mkdir("dir/new", 0755)); }
static int make_fifo(void) { return answer(mkfifo("dir/new", 0644)); }
static int make_sym(void) { return answer(symlink("x", "dir/new")); }
static int remove_file(void) { return answer(unlink("dir/file")); }
static int remove_dir(void) { return answer(rmdir("dir/empty")); }
static int move_file(void) { return answer(rename("dir/file", "other/file")); }
static int cut_file(void) { return answer(truncate("dir/file", 1)); }

static int make_sock(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "dir/new"};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    return answer(bind(s, (struct sockaddr *)&name, sizeof name));
}

static int run_script(void)
{
    char *const argv[] = {(char[]){"script"}, NULL};
    char *const env[] = {NULL};
    fflush(stdout);
    pid_t pid = vfork();
    if (pid == 0) {
        execve("dir/script", argv, env);
        _exit(errno);
    }
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

/* One act in a child with fresh files; `abi` 0: without the domain. */
static int outcome(int (*act)(void), int abi, uint64_t access)
{
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (abi > 0)
            confine(abi, access);
        _exit(act());
    }
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define EVERYTHING                                                                                          \
    (LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_READ_DIR | LL_REMOVE_DIR | LL_REMOVE_FILE |             \
     LL_MAKE_DIR | LL_MAKE_REG | LL_MAKE_SOCK | LL_MAKE_FIFO | LL_MAKE_SYM | LL_REFER | LL_TRUNCATE)

static void check_right(const char *name, int (*act)(void), uint64_t right, int since, int denied)
{
    const int abi = newest();
    for (int k = 0; k < 3; k++) {
        make_root();
        int got = k == 0   ? outcome(act, 0, 0)
                  : k == 1 ? outcome(act, abi, EVERYTHING)
                           : outcome(act, abi, EVERYTHING & ~right);
        int want = k < 2 || abi < since ? 0 : denied;
        if (got != want)
            test_fail(__FILE__, __LINE__, "%s gave errno %d in round %d, expected %d", name, got, k, want);
        CHECK_INT(chdir("/"), 0);
        remove_root();
        memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    }
}

TEST(each_right_is_granted_by_its_rule_and_by_nothing_else)
{
    check_right("execute", run_script, LL_EXECUTE, 1, EACCES);
    check_right("read file", read_file, LL_READ_FILE, 1, EACCES);
    check_right("write file", write_file, LL_WRITE_FILE, 1, EACCES);
    check_right("read directory", read_dir, LL_READ_DIR, 1, EACCES);
    check_right("make file", make_reg, LL_MAKE_REG, 1, EACCES);
    check_right("make directory", make_dir, LL_MAKE_DIR, 1, EACCES);
    check_right("make fifo", make_fifo, LL_MAKE_FIFO, 1, EACCES);
    check_right("make socket", make_sock, LL_MAKE_SOCK, 1, EACCES);
    check_right("make link", make_sym, LL_MAKE_SYM, 1, EACCES);
    check_right("remove file", remove_file, LL_REMOVE_FILE, 1, EACCES);
    check_right("remove directory", remove_dir, LL_REMOVE_DIR, 1, EACCES);
    check_right("move between directories", move_file, LL_REFER, 2, EXDEV);
    check_right("truncate", cut_file, LL_TRUNCATE, 3, EACCES);
}

/* An older ABI cannot check what it does not know: its domain must still be entered, and hold. */
TEST(a_plan_for_an_older_kernel_is_a_smaller_ruleset)
{
    for (int abi = 1; abi <= newest(); abi++) {
        make_root();
        CHECK_INT(outcome(write_file, abi, EVERYTHING & ~(uint64_t)LL_WRITE_FILE), EACCES);
        CHECK_INT(outcome(cut_file, abi, EVERYTHING & ~(uint64_t)LL_TRUNCATE), abi >= 3 ? EACCES : 0);
        CHECK_INT(chdir("/"), 0);
        remove_root();
        memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    }
}

TEST(an_abi_that_the_kernel_does_not_have_is_an_error)
{
    if (sys_landlock_abi() < 1)
        test_skip("this kernel has no Landlock");
    if (sys_landlock_abi() >= 6)
        test_skip("this kernel has every ABI that the layer knows");
    const struct plan plan = {.landlock_abi = 6};
    struct cordon_error err = {0};
    CHECK(layer_landlock_create(&plan, &err) < 0);
    CHECK_INT(err.layer, CORDON_LAYER_LANDLOCK);
    CHECK_STR(err.what, "create ruleset");
}

TEST(a_rule_on_a_file_drops_what_only_directories_can_have)
{
    make_root();
    char file[64];
    snprintf(file, sizeof file, "%s/dir/file", root);
    struct plan_rule rule = {file, EVERYTHING, 0};
    const struct plan plan = {.rules = &rule, .rule_count = 1, .landlock_abi = newest()};
    int ruleset = layer_landlock_create(&plan, NULL);
    CHECK_INT(layer_landlock_rules(&plan, ruleset, NULL), 0);
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_INT(layer_landlock_enter(ruleset, NULL), 0);
        CHECK(open("dir/file", O_RDWR) >= 0);
        CHECK_ERRNO(open("dir/script", O_RDONLY), EACCES);
        _exit(0);
    }
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    CHECK_INT(chdir("/"), 0);
    remove_root();
}

TEST(the_canary_tells_a_domain_from_none)
{
    if (sys_landlock_abi() < 1)
        test_skip("this kernel has no Landlock");
    CHECK(!layer_landlock_proven());
    const struct plan plan = {.landlock_abi = newest()};
    int ruleset = layer_landlock_create(&plan, NULL);
    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_INT(layer_landlock_enter(ruleset, NULL), 0);
    CHECK(layer_landlock_proven());
    _exit(0);
}

TEST(entering_needs_no_new_privs)
{
    if (sys_landlock_abi() < 1)
        test_skip("this kernel has no Landlock");
    if (geteuid() == 0)
        test_skip("root may enter without");
    const struct plan plan = {.landlock_abi = newest()};
    struct cordon_error err = {0};
    int ruleset = layer_landlock_create(&plan, &err);
    CHECK_INT(layer_landlock_enter(ruleset, &err), -EPERM);
    CHECK_STR(err.what, "enter the domain");
}

TEST(scopes_keep_signals_and_abstract_sockets_inside)
{
    if (sys_landlock_abi() < 6)
        test_skip("scopes came with ABI 6");
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "cordon-test-%d", (int)getpid());
    const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    CHECK_INT(bind(s, (struct sockaddr *)&name, len), 0);
    CHECK_INT(listen(s, 8), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int c = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK_INT(connect(c, (struct sockaddr *)&name, len), 0);
        CHECK_INT(kill(getppid(), 0), 0);
        const struct plan plan = {.landlock_abi = newest()};
        int ruleset = layer_landlock_create(&plan, NULL);
        CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        CHECK_INT(layer_landlock_enter(ruleset, NULL), 0);
        int again = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK_ERRNO(connect(again, (struct sockaddr *)&name, len), EPERM);
        CHECK_ERRNO(kill(getppid(), 0), EPERM);
        CHECK_INT(kill(getpid(), 0), 0);
        _exit(0);
    }
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}
