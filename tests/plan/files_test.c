/* The tree that the payload sees: steps in order, and the Landlock rules on top. */
#include "invent.h"
#include "sys/landlock.h"

static const uint64_t any_write = LL_WRITE_FILE | LL_MAKE_REG | LL_REMOVE_FILE | LL_MAKE_DIR | LL_TRUNCATE;

TEST(a_view_is_an_empty_sealed_root_with_the_toolchain_and_private_places)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.steps[0].kind, STEP_TMPFS);
    CHECK_STR(i.plan.steps[0].target, "");
    CHECK_INT(i.plan.steps[0].flags, STEP_RDONLY);
    CHECK_INT(step(&i.plan, "usr")->kind, STEP_BIND);
    CHECK((step(&i.plan, "usr")->flags & STEP_RDONLY) != 0);
    CHECK_INT(step(&i.plan, "bin")->kind, STEP_LINK);
    CHECK_STR(step(&i.plan, "bin")->source, "usr/bin");
    CHECK_INT(step_at(&i.plan, "sbin"), -1); /* the host has none */
    CHECK_INT(step_at(&i.plan, "nix/store"), -1);
    CHECK_INT(step_at(&i.plan, "etc"), -1); /* only files of it */
    CHECK_INT(step(&i.plan, "proc")->kind, STEP_PROC);
    CHECK_INT(step_at(&i.plan, "proc"), (long long)i.plan.step_count - 1);
    static const char *const sized[] = {"tmp", "work", "dev/shm"};
    for (size_t k = 0; k < 3; k++) {
        CHECK_INT(step(&i.plan, sized[k])->kind, STEP_TMPFS);
        CHECK_INT(step(&i.plan, sized[k])->size, i.policy.tmp_bytes);
        CHECK(strstr(step(&i.plan, sized[k])->source, "nr_inodes=") != NULL);
        CHECK((step(&i.plan, sized[k])->flags & STEP_RDONLY) == 0);
    }
    arena_free(&i.arena);
}

TEST(a_top_directory_that_is_no_link_is_bound_and_the_nix_store_too)
{
    struct invented i = invented(PROFILE_STAGE);
    i.host.top[4].present = true; /* /lib64, a real directory */
    i.host.nix_store = true;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step(&i.plan, "lib64")->kind, STEP_BIND);
    CHECK_INT(step(&i.plan, "lib64")->flags, STEP_RDONLY | STEP_MAKE);
    CHECK_INT(step(&i.plan, "nix/store")->flags, STEP_RDONLY | STEP_MAKE);
    i.policy.system_ro = false;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step_at(&i.plan, "usr"), -1);
    CHECK_INT(step_at(&i.plan, "bin"), -1);
    CHECK_INT(step_at(&i.plan, "nix/store"), -1);
    arena_free(&i.arena);
}

TEST(files_about_the_network_come_only_with_the_network)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step_at(&i.plan, "etc/resolv.conf"), -1);
    CHECK(step_at(&i.plan, "etc/ld.so.cache") > 0);
    i.policy.net = NET_HOST;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step(&i.plan, "etc/resolv.conf")->flags, STEP_RDONLY | STEP_OPTIONAL | STEP_MAKE);
    arena_free(&i.arena);
}

TEST(the_made_up_user_list_names_nobody_but_the_user_inside)
{
    struct invented i = invented(PROFILE_STAGE);
    CHECK_INT(compile(&i), 0);
    CHECK_STR(step(&i.plan, "etc/passwd")->source,
              "root:x:0:0::/:/usr/sbin/nologin\nnobody:x:65534:65534::/work:/bin/sh\n");
    CHECK_STR(step(&i.plan, "etc/group")->source, "root:x:0:\nnogroup:x:65534:\n");
    i.policy.uid = UID_CALLER;
    CHECK_INT(compile(&i), 0);
    CHECK(strstr(step(&i.plan, "etc/passwd")->source, "user:x:1000:1000::/work:/bin/sh\n") != NULL);
    i.host.uid = i.host.gid = 0;
    CHECK_INT(compile(&i), 0);
    CHECK_STR(step(&i.plan, "etc/passwd")->source,
              "root:x:0:0::/work:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n");
    arena_free(&i.arena);
}

