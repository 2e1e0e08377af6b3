#!/bin/sh
# The check itself is checked: it passes on the sources, and refuses each of these lines.
# usage: check-paths.sh CHECK SOURCE_DIR
check=$1 dir=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=1 failed=0
say() { echo "$1 $n - $2"; n=$((n + 1)); [ "$1" = ok ] || failed=1; }
echo 1..7
if "$check" "$dir"; then say ok "the sources take no path"; else say "not ok" "the sources take a path"; fi
for line in 'int fd = open(p, 0);' '    if (stat(p, &st) < 0)' 'fd = openat(AT_FDCWD, p, 0);' \
            'x = realpath(p, NULL);' 'unlinkat(dir, "a/b", 0);'; do
    printf '%s\n' "$line" >"$work/x.c"
    if "$check" "$work" 2>/dev/null; then say "not ok" "lets through: $line"; else say ok "refuses: $line"; fi
done
printf '%s\n' '/* open(p) is not called */' 'openat(dir, name, 0); w->open(x); reopen(y);' >"$work/x.c"
if "$check" "$work"; then say ok "lets through what takes no path"; else say "not ok" "refuses too much"; fi
exit $failed
