/* Choosing a place, on invented trees: files in a temporary directory in place of cgroupfs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "layer/cgroup.h"
#include "layer/cgroup_file.h"

static void check_line(const struct cgroup_line *line, unsigned hierarchy, const char *list, const char *path)
{
    char text[2][64];
    CHECK(line->path != NULL);
    snprintf(text[0], sizeof text[0], "%.*s", (int)line->list_len, line->list);
    snprintf(text[1], sizeof text[1], "%.*s", (int)line->path_len, line->path);
    CHECK_INT(line->hierarchy, hierarchy);
    CHECK_STR(text[0], list);
    CHECK_STR(text[1], path);
}

TEST(finds_the_line_of_a_controller)
{
    static const char text[] = "12:name=systemd:/a\n"
                               "4:cpu,cpuacct:/b:c\n"
                               "3:cpuset:/d\n"
                               "0::/user.slice/x.scope\n";
    struct cgroup_lines lines;
    cgroup_read_lines(text, &lines);
    check_line(&lines.v1[CGROUP_CPUACCT], 4, "cpu,cpuacct", "/b:c");
    check_line(&lines.v1[CGROUP_CPU], 4, "cpu,cpuacct", "/b:c");
    check_line(&lines.v2, 0, "", "/user.slice/x.scope");
    CHECK(lines.v1[CGROUP_MEMORY].path == NULL);
    cgroup_read_lines("3:cpus:/a\n5:xpids,pid:/b", &lines); /* no name in part */
    CHECK(lines.v1[CGROUP_CPU].path == NULL && lines.v1[CGROUP_PIDS].path == NULL && lines.v2.path == NULL);
    cgroup_read_lines("3:memory:/first\n5:memory:/second\n", &lines);
    check_line(&lines.v1[CGROUP_MEMORY], 3, "memory", "/first");
    cgroup_read_lines("", &lines);
    CHECK(lines.v2.path == NULL);
    cgroup_read_lines("no colons\n:\n", &lines);
    CHECK(lines.v2.path == NULL);
}

TEST(reads_keys_and_words_whole)
{
    uint64_t value = 0;
    CHECK_INT(cgroup_find_key("oom_kill 3\noom 2\n", "oom", &value), 0);
    CHECK_INT(value, 2);
    CHECK_INT(cgroup_find_key("max max\n", "max", &value), 0);
    CHECK(value == UINT64_MAX);
    CHECK_INT(cgroup_find_key("oom_kill 3\n", "oom", &value), -ENODATA);
    CHECK_INT(cgroup_find_key("oom x\n", "oom", &value), -EINVAL);
    CHECK_INT(cgroup_find_key("oom 99999999999999999999\n", "oom", &value), -ERANGE);
    CHECK(cgroup_has_word("cpuset cpu memory\n", "cpu"));
    CHECK(!cgroup_has_word("cpuset memory\n", "cpu"));
    CHECK(!cgroup_has_word("", "cpu"));
}

/* A tree of files. */
static char root[64];

static void tree_begin(void)
{
    snprintf(root, sizeof root, "/tmp/cgroup-tree.XXXXXX");
    CHECK(test_directory(root) != NULL);
    CHECK_INT(chmod(root, 0755), 0);
}

static void tree_end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(system(command), 0);
}

static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", root, path);
    FD_AUTO fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    CHECK_INT(fd_write_all(fd, text, strlen(text)), 0);
}

/* A group of v2, the root of all if `type` is NULL. */
static void group(const char *path, const char *type, const char *controllers, const char *subtree,
                  const char *procs)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", root, path);
    CHECK(mkdir(name, 0755) == 0 || errno == EEXIST);
    const char *files[][2] = {{"cgroup.type", type},
                              {"cgroup.controllers", controllers},
                              {"cgroup.subtree_control", subtree},
                              {"cgroup.procs", procs}};
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s/%s", path, files[i][0]);
        if (files[i][1] != NULL)
            put(name, files[i][1]);
    }
}

/* The file "mounted" says what is "mounted" on a directory. */
static enum cgroup_version mounted(const char *path)
{
    char name[256];
    char text[CGROUP_FILE_SIZE];
    snprintf(name, sizeof name, "%s/mounted", path);
    if (cgroup_read(AT_FDCWD, name, text) < 0)
        return CGROUP_NONE;
    return text[0] == '2' ? CGROUP_V2 : CGROUP_V1;
}

static const char *pid_line(void)
{
    static char line[16];
    snprintf(line, sizeof line, "%d\n", (int)getpid());
    return line;
}

static struct host_cgroup probe(const char *self_text)
{
    static struct host_cgroup host;
    memset(&host, 'x', sizeof host); /* whatever stood there before is no answer */
    layer_cgroup_probe_from(
        &(struct cgroup_source){.root = root, .self_text = self_text, .mounted = mounted}, &host);
    return host;
}