TEST(a_narrower_bind_comes_after_a_broader_one_whatever_the_lists_say)
{
    struct invented i = invented(PROFILE_STAGE);
    bind_in(&i, &i.policy.rw, "/a", "/data/x/y");
    bind_in(&i, &i.policy.rw, "/b", "/data");
    bind_in(&i, &i.policy.ro, "/c", "/data/x");
    CHECK_INT(compile(&i), 0);
    CHECK(step_at(&i.plan, "data") < step_at(&i.plan, "data/x"));
    CHECK(step_at(&i.plan, "data/x") < step_at(&i.plan, "data/x/y"));
    CHECK((step(&i.plan, "data/x")->flags & STEP_RDONLY) != 0);
    CHECK((step(&i.plan, "data/x/y")->flags & STEP_RDONLY) == 0);
    arena_free(&i.arena);
}

TEST(read_only_wins_at_the_same_target)
{
    struct invented i = invented(PROFILE_STAGE);
    bind_in(&i, &i.policy.ro, "/a", "/data");
    bind_in(&i, &i.policy.rw, "/b", "/data");
    CHECK_INT(compile(&i), 0);
    CHECK_STR(step(&i.plan, "data")->source, "/a");
    CHECK((step(&i.plan, "data")->flags & STEP_RDONLY) != 0);
    arena_free(&i.arena);
}

TEST(mount_points_are_made_on_our_own_ground_and_nowhere_else)
{
    struct invented i = invented(PROFILE_STAGE);
    bind_in(&i, &i.policy.rw, "/srv/a", "/data");
    bind_in(&i, &i.policy.rw, "/srv/b", "/data/b");
    bind_in(&i, &i.policy.ro, "/srv/c", "/usr/c");
    bind_in(&i, &i.policy.ro, "/srv/d", "/bin/d"); /* beneath a link */
    bind_in(&i, &i.policy.ro, "/srv/e", "/tmp/e/f");
    CHECK_INT(compile(&i), 0);
    CHECK((step(&i.plan, "data")->flags & STEP_MAKE) != 0);
    CHECK((step(&i.plan, "data/b")->flags & STEP_MAKE) == 0);
    CHECK((step(&i.plan, "usr/c")->flags & STEP_MAKE) == 0);
    CHECK((step(&i.plan, "bin/d")->flags & STEP_MAKE) == 0);
    CHECK((step(&i.plan, "tmp/e/f")->flags & STEP_MAKE) != 0);
    arena_free(&i.arena);
}

/* Ruling 16.2: `mv .git x; mkdir -p .git/hooks` must not get around a read-only entry. */
TEST(directories_between_a_writable_tree_and_a_read_only_entry_are_pinned)
{
    struct invented i = invented(PROFILE_STAGE);
    bind_in(&i, &i.policy.rw, "/srv", "/srv");
    bind_in(&i, &i.policy.ro, "/srv/a/b/c", "/srv/a/b/c");
    bind_in(&i, &i.policy.ro, "/srv/a/b/d", "/srv/a/b/d");
    CHECK_INT(compile(&i), 0);
    const unsigned pin = STEP_OWN | STEP_OPTIONAL;
    CHECK_INT(step(&i.plan, "srv/a")->flags, pin);
    CHECK_INT(step(&i.plan, "srv/a/b")->flags, pin);
    CHECK(step_at(&i.plan, "srv") < step_at(&i.plan, "srv/a"));
    CHECK(step_at(&i.plan, "srv/a") < step_at(&i.plan, "srv/a/b"));
    CHECK(step_at(&i.plan, "srv/a/b") < step_at(&i.plan, "srv/a/b/c"));
    unsigned pins = 0; /* once each, although two entries need them */
    for (size_t k = 0; k < i.plan.step_count; k++)
        pins += i.plan.steps[k].flags == pin;
    CHECK_INT(pins, 2);
    arena_free(&i.arena);
}

TEST(nothing_is_pinned_beneath_a_read_only_tree)
{
    struct invented i = invented(PROFILE_STAGE);
    bind_in(&i, &i.policy.ro, "/srv", "/srv");
    bind_in(&i, &i.policy.ro, "/srv/a/b/c", "/srv/a/b/c");
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step_at(&i.plan, "srv/a"), -1);
    arena_free(&i.arena);
}

