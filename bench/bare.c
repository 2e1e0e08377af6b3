/*
 * The floor: the same namespaces, mounts, rules, limits and filter as a plan says, one after the
 * other, by one process that then becomes the command. No init, no supervisor, no streams, no
 * proofs, no result. A step that fails ends it.
 */
#include "bare.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layer/landlock.h"
#include "layer/seccomp.h"
#include "sys/mounting.h"
#include "sys/process.h"

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)

static void must(long r, const char *what)
{
    if (r >= 0)
        return;
    perror(what);
    _exit(99);
}

static void put(const char *path, int flags, unsigned mode, const char *text)
{
    int fd = open(path, flags | O_CLOEXEC, mode);
    must(fd, path);
    if (text != NULL)
        must(write(fd, text, strlen(text)), path);
    close(fd);
}

static void bind_tree(const struct plan_step *step)
{
    struct stat st;
    int tree = (int)syscall(SYS_open_tree, AT_FDCWD, step->source, OPEN_TREE_CLONE | O_CLOEXEC | AT_RECURSIVE);
    if (tree < 0 && (step->flags & STEP_OPTIONAL) != 0)
        return;
    must(tree, step->source);
    const struct sys_mount_attr attr = {.set = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, .propagation = MS_PRIVATE};
    must(sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr), "mount_setattr");
    must(fstat(tree, &st), step->source);
    if (S_ISDIR(st.st_mode))
        mkdir(step->target, 0755);
    else
        put(step->target, O_WRONLY | O_CREAT, 0444, NULL);
    must(sys_move_mount(tree, "", AT_FDCWD, step->target, MOVE_FROM_EMPTY), step->target);
    close(tree);
}

static void mount_proc(const struct plan_step *step)
{
    static const struct sys_mount_attr readonly = {.set = ATTR_RDONLY};
    must(mkdir(step->target, 0555), step->target);
    must(mount("proc", step->target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "proc");
    mount("/dev/null", "proc/keys", NULL, MS_BIND, NULL);
    mount("/dev/null", "proc/key-users", NULL, MS_BIND, NULL);
    put("proc/sys/user/max_user_namespaces", O_WRONLY, 0, "0");
    must(mount("proc/sys", "proc/sys", NULL, MS_BIND, NULL), "proc/sys");
    must(sys_mount_setattr(AT_FDCWD, "proc/sys", 0, &readonly), "proc/sys");
}

static void apply(const struct plan_step *step)
{
    char parent[256];
    switch (step->kind) {
    case STEP_TMPFS:
        must(mkdir(step->target, 0755), step->target);
        must(mount("tmpfs", step->target, "tmpfs", MS_NOSUID | MS_NODEV, step->source), step->target);
        break;
    case STEP_DIR: must(mkdir(step->target, step->mode), step->target); break;
    case STEP_LINK: must(symlink(step->source, step->target), step->target); break;
    case STEP_FILE: put(step->target, O_WRONLY | O_CREAT, 0444, step->source); break;
    case STEP_SPARSE: put(step->target, O_WRONLY | O_CREAT, 0444, NULL); break;
    case STEP_BIND:
        snprintf(parent, sizeof parent, "%s", step->target);
        if (strrchr(parent, '/') != NULL) {
            *strrchr(parent, '/') = '\0';
            mkdir(parent, 0755);
        }
        bind_tree(step);
        break;
    case STEP_DEVICE:
        put(step->target, O_WRONLY | O_CREAT, 0666, NULL);
        must(mount(step->source, step->target, NULL, MS_BIND, NULL), step->target);
        break;
    case STEP_DEVPTS:
        must(mkdir(step->target, 0755), step->target);
        must(mount("devpts", step->target, "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"),
             step->target);
        break;
    case STEP_PROC: mount_proc(step); break;
    case STEP_HOST_TREE: break;
    }
}

static void make_root(const struct plan *plan)
{
    static const struct sys_mount_attr readonly = {.set = ATTR_RDONLY};
    must(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m"), "tmpfs");
    must(chdir("/tmp"), "/tmp");
    for (size_t i = 1; i < plan->step_count; i++)
        apply(&plan->steps[i]);
    must(sys_mount_setattr(AT_FDCWD, ".", 0, &readonly), "seal");
    must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "detach");
}

static void drop_rights(const struct plan *plan)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        const struct rlimit limit = {plan->rlimits[i].soft, plan->rlimits[i].hard};
        must(setrlimit((__rlimit_resource_t)plan->rlimits[i].resource, &limit), "setrlimit");
    }
    syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
    for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++) {
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    must(sys_capset(&header, none), "capset");
}

_Noreturn static void child(const struct plan *plan)
{
    char map[64];
    const struct seccomp_choice choice = {.level = plan->seccomp, .on_forbidden = plan->on_forbidden, .deny_memfd = plan->deny_memfd};
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    setsid();
    put("/proc/self/setgroups", O_WRONLY, 0, "deny");
    snprintf(map, sizeof map, "%u %u 1\n", plan->uid_inside, plan->uid_host);
    put("/proc/self/uid_map", O_WRONLY, 0, map);
    snprintf(map, sizeof map, "%u %u 1\n", plan->gid_inside, plan->gid_host);
    put("/proc/self/gid_map", O_WRONLY, 0, map);
    must(sethostname("cordon", 6), "sethostname");
    make_root(plan);
    drop_rights(plan);
    int ruleset = layer_landlock_create(plan, NULL);
    must(ruleset, "landlock");
    must(layer_landlock_rules(plan, ruleset, NULL), "landlock");
    must(chdir(plan->cwd), plan->cwd);
    must(layer_landlock_enter(ruleset, NULL), "landlock");
    must(layer_seccomp_load(layer_seccomp_program(&choice)), "seccomp");
    execve(plan->candidates[0], plan->argv, plan->envp);
    _exit(98);
}

int bare_run(const struct plan *plan)
{
    siginfo_t info = {0};
    int pidfd = -1;
    long pid = sys_fork(NAMESPACES, &pidfd);
    if (pid == 0)
        child(plan);
    if (pid < 0 || sys_waitid(P_PIDFD, pidfd, &info, WEXITED | __WALL, NULL) < 0)
        return -1;
    close(pidfd);
    return info.si_code == CLD_EXITED && info.si_status == 0 ? 0 : -1;
}