static void check_place(const struct host_cgroup *host, enum cgroup_controller c,
                        enum cgroup_version version, enum cgroup_route route, const char *dir)
{
    CHECK_INT(host->controllers[c].version, version);
    CHECK_INT(host->controllers[c].route, route);
    CHECK_STR(host->dirs[c] + strlen(root), dir);
}

static void check_missing(const struct host_cgroup *host, enum cgroup_controller c,
                          const char *part_of_reason)
{
    CHECK_INT(host->controllers[c].version, CGROUP_NONE);
    char lack[CGROUP_LACK_SIZE];
    layer_cgroup_lack(lack, host, c);
    if (strstr(lack, part_of_reason) == NULL)
        CHECK_STR(lack, part_of_reason);
}

TEST(refuses_a_path_that_does_not_fit)
{
    char text[CGROUP_PATH_SIZE + 16] = "0::";
    tree_begin();
    put("mounted", "2");
    for (size_t i = 3; i < sizeof text - 1; i++)
        text[i] = i % 2 == 1 ? '/' : 'x';
    text[3 + CGROUP_PATH_SIZE - strlen(root)] = '\0';
    struct host_cgroup host = probe(text);
    CHECK_INT(host.controllers[CGROUP_MEMORY].errnum, ENAMETOOLONG);
    check_missing(&host, CGROUP_MEMORY, "not visible");
    text[3 + CGROUP_PATH_SIZE - strlen(root) - 1] = '\0'; /* just fits; there is no such group */
    host = probe(text);
    CHECK_INT(host.controllers[CGROUP_MEMORY].errnum, ENOENT);
    tree_end();
}

TEST(says_that_nothing_is_mounted)
{
    tree_begin();
    struct host_cgroup host = probe("0::/\n");
    check_missing(&host, CGROUP_MEMORY, "no cgroup file system is mounted on ");
    host = probe("4:memory:/\n0::/\n");
    check_missing(&host, CGROUP_MEMORY, "belongs to cgroup v1 and is not mounted beneath ");
    tree_end();
}

TEST(uses_v1_controllers_beside_an_empty_v2)
{
    tree_begin();
    group("unified", NULL, "", "", pid_line());
    put("unified/mounted", "2");
    group("memory", NULL, "", "", "");
    group("memory/job", NULL, "", "", pid_line());
    put("memory/mounted", "1");
    group("cpu,cpuacct", NULL, "", "", pid_line());
    put("cpu,cpuacct/mounted", "1");
    struct host_cgroup host = probe("8:pids:/\n4:memory:/job\n2:cpu,cpuacct:/\n0::/\n");
    check_place(&host, CGROUP_MEMORY, CGROUP_V1, CGROUP_ROUTE_CHILD, "/memory/job");
    check_place(&host, CGROUP_CPU, CGROUP_V1, CGROUP_ROUTE_CHILD, "/cpu,cpuacct");
    check_place(&host, CGROUP_CPUACCT, CGROUP_V2, CGROUP_ROUTE_CHILD, "/unified");
    check_missing(&host, CGROUP_PIDS, "not mounted");
    CHECK_INT(host.controllers[CGROUP_MEMORY].hierarchy, 4);
    tree_end();
}

TEST(a_memory_controller_of_v1_that_counts_no_swap_is_none_where_there_is_some)
{
    struct host_cgroup host;
    tree_begin();
    struct cgroup_source source = {.root = root, .self_text = "4:memory:/job\n", .mounted = mounted};
    group("memory", NULL, "", "", "");
    group("memory/job", NULL, "", "", pid_line());
    put("memory/mounted", "1");
    layer_cgroup_probe_from(&source, &host);
    check_place(&host, CGROUP_MEMORY, CGROUP_V1, CGROUP_ROUTE_CHILD, "/memory/job");
    source.swap = true;
    layer_cgroup_probe_from(&source, &host);
    check_missing(&host, CGROUP_MEMORY, "swapaccount=1");
    put("memory/job/memory.memsw.limit_in_bytes", "9223372036854771712\n");
    layer_cgroup_probe_from(&source, &host);
    check_place(&host, CGROUP_MEMORY, CGROUP_V1, CGROUP_ROUTE_CHILD, "/memory/job");
    tree_end();
}

TEST(finds_the_own_group_where_a_container_shows_a_part_of_the_hierarchy)
{
    tree_begin();
    group("memory", NULL, "", "", pid_line());
    put("memory/mounted", "1");
    struct host_cgroup host = probe("4:memory:/docker/0123\n");
    check_place(&host, CGROUP_MEMORY, CGROUP_V1, CGROUP_ROUTE_CHILD, "/memory");
    put("memory/cgroup.procs", "1\n");
    host = probe("4:memory:/docker/0123\n");
    check_missing(&host, CGROUP_MEMORY, "not visible");
    put("mounted", "2");
    group(".", NULL, "memory pids", "memory pids", "1\n");
    host = probe("0::/../elsewhere\n");
    check_missing(&host, CGROUP_MEMORY, "not visible");
    tree_end();
}

