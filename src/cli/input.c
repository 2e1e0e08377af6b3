#include "cli/input.h"

#include <cordon/call.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "module/answer.h"

#define CHUNK (64 * 1024)

int input_descriptor(const char *spec)
{
    uint64_t number = 0;
    if (!text_starts_with(spec, "fd:"))
        return -1;
    if (parse_u64(spec + 3, &number) < 0 || number > INT_MAX)
        return -2;
    return (int)number;
}

void input_claim(int number)
{
    if (number > STDERR_FILENO)
        fcntl(number, F_SETFD, FD_CLOEXEC);
}

static int fail(struct cordon_error *err, int errnum, const char *what, const char *spec)
{
    return err_set(err, CORDON_ERROR_POLICY, CORDON_LAYER_POLICY, errnum, what, spec);
}

/* One byte beyond `max` is enough to know that it is too long, also of an endless stream. */
static int read_all(int fd, const char *spec, struct buf *out, size_t max, const char *what,
                    struct cordon_error *err)
{
    char why[96];
    *out = BUF_INIT(max + 1);
    for (;;) {
        size_t room = max + 1 - out->len;
        if (room == 0) {
            int r = fail(err, EFBIG, what, spec);
            snprintf(why, sizeof why, "it is longer than %zu bytes", max);
            err_why(err, why);
            return r;
        }
        const size_t left = out->cap - out->len; /* to grow is to copy: the end is often all that is still to come */
        const size_t size = left > 0 ? left : CHUNK;
        const size_t some = size < room ? size : room;
        char *data = buf_reserve(out, some);
        if (data == NULL)
            return fail(err, ENOMEM, what, spec);
        ssize_t n = read(fd, data, some);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(err, errno, what, spec);
        if (n == 0)
            return 0;
        out->len += (size_t)n;
    }
}

int input_read(const char *spec, struct buf *out, size_t max, const char *what,
               struct cordon_error *err)
{
    int number = strcmp(spec, "-") == 0 ? STDIN_FILENO : input_descriptor(spec);
    if (number == -2) {
        int r = fail(err, EINVAL, what, spec);
        err_why(err, "not a descriptor");
        err_remedy(err, "write fd:3 for descriptor 3, or ./fd:x for a file of that name");
        return r;
    }
    input_claim(number);
    if (number >= 0)
        return read_all(number, spec, out, max, what, err);
    FD_AUTO fd = open(spec, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail(err, errno, what, spec);
    return read_all(fd, spec, out, max, what, err);
}

int input_read_module(struct buf *out, struct cordon_error *err)
{
    static const char what[] = "read input";
    char room[160];
    int r = read_all(STDIN_FILENO, "-", out, CORDON_CALL_INPUT_MAX, what, err);
    if (r < 0)
        return r;
    const char *wrong = module_input_wrong(out->data != NULL ? out->data : "", out->len, room, sizeof room);
    if (wrong == NULL)
        return 0;
    r = err_set(err, CORDON_ERROR_USAGE, CORDON_LAYER_MODULE, EINVAL, what, "-");
    err_why(err, wrong);
    return r;
}
