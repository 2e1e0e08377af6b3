#include "layer/bwrap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "layer/bind.h"
#include "layer/seccomp.h"
#include "sys/files.h"

#define ARGUMENTS_MAX (64u * 1024 * 1024)
#define ARGUMENTS_USUAL 4096 /* bwrap's exec waits for them */
#define PATH_SIZE 4096

/* Which of the descriptors it is. */
enum { ARGUMENTS, STATUS, FIRST_OTHER };

struct arguments {
    const struct layer_bwrap *self;
    const struct plan *plan;
    size_t next;     /* of the others, which come in the order of their arguments */
    struct buf text; /* words, a NUL behind each */
    struct buf last; /* what comes when everything stands */
    struct cordon_error *err;
};

static int fail(struct cordon_error *err, int errnum, const char *what)
{
    return err_set(err, CORDON_ERROR_SETUP, CORDON_LAYER_PROCESS, errnum, what, "bwrap");
}

static void put(struct buf *out, const char *word)
{
    buf_append(out, word, strlen(word) + 1);
}

static void put_number(struct buf *out, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    put(out, text);
}

/* A place inside: targets of a plan are relative to its root. */
static void put_target(struct buf *out, const char *target)
{
    buf_append(out, "/", 1);
    put(out, target);
}

static void put_descriptor(struct buf *out, size_t index)
{
    put_number(out, BWRAP_FIRST_FD + index);
}

/* To be read from their beginning. */
static int write_bytes(const struct arguments *a, size_t index, const void *data, size_t len)
{
    const int fd = a->self->fds[index];
    int r = fd_write_all(fd, data, len);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    return r < 0 ? fail(a->err, -r, "hand over bytes to") : 0;
}

/* Bytes behind the next descriptor, and its number as the last word of an option. */
static int give_bytes(struct arguments *a, const void *data, size_t len)
{
    put_descriptor(&a->text, a->next);
    return write_bytes(a, a->next++, data, len);
}

