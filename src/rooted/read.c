/* readFile, readlink, realpath. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "rooted/descriptor.h"
#include "rooted/root.h"

void cordon_root_data_free(struct cordon_root_data *data)
{
    free(data->data);
    *data = (struct cordon_root_data){0};
}

/* Refuses a locked path, and locks it if asked to; one step, so that one of many readers wins. */
static int take_lock(const struct call *c, const struct target *t, uint64_t lock_ms)
{
    struct cordon_root *root = c->root;
    pthread_mutex_lock(&root->lock);
    if (lock_ms == 0 && root->locks.first == NULL) {
        pthread_mutex_unlock(&root->lock);
        return 0;
    }
    uint64_t now = lock_now_ms();
    bool held = lock_held(&root->locks, &t->mapped, now);
    int rc = !held && lock_ms > 0 ? lock_set(&root->locks, &t->mapped, now, lock_ms) : 0;
    pthread_mutex_unlock(&root->lock);
    if (held)
        return call_fail_code(c, t, "LOCK", 0, "", "path is locked - %s", t->request);
    return rc < 0 ? call_fail(c, t, "open", rc) : 0;
}

int cordon_root_read_file(struct cordon_root *root, const char *path, uint64_t lock_ms,
                          struct cordon_root_data *out, struct cordon_root_error *err)
{
    struct call c = call_begin(root, "readFile", err);
    TARGET_AUTO(t);
    FD_AUTO fd = -1;
    /* O_NONBLOCK: a FIFO without a writer must not hold us. */
    int rc = target_open_fd(&c, path, "open", O_RDONLY | O_NONBLOCK | O_NOCTTY, &t, &fd);
    if (rc == 0 && fd != RESOLVE_OUTSIDE)
        rc = take_lock(&c, &t, lock_ms); /* a path that is missing may be locked as well */
    if (rc < 0)
        return rc;
    if (fd < 0)
        return call_fail(&c, &t, "open", fd == -ENXIO ? -EINVAL : fd);
    rc = descriptor_read_small(fd, root->max_read_bytes, &out->data, &out->len);
    if (rc != 0)
        return rc < 0 ? call_fail(&c, &t, "open", rc) : 0;
    struct stat st;
    rc = descriptor_regular(fd, &st);
    if (rc == -EISDIR)
        return call_fail_code(&c, NULL, "EISDIR", EISDIR, "read",
                              "EISDIR: illegal operation on a directory, read");
    if (rc == 0)
        rc = descriptor_read(fd, &st, root->max_read_bytes, &out->data, &out->len);
    return rc < 0 ? call_fail(&c, &t, "open", rc) : 0;
}

int cordon_root_readlink(struct cordon_root *root, const char *path, struct cordon_root_data *out,
                         struct cordon_root_error *err)
{
    struct call c = call_begin(root, "readlink", err);
    TARGET_AUTO(t);
    PLACE_AUTO place = RESOLVE_PLACE_INIT;
    int rc = target_leaf(&c, path, "readlink", &t, &place);
    if (rc < 0)
        return rc;
    char text[PATH_MAX];
    ssize_t len = place.name[0] == '\0' ? (errno = EINVAL, -1)
                                        : readlinkat(place.dir, place.name, text, sizeof text);
    if (len < 0)
        return call_fail(&c, &t, "readlink", -errno);
    char *copy = malloc((size_t)len + 1);
    if (copy == NULL)
        return call_fail(&c, &t, "readlink", -ENOMEM);
    memcpy(copy, text, (size_t)len);
    copy[len] = '\0';
    *out = (struct cordon_root_data){.data = copy, .len = (size_t)len};
    return 0;
}

int cordon_root_realpath(struct cordon_root *root, const char *path, struct cordon_root_data *out,
                         struct cordon_root_error *err)
{
    struct call c = call_begin(root, "realpath", err);
    TARGET_AUTO(t);
    int rc = target_open(&c, path, "realpath", &t);
    if (rc < 0)
        return rc;
    char real[PATH_MAX];
    rc = resolve_real(&t.base, t.mapped.name, real);
    if (rc < 0)
        return call_fail(&c, &t, "realpath", rc);
    size_t len = path_in_style(NULL, 0, &root->rules, &t.mapped, real);
    char *text = malloc(len + 1);
    if (text == NULL)
        return call_fail(&c, &t, "realpath", -ENOMEM);
    path_in_style(text, len + 1, &root->rules, &t.mapped, real);
    *out = (struct cordon_root_data){.data = text, .len = len};
    return 0;
}
