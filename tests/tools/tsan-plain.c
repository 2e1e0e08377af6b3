/*
 * What ThreadSanitizer intercepts of <string.h>, without it: for what runs after clone(). Each name
 * after plain_ replaces its namesake there (tsan-test).
 */
#include <stddef.h>

void *plain_memcpy(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *plain_memmove(void *to, const void *from, size_t n)
{
    if ((char *)to <= (const char *)from)
        return plain_memcpy(to, from, n);
    while (n-- > 0)
        ((char *)to)[n] = ((const char *)from)[n];
    return to;
}

void *plain_memset(void *to, int byte, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((char *)to)[i] = (char)byte;
    return to;
}

int plain_memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a;
    const unsigned char *y = b;
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i])
            return x[i] - y[i];
    }
    return 0;
}

void *plain_memchr(const void *s, int c, size_t n)
{
    for (const char *p = s; n > 0; p++, n--) {
        if (*p == (char)c)
            return (char *)p;
    }
    return NULL;
}

size_t plain_strlen(const char *s)
{
    size_t n = 0;
    while (s[n] != '\0')
        n++;
    return n;
}

int plain_strncmp(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i] || a[i] == '\0')
            return (unsigned char)a[i] - (unsigned char)b[i];
    }
    return 0;
}

int plain_strcmp(const char *a, const char *b)
{
    return plain_strncmp(a, b, (size_t)-1);
}

char *plain_strchr(const char *s, int c)
{
    for (; *s != (char)c; s++) {
        if (*s == '\0')
            return NULL;
    }
    return (char *)s;
}

char *plain_strrchr(const char *s, int c)
{
    const char *last = NULL;
    for (; *s != '\0'; s++)
        last = *s == (char)c ? s : last;
    return (char *)(c == '\0' ? s : last);
}

size_t plain_strspn(const char *s, const char *of)
{
    size_t n = 0;
    while (s[n] != '\0' && plain_strchr(of, s[n]) != NULL)
        n++;
    return n;
}

size_t plain_strcspn(const char *s, const char *until)
{
    size_t n = 0;
    while (plain_strchr(until, s[n]) == NULL) /* also the end */
        n++;
    return n;
}

char *plain_strstr(const char *s, const char *part)
{
    const size_t len = plain_strlen(part);
    for (; plain_strncmp(s, part, len) != 0; s++) {
        if (*s == '\0')
            return NULL;
    }
    return (char *)s;
}