static void put_namespaces(struct arguments *a)
{
    const struct plan *plan = a->plan;
    put(&a->text, "--unshare-user");
    put(&a->text, "--unshare-pid");
    put(&a->text, "--unshare-uts");
    put(&a->text, "--unshare-cgroup-try");
    if (plan->ipcns)
        put(&a->text, "--unshare-ipc");
    if (plan->netns)
        put(&a->text, "--unshare-net");
    put(&a->text, "--uid");
    put_number(&a->text, plan->uid_inside);
    put(&a->text, "--gid");
    put_number(&a->text, plan->gid_inside);
    static const char *const always[] = {"--hostname", PLAN_HOSTNAME, "--die-with-parent", "--new-session", "--cap-drop", "ALL"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        put(&a->text, always[i]);
    put(&a->text, "--chdir");
    put(&a->text, plan->cwd);
}

static void put_environment(struct arguments *a)
{
    for (char *const *e = a->plan->envp; *e != NULL; e++) {
        const char *equals = strchr(*e, '=');
        put(&a->text, "--setenv");
        buf_append(&a->text, *e, (size_t)(equals - *e));
        put(&a->text, "");
        put(&a->text, equals + 1);
    }
}

/* What of the host's stands at a target, by the steps before `end`; false: something of our own. */
static bool host_path(const struct plan *plan, size_t end, const char *target, char out[PATH_SIZE])
{
    const size_t len = strlen(target);
    for (size_t i = end; i-- > 0;) {
        const struct plan_step *step = &plan->steps[i];
        const size_t n = strlen(step->target);
        if (n > len || memcmp(step->target, target, n) != 0 || (n > 0 && target[n] != '/' && target[n] != '\0') ||
            (step->flags & STEP_OWN) != 0)
            continue;
        if (step->kind == STEP_HOST_TREE)
            return snprintf(out, PATH_SIZE, "/%s", target) < PATH_SIZE;
        return step->kind == STEP_BIND && snprintf(out, PATH_SIZE, "%s%s", step->source, target + n) < PATH_SIZE;
    }
    return false;
}

static bool seals(const struct plan_step *step)
{
    return (step->flags & STEP_RDONLY) != 0;
}

static void put_dev(struct arguments *a)
{
    put(&a->text, "--dev");
    put(&a->text, "/dev");
    put(&a->last, "--remount-ro");
    put(&a->last, "/dev");
}

static void put_tmpfs(struct arguments *a, size_t index)
{
    const struct plan_step *step = &a->plan->steps[index];
    char host[PATH_SIZE];
    if (step->target[0] == '\0') {
        put(&a->last, "--remount-ro");
        put(&a->last, "/");
        return;
    }
    if (strcmp(step->target, "dev") == 0) {
        put_dev(a);
        return;
    }
    if ((step->flags & STEP_MAKE) == 0 && host_path(a->plan, index, step->target, host) &&
        access(host, F_OK) < 0)
        return; /* bwrap would make the mount point: nothing is ever made in the host's tree */
    const char *mode = strstr(step->source, "mode=");
    put(&a->text, "--perms");
    put(&a->text, mode == NULL ? "0755" : mode + 5);
    if (step->size > 0) {
        put(&a->text, "--size");
        put_number(&a->text, step->size);
    }
    put(&a->text, "--tmpfs");
    put_target(&a->text, step->target);
    if (seals(step)) {
        put(&a->last, "--remount-ro");
        put_target(&a->last, step->target);
    }
}

static int put_bind(struct arguments *a, size_t index)
{
    struct plan_step step = a->plan->steps[index];
    char host[PATH_SIZE];
    char under[PATH_SIZE];
    struct stat st = {0};
    bool skip = false;
    if ((step.flags & STEP_FD) != 0)
        return bind_refuse(a->err, -EOPNOTSUPP, "show", step.source, "bwrap takes no open directory", "--backend native");
    if ((step.flags & STEP_OWN) != 0) {
        if (!host_path(a->plan, index, step.target, host))
            return 0;
        step.source = host;
        step.flags = (step.flags & ~(unsigned)STEP_OWN) | STEP_LISTED;
    }
    int fd = bind_open(&step, &skip, &st, a->err);
    if (fd < 0 || skip)
        return fd < 0 ? fd : 0;
    fd_close(&fd);
    step.flags |= a->plan->steps[index].flags & STEP_OWN;
    if (!bind_settle(&step, &st))
        return 0;
    if ((step.flags & STEP_MAKE) == 0 && host_path(a->plan, index, step.target, under) && access(under, F_OK) < 0)
        return bind_refuse(a->err, -errno, "bind onto", bind_place(step.target).path, "it does not exist beneath another bind",
                           "nothing is ever created in your tree: create it there first");
    put(&a->text, seals(&step) ? "--ro-bind" : "--bind");
    put(&a->text, step.source);
    put_target(&a->text, step.target);
    return 0;
}

static int put_file(struct arguments *a, const struct plan_step *step)
{
    put(&a->text, "--perms");
    put(&a->text, "0444");
    put(&a->text, "--file");
    int r = give_bytes(a, step->source, strlen(step->source));
    put_target(&a->text, step->target);
    return r;
}

/* bwrap's own pid 1 has no filter and can be traced: its files are covered, and the gate does the rest. */
static void put_proc(struct arguments *a)
{
    static const char *const words[] = {"--proc",  "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--perms",
                                        "0555",    "--size", "4096",     "--tmpfs",   "/proc/1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        put(&a->text, words[i]);
}

static int put_step(struct arguments *a, size_t index)
{
    const struct plan_step *step = &a->plan->steps[index];
    switch (step->kind) {
    case STEP_TMPFS:
        put_tmpfs(a, index);
        return 0;
    case STEP_DIR: /* /dev is the only one */
        put_dev(a);
        return 0;
    case STEP_LINK:
        if (strncmp(step->target, "dev/", 4) == 0) /* bwrap's own --dev makes these */
            return 0;
        put(&a->text, "--symlink");
        put(&a->text, step->source);
        put_target(&a->text, step->target);
        return 0;
    case STEP_FILE:
        return put_file(a, step);
    case STEP_BIND:
        return put_bind(a, index);
    case STEP_PROC:
        put_proc(a);
        return 0;
    case STEP_HOST_TREE:
        put(&a->text, seals(step) ? "--ro-bind" : "--bind");
        put(&a->text, "/");
        put(&a->text, "/");
        return 0;
    default: /* device nodes and devpts: --dev makes them */
        return 0;
    }
}

static int put_filter(struct arguments *a)
{
    const struct sock_fprog *program = layer_seccomp_of_plan(a->plan);
    if (program == NULL)
        return 0;
    put(&a->text, "--seccomp");
    return give_bytes(a, program->filter, program->len * sizeof program->filter[0]);
}

static int put_all(struct arguments *a)
{
    put_namespaces(a);
    put_environment(a);
    put(&a->text, "--json-status-fd");
    put_descriptor(&a->text, STATUS);
    int r = put_filter(a);
    for (size_t i = 0; r == 0 && i < a->plan->step_count; i++)
        r = put_step(a, i);
    buf_append(&a->text, a->last.data, a->last.len);
    if (r == 0 && (a->text.failed || a->last.failed))
        r = fail(a->err, ENOMEM, "write the arguments of");
    return r;
}

/* bwrap --args 3 -- COMMAND... */
static int make_argv(struct layer_bwrap *self, const struct plan *plan)
{
    static char name[] = "bwrap";
    static char by[] = "--args";
    static char number[] = BWRAP_ARGS;
    static char end[] = "--";
    char *const own[] = {name, by, number, end};
    const size_t front = sizeof own / sizeof own[0];
    size_t count = 0;
    while (plan->argv[count] != NULL)
        count++;
    self->argv = arena_array(plan->arena, front + count + 1, sizeof *self->argv);
    if (self->argv == NULL)
        return -ENOMEM;
    memcpy(self->argv, own, sizeof own);
    memcpy(self->argv + front, plan->argv, count * sizeof *self->argv);
    return 0;
}

/* How many descriptors bwrap reads or writes, but for the standard ones. */
static size_t descriptors_of(const struct plan *plan)
{
    size_t count = FIRST_OTHER + (layer_seccomp_of_plan(plan) != NULL ? 1 : 0);
    for (size_t i = 0; i < plan->step_count; i++)
        count += plan->steps[i].kind == STEP_FILE ? 1 : 0;
    return count;
}

static int open_empty(int *out)
{
    int fd = fd_from_memory("", 0);
    *out = fd < 0 ? fd : fd_above_standard(fd);
    return *out < 0 ? *out : 0;
}

int layer_bwrap_open(struct layer_bwrap *self, const struct plan *plan, struct cordon_error *err)
{
    const size_t count = descriptors_of(plan);
    int r = count > BWRAP_MAX_FDS ? -EMFILE : open_empty(&self->messages);
    while (r == 0 && self->count < count) {
        r = open_empty(&self->fds[self->count]);
        self->count += r == 0 ? 1 : 0;
    }
    if (r == 0)
        r = make_argv(self, plan);
    return r < 0 ? fail(err, -r, "prepare") : 0;
}

int layer_bwrap_fill(const struct layer_bwrap *self, const struct plan *plan, struct cordon_error *err)
{
    char text[ARGUMENTS_USUAL];
    char last[ARGUMENTS_USUAL / 4];
    struct arguments a = {.self = self,
                          .plan = plan,
                          .next = FIRST_OTHER,
                          .text = BUF_IN(text, ARGUMENTS_MAX),
                          .last = BUF_IN(last, ARGUMENTS_MAX),
                          .err = err};
    int r = put_all(&a);
    if (r == 0)
        r = write_bytes(&a, ARGUMENTS, a.text.data, a.text.len);
    buf_free(&a.text);
    buf_free(&a.last);
    return r < 0 && err->kind == CORDON_ERROR_NONE ? fail(err, -r, "prepare") : r;
}

void layer_bwrap_release(struct layer_bwrap *self)
{
    for (size_t i = 0; i < self->count; i++)
        fd_close(&self->fds[i]);
    fd_close(&self->messages);
    self->count = 0;
}

void layer_bwrap_forget(const struct layer_bwrap *self)
{
    sys_close(self->fds[ARGUMENTS]);
    for (size_t i = FIRST_OTHER; i < self->count; i++)
        sys_close(self->fds[i]);
}

static long read_start(int fd, char *out, size_t size)
{
    long n = sys_call(SYS_pread64, fd, out, size - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    return n;
}

bool layer_bwrap_executed(const struct layer_bwrap *self)
{
    char text[1024];
    return self->count > STATUS && read_start(self->fds[STATUS], text, sizeof text) > 0 && strstr(text, "\"exit-code\"") != NULL;
}

void layer_bwrap_complaint(const struct layer_bwrap *self, char *out, size_t size)
{
    read_start(self->messages, out, size);
    out[strcspn(out, "\n")] = '\0';
}