/* Ruling 16.16. */
TEST(protected_names_stay_read_only_in_every_writable_tree)
{
    struct invented i = invented(PROFILE_AGENT);
    bind_in(&i, &i.policy.rw, "/opt/other", "/opt/other");
    CHECK_INT(compile(&i), 0);
    static const char *const trees[] = {"srv/project", "opt/other"};
    for (size_t k = 0; k < 2; k++) {
        char path[64];
        for (size_t n = 0; n < i.policy.protect.count; n++) {
            snprintf(path, sizeof path, "%s/%s", trees[k], i.policy.protect.items[n]);
            CHECK_INT(step(&i.plan, path)->flags, STEP_OPTIONAL | STEP_OWN | STEP_RDONLY);
        }
        snprintf(path, sizeof path, "%s/.git", trees[k]);
        CHECK_INT(step(&i.plan, path)->flags, STEP_OWN | STEP_OPTIONAL | STEP_KEEP); /* pinned */
        CHECK(step_at(&i.plan, trees[k]) < step_at(&i.plan, path));
    }
    arena_free(&i.arena);
}

TEST(a_protected_name_that_a_bind_names_is_what_the_bind_says)
{
    struct invented i = invented(PROFILE_AGENT);
    bind_in(&i, &i.policy.rw, "/srv/project/.git/config", "/srv/project/.git/config");
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step(&i.plan, "srv/project/.git/config")->flags, STEP_LISTED);
    CHECK((step(&i.plan, "srv/project/.git/hooks")->flags & STEP_RDONLY) != 0);
    arena_free(&i.arena);
}

TEST(a_bind_that_may_be_missing_uncovers_no_protected_name)
{
    struct invented i = invented(PROFILE_AGENT);
    bind_in(&i, &i.policy.rw, "/srv/repo", "/srv/repo");
    bind_in(&i, &i.policy.rw, "/none", "/srv/repo/.git/hooks");
    i.policy.rw.items[1].optional = true;
    CHECK_INT(compile(&i), 0);
    const struct plan_step *last = NULL;
    for (size_t k = 0; k < i.plan.step_count; k++) {
        if (strcmp(i.plan.steps[k].target, "srv/repo/.git/hooks") == 0)
            last = &i.plan.steps[k];
    }
    CHECK(last != NULL && (last->flags & STEP_RDONLY) != 0);
    arena_free(&i.arena);
}

TEST(a_writable_bind_above_a_protected_name_does_not_uncover_it)
{
    struct invented i = invented(PROFILE_AGENT);
    bind_in(&i, &i.policy.rw, "/srv/project/.git", "/srv/project/.git");
    CHECK_INT(compile(&i), 0);
    CHECK(step_at(&i.plan, "srv/project/.git") < step_at(&i.plan, "srv/project/.git/hooks"));
    CHECK((step(&i.plan, "srv/project/.git/hooks")->flags & STEP_RDONLY) != 0);
    arena_free(&i.arena);
}

TEST(a_writable_bind_beneath_a_protected_name_is_writable)
{
    struct invented i = invented(PROFILE_AGENT);
    bind_in(&i, &i.policy.rw, "/srv/project/.vscode/x", "/srv/project/.vscode/x");
    CHECK_INT(compile(&i), 0);
    CHECK((step(&i.plan, "srv/project/.vscode")->flags & STEP_RDONLY) != 0);
    CHECK(step_at(&i.plan, "srv/project/.vscode") < step_at(&i.plan, "srv/project/.vscode/x"));
    CHECK_INT(step(&i.plan, "srv/project/.vscode/x")->flags, STEP_LISTED);
    arena_free(&i.arena);
}

TEST(a_broader_writable_bind_does_not_uncover_what_is_protected_in_the_current_directory)
{
    struct invented i = invented(PROFILE_AGENT);
    bind_in(&i, &i.policy.rw, "/srv", "/srv");
    CHECK_INT(compile(&i), 0);
    CHECK(step_at(&i.plan, "srv") < step_at(&i.plan, "srv/project"));
    CHECK(step_at(&i.plan, "srv/project") < step_at(&i.plan, "srv/project/.git/hooks"));
    arena_free(&i.arena);
}

