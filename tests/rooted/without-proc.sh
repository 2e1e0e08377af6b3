#!/bin/sh
# Runs a test program in a mount namespace in which /proc is not mounted.
map=
[ "$(id -u)" = 0 ] || map=--map-root-user
if ! unshare $map --mount true 2>/dev/null; then
    echo '1..0 # SKIP no mount namespace can be made here'
    exit 0
fi
exec unshare $map --mount sh -c '
    mount --make-rprivate / && { umount -l /proc 2>/dev/null || mount -t tmpfs none /proc; } &&
    [ ! -e /proc/self ] || { echo "Bail out! /proc is still there"; exit 1; }
    exec "$@"' sh "$@"
