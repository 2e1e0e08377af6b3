#!/bin/sh
# make demo: a hostile script, first what it wants, then what it gets, then the verdict and the
# ledger. Everything it attacks is made for the purpose in a directory that is removed at the end.
#
#   tools/demo.sh CORDON
set -eu
cordon=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
stage=$(mktemp -d "${TMPDIR:-/tmp}/cordon-demo.XXXXXX")
chmod 755 "$stage"
server=
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    rm -rf "$stage"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

# A home with a secret, and a service on the host's loopback.
mkdir "$stage/home"
echo 'AKIA-this-is-the-secret' >"$stage/home/credentials"
chmod 755 "$stage/home"
/usr/bin/python3 - "$stage/port" <<'EOF' &
import socket, sys
s = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1] + ".new", "w").write(str(s.getsockname()[1]))
import os
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    s.accept()[0].close()
EOF
server=$!
while [ ! -s "$stage/port" ]; do sleep 0.02; done

cat >"$stage/hostile.py" <<'EOF'
"""What a tool that somebody's model wrote might do."""
import os, signal, socket, sys, time

home, port, sign = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def attempt(what, act):
    try:
        print(f"  {what:34}{act()}", flush=True)
    except OSError as e:
        print(f"  {what:34}no: {e.strerror}", flush=True)

def steal():
    return "STOLEN: " + open(home + "/credentials").read().strip()

def deface():
    open(home + "/.bashrc", "a").write("evil\n")
    return "WRITTEN"

def call():
    socket.create_connection(("127.0.0.1", port), 2).close()
    return "CONNECTED"

def token():
    if "API_TOKEN" in os.environ:
        return "STOLEN: " + os.environ["API_TOKEN"]
    open("/proc/1/environ").read()
    return "nothing in sight"

def bomb():
    pids = []
    try:
        while len(pids) < 100:
            pid = os.fork()
            if pid == 0:
                signal.pause()
            pids.append(pid)
        return "100 CHILDREN, and could go on"
    except OSError as e:
        return f"no more than {len(pids)} children: {e.strerror}"
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

def outlive():
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execvp("sh", ["sh", "-c", f"sleep 60; : {sign}"])
    return "left a daemon behind"

attempt("read ~/credentials", steal)
attempt("read the caller's API_TOKEN", token)
attempt("write ~/.bashrc", deface)
attempt("connect to a service of the host", call)
attempt("fork without end", bomb)
attempt("outlive its parent", outlive)
print("  ... and now it stays for ever", flush=True)
while True:
    time.sleep(0.01)
EOF

# The daemon that it leaves is known by this word in its command line.
sign="cordon-demo-$$"
survivors() {
    for dir in /proc/[0-9]*; do
        [ "$dir" != "/proc/$$" ] || continue
        # The shell itself complains about a process that has just ended.
        if { tr '\0' ' ' <"$dir/cmdline" | grep -q "sleep 60; : $sign"; } 2>/dev/null; then
            echo "${dir#/proc/}"
        fi
    done
}
hostile() {
    script=$1
    shift
    API_TOKEN=tok-1234567890 "$@" /usr/bin/python3 "$script" "$stage/home" \
        "$(cat "$stage/port")" "$sign"
}

echo '--- without a sandbox (ended after 2 s)'
hostile "$stage/hostile.py" timeout -s KILL 2 2>/dev/null || :
for pid in $(survivors); do
    echo "  still there afterwards:           pid $pid"
    kill -s KILL -- "-$pid" # it leads a group, with its sleep
done
rm -f "$stage/home/.bashrc"

echo
echo "--- cordon run --wall 2s --pids 16 --ro hostile.py:/hostile.py -- python3 /hostile.py"
status=0
hostile /hostile.py "$cordon" run --wall 2s --grace 200ms --pids 16 \
    --ro "$stage/hostile.py:/hostile.py" --result "$stage/result.json" -- || status=$?
left=$(survivors)
echo "  still there afterwards:           ${left:-nothing}"
if [ -e "$stage/home/.bashrc" ]; then echo '  ~/.bashrc WAS WRITTEN'; fi

echo
/usr/bin/python3 - "$stage/result.json" "$status" <<'EOF'
import json, shutil, sys, textwrap
doc = json.load(open(sys.argv[1]))
print(f"--- verdict: {doc['status']} (rc {doc['rc']}, exit status {sys.argv[2]}): {doc['reason']}")
print(f"    {doc['duration_ms']} ms, {doc['usage']['cpu_ms']} ms of cpu, "
      f"{doc['usage']['max_rss_bytes'] >> 20} MiB, {doc['usage']['processes']} processes ended\n")
width = shutil.get_terminal_size((100, 24)).columns
print(f"{'capability':12} {'holds':6} {'asked for':12} by")
for name, e in doc["enforced"].items():
    asked = json.dumps(e["requested"]).strip('"')
    print(f"{name:12} {'yes' if e['applied'] else 'NO':6} {asked:12} {e['mechanism']}")
    for line in textwrap.wrap(e["details"], max(40, width - 34)):
        print(f"{'':32} {line}")
EOF