TEST(a_broader_read_only_bind_leaves_the_current_directory_writable)
{
    struct invented i = invented(PROFILE_AGENT);
    bind_in(&i, &i.policy.ro, "/srv", "/srv");
    CHECK_INT(compile(&i), 0);
    CHECK(step_at(&i.plan, "srv") < step_at(&i.plan, "srv/project"));
    CHECK((step(&i.plan, "srv/project")->flags & STEP_RDONLY) == 0);
    bind_in(&i, &i.policy.ro, "/srv/project", "/srv/project"); /* named: the narrowest word */
    CHECK_INT(compile(&i), 0);
    CHECK((step(&i.plan, "srv/project")->flags & STEP_RDONLY) != 0);
    arena_free(&i.arena);
}

TEST(protected_names_of_a_tree_are_protected_wherever_it_is_seen)
{
    struct invented i = invented(PROFILE_AGENT); /* which works in /srv/project */
    bind_in(&i, &i.policy.rw, "/srv", "/alias");
    CHECK_INT(compile(&i), 0);
    CHECK((step(&i.plan, "srv/project/.git/hooks")->flags & STEP_RDONLY) != 0);
    CHECK((step(&i.plan, "alias/project/.git/hooks")->flags & STEP_RDONLY) != 0);
    arena_free(&i.arena);
}

TEST(what_leads_to_a_tree_is_kept_for_no_name_in_it)
{
    struct invented i = invented(PROFILE_AGENT);
    bind_in(&i, &i.policy.rw, "/srv/data", "/alias");
    bind_in(&i, &i.policy.rw, "/srv/data/set/file", "/srv/data/set/file");
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step(&i.plan, "alias/set/file")->flags, STEP_OWN | STEP_OPTIONAL); /* may be a file, and then may be written */
    CHECK_INT(step(&i.plan, "alias/set")->flags, STEP_OWN | STEP_OPTIONAL);
    CHECK_INT(step(&i.plan, "alias/set/file/.git")->flags, STEP_OWN | STEP_OPTIONAL | STEP_KEEP);
    CHECK_INT(step(&i.plan, "alias/.git")->flags, STEP_OWN | STEP_OPTIONAL | STEP_KEEP);
    arena_free(&i.arena);
}

TEST(a_host_work_directory_is_a_writable_tree_like_any_other)
{
    struct invented i = invented(PROFILE_AGENT);
    i.policy.work = WORK_HOST;
    i.policy.work_host = "/srv/job";
    CHECK_INT(compile(&i), 0);
    CHECK_STR(step(&i.plan, "work")->source, "/srv/job");
    CHECK_INT(step(&i.plan, "work")->flags, STEP_LISTED | STEP_WORK | STEP_MAKE);
    CHECK((step(&i.plan, "work/.git/hooks")->flags & STEP_RDONLY) != 0);
    CHECK((access_of(&i.plan, "/work") & any_write) == any_write);
    arena_free(&i.arena);
}

TEST(a_current_directory_beneath_work_is_not_hidden_by_the_private_one)
{
    struct invented i = invented(PROFILE_AGENT);
    i.host.cwd = "/work/project";
    CHECK_INT(compile(&i), 0);
    CHECK(step_at(&i.plan, "work") < step_at(&i.plan, "work/project"));
    CHECK((step(&i.plan, "work/project")->flags & STEP_MAKE) != 0);
    CHECK_STR(i.plan.cwd, "/work/project");
    arena_free(&i.arena);
}

TEST(binds_beneath_a_private_work_are_mounted_in_it)
{
    struct invented i = invented(PROFILE_STAGE);
    bind_in(&i, &i.policy.ro, "/srv/tool.py", "/work/tool.py");
    bind_in(&i, &i.policy.rw, "/srv/out", "/work/deep/out");
    CHECK_INT(compile(&i), 0);
    CHECK(step_at(&i.plan, "work") < step_at(&i.plan, "work/tool.py"));
    CHECK_INT(step(&i.plan, "work/tool.py")->flags, STEP_LISTED | STEP_RDONLY | STEP_MAKE);
    CHECK_INT(step(&i.plan, "work/deep/out")->flags, STEP_LISTED | STEP_MAKE);
    CHECK_STR(i.plan.cwd, "/work");
    arena_free(&i.arena);
}

