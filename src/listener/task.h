/*
 * A look into a task inside, by its number outside: its memory, its directories, who it is. All of it
 * is a snapshot, to be trusted only when the call that it waits in is still there afterwards. Raw calls
 * only, no allocation.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_NAME_SIZE 64 /* a command's name, escaped by the kernel */

/* The string at `address`: its length, or -errno; -ENAMETOOLONG if it does not end within `room`. */
int task_string(uint32_t task, uint64_t address, char *out, size_t room);
/* Exactly `size` bytes; 0 or -errno. */
int task_bytes(uint32_t task, uint64_t address, void *out, size_t size);

/* Where /proc/TASK/`name` leads, as an O_PATH descriptor. */
int task_open(uint32_t task, const char *name);
/*
 * Where descriptor `fd` of the task's leads, as text (`out` has PATH_MAX bytes) or as an O_PATH descriptor;
 * AT_FDCWD: the directory that the task stands in.
 */
int task_fd_link(uint32_t task, int fd, char *out);
int task_fd_open(uint32_t task, int fd);
/* It was opened with O_PATH. */
bool task_fd_is_path(uint32_t task, int fd);

struct task_facts {
    uint32_t process, parent; /* numbers outside */
    int pid, tid;             /* of the process and of the thread, inside */
    unsigned umask;
    char comm[TASK_NAME_SIZE]; /* of the process, not of the thread */
};
int task_facts(uint32_t task, struct task_facts *out);

/* Where one of our own descriptors leads; `out` has PATH_MAX bytes. */
int task_own_link(int fd, char *out);
