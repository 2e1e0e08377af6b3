#include "base/parse.h"

#include <errno.h>
#include <string.h>

/* Reads digits at *s and moves it behind them. */
static int digits(const char **s, uint64_t *out)
{
    const char *p = *s;
    uint64_t value = 0;
    if (*p < '0' || *p > '9')
        return -EINVAL;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return -ERANGE;
    }
    *s = p;
    *out = value;
    return 0;
}

/* UINT64_MAX itself is taken: it means "no limit". */
static int scaled(uint64_t value, uint64_t unit, uint64_t *out)
{
    uint64_t product;
    if (__builtin_mul_overflow(value, unit, &product) || product == PARSE_UNLIMITED)
        return -ERANGE;
    *out = product;
    return 0;
}

int parse_u64(const char *s, uint64_t *out)
{
    uint64_t value = 0;
    int r = digits(&s, &value);
    if (r < 0)
        return r;
    if (*s != '\0')
        return -EINVAL;
    return scaled(value, 1, out);
}

int parse_duration_ms(const char *s, uint64_t *out)
{
    static const struct {
        const char *suffix;
        uint64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}};
    uint64_t whole = 0;
    uint64_t thousandths = 0;
    bool nothing = true; /* no digit but zeros */

    int r = digits(&s, &whole);
    if (r < 0)
        return r;
    if (*s == '.') {
        uint64_t place = 100;
        s++;
        if (*s < '0' || *s > '9')
            return -EINVAL;
        for (; *s >= '0' && *s <= '9'; s++, place /= 10) {
            thousandths += (uint64_t)(*s - '0') * place;
            nothing = nothing && *s == '0';
        }
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(s, units[i].suffix) != 0)
            continue;
        uint64_t ms = 0;
        r = scaled(whole, units[i].ms, &ms);
        if (r < 0)
            return r;
        uint64_t part = thousandths * units[i].ms / 1000;
        if (__builtin_add_overflow(ms, part, &ms))
            return -ERANGE;
        /* "0.1ms" would silently become "default"; refuse what rounds to nothing. */
        if (ms == 0 && (whole != 0 || !nothing))
            return -EINVAL;
        return scaled(ms, 1, out);
    }
    return -EINVAL;
}

int parse_size(const char *s, uint64_t *out)
{
    static const char suffixes[] = "KMG";
    uint64_t value = 0;
    uint64_t unit = 1;

    int r = digits(&s, &value);
    if (r < 0)
        return r;
    if (*s != '\0') {
        const char *found = strchr(suffixes, *s);
        if (found == NULL || s[1] != '\0')
            return -EINVAL;
        unit = UINT64_C(1) << (10 * (found - suffixes + 1));
    }
    return scaled(value, unit, out);
}