TEST(without_a_work_directory_a_view_has_none)
{
    struct invented i = invented(PROFILE_STAGE);
    i.policy.work = WORK_NONE;
    bind_in(&i, &i.policy.rw, "/srv/job", "/work");
    CHECK_INT(compile(&i), 0);
    CHECK_STR(step(&i.plan, "work")->source, "/srv/job"); /* and no tmpfs over it */
    CHECK_STR(i.plan.cwd, "/");
    arena_free(&i.arena);
}

static void refuses_cwd(enum policy_profile profile, const char *cwd, const char *why)
{
    struct invented i = invented(profile);
    i.host.cwd = cwd;
    CHECK_INT(compile(&i), -EINVAL);
    CHECK_INT(i.err.kind, CORDON_ERROR_POLICY);
    CHECK_STR(i.err.what, "make the current directory writable");
    CHECK_STR(i.err.subject, cwd == NULL ? "." : cwd);
    CHECK_STR(i.err.why, why);
    CHECK(strstr(i.err.remedy, "--rw DIR") != NULL);
    arena_free(&i.arena);
}

TEST(agent_and_limits_refuse_the_root_and_a_home_as_the_writable_directory)
{
    static const enum policy_profile both[] = {PROFILE_AGENT, PROFILE_LIMITS};
    for (size_t k = 0; k < 2; k++) {
        refuses_cwd(both[k], "/", "the current directory belongs to the system");
        refuses_cwd(both[k], "/home/ann", "the current directory holds a whole home directory");
        refuses_cwd(both[k], NULL, "the current directory no longer exists");
    }
    static const char *const gits[] = {"/home/ann/proj/.git", "/home/ann/proj/.git/refs"};
    for (size_t k = 0; k < 2; k++) {
        refuses_cwd(PROFILE_AGENT, gits[k], "the current directory lies in a .git, whose files make git run commands");
        refuses_cwd(both[k], "/dev", "the sandbox has a /proc and a /dev of its own");
        refuses_cwd(both[k], "/proc/self", "the sandbox has a /proc and a /dev of its own");
    }
}

TEST(a_directory_beneath_a_home_is_fine)
{
    struct invented i = invented(PROFILE_AGENT);
    i.host.cwd = "/home/ann/project";
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step(&i.plan, "home/ann/project")->flags, STEP_LISTED | STEP_MAKE);
    CHECK_INT(step_at(&i.plan, "home/ann"), -1);
    arena_free(&i.arena);
}

TEST(a_guard_is_the_hosts_tree_read_only_with_its_own_dev_and_masks)
{
    struct invented i = invented(PROFILE_TEST);
    static char runtime[] = "XDG_RUNTIME_DIR=/var//run-user/./1000";
    i.env[0] = runtime;
    bind_in(&i, &i.policy.rw, "/srv/project/tests", "/srv/project/tests");
    CHECK_INT(compile(&i), 0);
    CHECK_INT(i.plan.steps[0].kind, STEP_HOST_TREE);
    CHECK_INT(i.plan.steps[0].flags, STEP_RDONLY);
    CHECK_INT(step(&i.plan, "dev")->kind, STEP_TMPFS);
    CHECK_INT(step(&i.plan, "dev")->flags, STEP_RDONLY);
    static const char *const masks[] = {"run", "tmp/.X11-unix", "var/run-user/1000"};
    for (size_t k = 0; k < 3; k++) {
        CHECK_INT(step(&i.plan, masks[k])->kind, STEP_TMPFS);
        CHECK_INT(step(&i.plan, masks[k])->flags, STEP_RDONLY | STEP_OPTIONAL);
    }
    CHECK_INT(step_at(&i.plan, "tmp"), -1); /* read-only with the rest */
    CHECK_INT(step(&i.plan, "srv/project/tests")->flags, STEP_LISTED);
    CHECK((access_of(&i.plan, "/srv/project/tests") & any_write) == any_write);
    CHECK((access_of(&i.plan, "/srv/project") & any_write) == 0);
    CHECK((access_of(&i.plan, "/") & any_write) == 0);
    arena_free(&i.arena);
}

