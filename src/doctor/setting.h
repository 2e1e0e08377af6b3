/*
 * What explains a refusal: settings of the kernel, security modules, a container around us. Plain
 * data; read once, and tests invent their own. Nothing here decides whether something works.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SETTING_UNKNOWN (-1)

struct doctor_setting {
    uid_t uid;
    bool proc;                  /* /proc is a procfs that can be read */
    long userns_clone;          /* sysctls; SETTING_UNKNOWN: this kernel has none */
    long max_user_namespaces;
    long apparmor_restrict;
    char lsm[128];              /* "capability,landlock,apparmor"; empty: not known */
    char label[128];            /* of this process: "unconfined", "docker-default (enforce)" */
    long seccomp;               /* mode of this process; 2: somebody's filter is in force */
    uint64_t mapped_uids;       /* of the user namespace around us; a host's own has all of them */
    uint64_t bounding;          /* capabilities that this process can ever have */
    bool chroot;
    char container[32];         /* "docker", "podman", "systemd-nspawn", ...; empty: none seen */
    char masked[256];           /* what is mounted over parts of /proc, by blanks */
    bool systemd;               /* it is the init system here */
    bool in_a_run;              /* this is inside a sandbox of our own */
};

void doctor_setting_read(struct doctor_setting *out);

/* For doctor_setting_read(), and tests: the mount table of a process. */
void doctor_setting_mounts(struct doctor_setting *out, const char *mountinfo);

struct doctor_cause {
    char reason[320];
    char remedy[320]; /* a command; empty: none is known */
};

/* What was tried, in which step it failed, and by which errno or signal. */
struct attempt;
enum doctor_about {
    ABOUT_USERNS,    /* making a user namespace and getting rights in it */
    ABOUT_NAMESPACE, /* another namespace inside; `name`: "mnt", as in user.max_mnt_namespaces */
    ABOUT_MOUNT,     /* mounting inside; `name`: what */
    ABOUT_CALL,      /* a system call; `name`: "openat2", `since`: "5.6" */
};

struct doctor_question {
    enum doctor_about about;
    const char *name;
    const char *since; /* the kernel that brought it; NULL: older than all that matter */
};

/* Pure. */
void doctor_explain(struct doctor_cause *out, const struct doctor_setting *setting,
                    const struct doctor_question *question, const struct attempt *attempt);
