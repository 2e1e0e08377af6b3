#!/bin/sh
# Switches off each flag that holds the boundary, one at a time: some test must notice each.
# usage: mutation.sh GUARD_H DENY TEST...
guard_h=$1 deny=$2
shift 2
TMPDIR=$(mktemp -d) || exit 1
chmod 1777 "$TMPDIR" # tests change their user
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
guards=$(sed -n 's/^    X(\([a-z_]*\)).*/\1/p' "$guard_h")
for test in "$@"; do
    if ! "$test" >/dev/null 2>&1 || ! "$deny" ENOSYS openat2 -- "$test" >/dev/null 2>&1; then
        echo "Bail out! $test fails with every guard on"
        exit 1
    fi
done
echo "1..$(echo "$guards" | wc -l)"
n=0 failed=0
for guard in $guards; do
    n=$((n + 1)) red=
    case $guard in *xdev*) if [ "$(id -u)" != 0 ]; then
        echo "ok $n - $guard # SKIP needs root, who can mount"
        continue
    fi ;; esac
    for test in "$@"; do
        CORDON_ROOTED_GUARD_OFF=$guard "$test" >/dev/null 2>&1 || { red=$test; break; }
        CORDON_ROOTED_GUARD_OFF=$guard "$deny" ENOSYS openat2 -- "$test" >/dev/null 2>&1 ||
            { red=$test; break; }
    done
    if [ -n "$red" ]; then
        echo "ok $n - without $guard, $(basename "$red") fails"
    else
        echo "not ok $n - nothing notices that $guard is off"
        failed=1
    fi
done
exit $failed
