/*
 * The small files of a cgroup, by the descriptor of its directory. All return 0 or -errno; text
 * longer than CGROUP_FILE_SIZE - 1 is cut (the keys that are asked for come early).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_FILE_SIZE 4096

/* Directories that are made: cordon.PID.RANDOM for a sandbox, cordon.PID.self for the leaf into
 * which a supervisor steps aside. */
#define CGROUP_NAME_PREFIX "cordon."
#define CGROUP_LEAF_SUFFIX ".self"
#define CGROUP_DIR_MODE 0700 /* whoever can open a directory can lock it */

/* The length; `text` is terminated. */
ssize_t cgroup_read(int dir_fd, const char *name, char text[static CGROUP_FILE_SIZE]);
int cgroup_write(int dir_fd, const char *name, const char *text);
int cgroup_write_u64(int dir_fd, const char *name, uint64_t value);

/* Writes a number and reads the file back: what is in force is what the kernel says. */
int cgroup_exchange_u64(int dir_fd, const char *name, uint64_t value, uint64_t *in_force);

/* A file of one number; "max" is UINT64_MAX. */
int cgroup_read_u64(int dir_fd, const char *name, uint64_t *out);

/* The number after `key` in lines of "key number"; -ENODATA if there is no such line. */
int cgroup_read_key(int dir_fd, const char *name, const char *key, uint64_t *out);

/* Pure parts. */
int cgroup_number(const char *text, uint64_t *out); /* up to a blank or the end; "max" too */
int cgroup_find_key(const char *text, const char *key, uint64_t *out);
bool cgroup_has_word(const char *text, const char *word); /* words between blanks or newlines */