TEST(makes_a_child_of_the_root_of_v2_with_what_is_enabled_there)
{
    tree_begin();
    put("mounted", "2");
    group(".", NULL, "cpuset cpu memory pids", "memory pids", pid_line());
    struct host_cgroup host = probe("0::/\n");
    check_place(&host, CGROUP_MEMORY, CGROUP_V2, CGROUP_ROUTE_CHILD, "");
    check_place(&host, CGROUP_PIDS, CGROUP_V2, CGROUP_ROUTE_CHILD, "");
    check_place(&host, CGROUP_CPUACCT, CGROUP_V2, CGROUP_ROUTE_CHILD, "");
    check_missing(&host, CGROUP_CPU, "not enabled");
    tree_end();
}

TEST(steps_aside_in_a_group_of_its_own)
{
    tree_begin();
    put("mounted", "2");
    group(".", NULL, "cpu memory pids", "cpu memory pids", "1\n");
    group("job", "domain", "cpu memory pids", "", pid_line());
    struct host_cgroup host = probe("0::/job\n");
    check_place(&host, CGROUP_MEMORY, CGROUP_V2, CGROUP_ROUTE_LEAF, "/job");
    check_place(&host, CGROUP_CPU, CGROUP_V2, CGROUP_ROUTE_LEAF, "/job");
    CHECK_STR(host.leaf, "");

    group("job/cordon.77.self", "domain", "memory pids", "", pid_line());
    put("job/cgroup.procs", "");
    put("job/cgroup.subtree_control", "memory pids\n");
    host = probe("0::/job/cordon.77.self\n");
    check_place(&host, CGROUP_MEMORY, CGROUP_V2, CGROUP_ROUTE_LEAF, "/job");
    CHECK_STR(host.leaf + strlen(root), "/job/cordon.77.self");
    tree_end();
}

TEST(goes_up_where_the_own_group_holds_others)
{
    tree_begin();
    char both[32];
    snprintf(both, sizeof both, "1\n%s", pid_line());
    put("mounted", "2");
    group(".", NULL, "cpu memory pids", "cpu memory pids", "1\n");
    group("user", "domain", "cpu memory pids", "memory pids", "");
    group("user/app", "domain", "memory pids", "pids", "");
    group("user/app/shell", "domain", "pids", "", both);
    struct host_cgroup host = probe("0::/user/app/shell\n");
    check_place(&host, CGROUP_MEMORY, CGROUP_V2, CGROUP_ROUTE_ANCESTOR, "/user");
    check_place(&host, CGROUP_PIDS, CGROUP_V2, CGROUP_ROUTE_ANCESTOR, "/user");
    check_missing(&host, CGROUP_CPU, "not enabled");
    CHECK_STR(host.leaf, "");
    tree_end();
}

TEST(says_that_others_in_the_own_group_are_the_obstacle)
{
    tree_begin();
    char both[32];
    snprintf(both, sizeof both, "1\n%s", pid_line());
    put("mounted", "2");
    group(".", NULL, "memory pids", "", "1\n");
    group("job", "domain", "memory pids", "", both);
    struct host_cgroup host = probe("0::/job\n");
    check_missing(&host, CGROUP_MEMORY, "alone in it, and holds other processes");
    check_missing(&host, CGROUP_CPU, "not enabled");
    check_place(&host, CGROUP_CPUACCT, CGROUP_V2, CGROUP_ROUTE_CHILD, "/job");
    tree_end();
}

TEST(counts_cpu_time_where_no_controller_is_enabled)
{
    tree_begin();
    put("mounted", "2");
    group(".", NULL, "memory", "", pid_line());
    struct host_cgroup host = probe("0::/\n");
    check_place(&host, CGROUP_CPUACCT, CGROUP_V2, CGROUP_ROUTE_CHILD, "");
    check_missing(&host, CGROUP_MEMORY, "not enabled in a cgroup that uid ");
    tree_end();
}

TEST(says_who_may_not_write)
{
    tree_begin();
    put("mounted", "2");
    group(".", NULL, "memory pids", "memory pids", pid_line());
    CHECK_INT(chmod(root, 0555), 0);
    uid_t uid = geteuid();
    if (uid == 0) {
        struct host_cgroup before = probe("0::/\n"); /* root may: modes do not bind it */
        check_place(&before, CGROUP_MEMORY, CGROUP_V2, CGROUP_ROUTE_CHILD, "");
        CHECK_INT(setresuid(1500, 1500, 0), 0);
    }
    struct host_cgroup host = probe("0::/\n");
    char reason[128];
    snprintf(reason, sizeof reason, "is not writable by uid %u", uid == 0 ? 1500U : (unsigned)uid);
    for (unsigned c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
        check_missing(&host, (enum cgroup_controller)c, reason);
    CHECK_INT(uid != 0 || setresuid(0, 0, 0) == 0, 1);
    CHECK_INT(chmod(root, 0755), 0);
    tree_end();
}