TEST(a_private_tmp_replaces_the_mask_of_x11_in_a_guard)
{
    struct invented i = invented(PROFILE_LIMITS);
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step(&i.plan, "tmp")->kind, STEP_TMPFS);
    CHECK_INT(step_at(&i.plan, "tmp/.X11-unix"), -1);
    CHECK_INT(step(&i.plan, "srv/project")->flags, STEP_LISTED);
    arena_free(&i.arena);
}

TEST(a_runtime_directory_beneath_run_is_masked_with_it)
{
    struct invented i = invented(PROFILE_TEST);
    static char runtime[] = "XDG_RUNTIME_DIR=/run/user/1000";
    i.env[0] = runtime;
    CHECK_INT(compile(&i), 0);
    CHECK_INT(step_at(&i.plan, "run/user/1000"), -1);
    arena_free(&i.arena);
}

TEST(what_a_bind_covers_is_no_ground_any_more)
{
    struct invented i = invented(PROFILE_TEST);
    static char runtime[] = "XDG_RUNTIME_DIR=/srv/mine/run";
    i.env[0] = runtime;
    bind_in(&i, &i.policy.rw, "/srv/mine", "/srv/mine");
    CHECK_INT(policy_add_name(&i.policy.protect, &i.arena, "run/a/hooks", NULL), 0);
    CHECK_INT(compile(&i), 0);
    /* Nothing is made in a tree of the host's, and what is above cannot be renamed. */
    CHECK_INT(step(&i.plan, "srv/mine/run/a/hooks")->flags, STEP_OPTIONAL | STEP_OWN | STEP_RDONLY);
    CHECK_INT(step(&i.plan, "srv/mine/run/a")->flags, STEP_OPTIONAL | STEP_OWN | STEP_KEEP);
    arena_free(&i.arena);
}

TEST(the_rules_grant_writing_only_where_the_policy_does)
{
    struct invented i = invented(PROFILE_STAGE);
    bind_in(&i, &i.policy.rw, "/srv/out", "/out");
    bind_in(&i, &i.policy.ro, "/srv/in", "/in");
    CHECK_INT(compile(&i), 0);
    CHECK_INT(access_of(&i.plan, "/"), LL_EXECUTE | LL_READ_FILE | LL_READ_DIR);
    CHECK_INT(access_of(&i.plan, "/in"), 0);
    CHECK((access_of(&i.plan, "/out") & any_write) == any_write);
    CHECK((access_of(&i.plan, "/tmp") & any_write) == any_write);
    CHECK_INT(access_of(&i.plan, "/dev/null"), LL_WRITE_FILE | LL_TRUNCATE);
    CHECK_INT(access_of(&i.plan, "/dev/urandom"), 0); /* the canary */
    for (size_t k = 0; k < i.plan.rule_count; k++)
        CHECK((i.plan.rules[k].access & (LL_MAKE_CHAR | LL_MAKE_BLOCK)) == 0);
    arena_free(&i.arena);
}

/* Pointers in the plan and memory for it grow with the binds, not with their square. */
static void many(size_t count, bool nested, size_t *steps, size_t *bytes)
{
    struct invented i = invented(PROFILE_STAGE);
    char path[64];
    if (nested)
        bind_in(&i, &i.policy.rw, "/srv", "/srv");
    for (size_t k = 0; k < count; k++) {
        snprintf(path, sizeof path, nested ? "/srv/a/b/c/%zu" : "/data/%zu", k);
        bind_in(&i, nested ? &i.policy.ro : &i.policy.rw, path, path);
    }
    const size_t before = i.arena.used;
    CHECK_INT(compile(&i), 0);
    *steps = i.plan.step_count;
    *bytes = i.arena.used - before;
    arena_free(&i.arena);
}

TEST(five_thousand_binds_take_steps_and_memory_in_proportion)
{
    for (int nested = 0; nested < 2; nested++) {
        size_t none, one, five, bytes_one, bytes_five, ignored;
        many(0, nested, &none, &ignored);
        many(1000, nested, &one, &bytes_one);
        many(5000, nested, &five, &bytes_five);
        const size_t pins = nested ? 3 : 0; /* the three directories, once each */
        CHECK_INT(one, none + 1000 + pins);
        CHECK_INT(five, none + 5000 + pins);
        CHECK(bytes_five < bytes_one * 8); /* arrays double */
    }
}
