#!/usr/bin/python3
"""Ask for every capability, attack it from inside, compare what the ledger claims with what is seen.

    ledger.py [--cordon PROGRAM] [--prefix WORDS | --alone | --scope UID] [--only LIST] [--table] [DEMAND...]

A DEMAND is CAPABILITY=WORDS, CAPABILITY!=WORDS, CAPABILITY=no, or complete: everything is claimed.

Runs anywhere; tests/vm/check runs it on other kernels. A line for each capability, as JSON after
the word "ledger" or, with --table, for people: claimed, mechanism, seen. A claim that does not hold
is a failure; so is a mechanism or a missing claim other than the arguments demand, a doctor that says
other than a run, and a cgroup that is left behind. An attack that fails without a claim is no failure: the ledger may say less than is
true, never more.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
PYTHON = "/usr/bin/python3"
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"x86_64": {"shmget": 29, "mq_open": 240, "add_key": 248, "keyctl": 250, "unshare": 272,
                      "mount": 165, "bpf": 321, "perf_event_open": 298, "setns": 308,
                      "userfaultfd": 323, "io_uring_setup": 425, "mknodat": 259, "init_module": 175, "capget": 125},
           "aarch64": {"shmget": 194, "mq_open": 180, "add_key": 217, "keyctl": 219, "unshare": 97,
                       "mount": 40, "bpf": 280, "perf_event_open": 241, "setns": 268,
                       "userfaultfd": 282, "io_uring_setup": 425, "mknodat": 33, "init_module": 105, "capget": 90}
           }[os.uname().machine]

# Each run begins alone in a group beside ours.
ALONE = 'mkdir "$0.$$" && echo $$ > "$0.$$/cgroup.procs" && exec "$@"'

# The same as systemd does it for a user: the group is the user's, and what is above it is not.
SCOPE = ('mkdir "$0.$$" && cd "$0.$$" && chown "$1:$1" . cgroup.procs cgroup.subtree_control cgroup.threads && '
         'echo $$ > cgroup.procs && cd / && uid=$1 && shift && '
         'exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"')

# attack() notes what an attack reached; a probe that ended prints the notes, so that one that died
# on the way is told from one that found everything closed.
PRELUDE = f"""
import ctypes, errno, json, mmap, os, resource, signal, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
NR = {NUMBERS!r}
notes = []
def call(name, *args):
    number = NR[name] if isinstance(name, str) else name
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]) < 0:
        raise OSError(ctypes.get_errno(), str(name))
def attack(what, act, *args):
    try:
        if act(*args) is not False:
            notes.append(what)
    except OSError:
        pass
# Children are made before, since the watcher may also be the one who lets processes fork.
reader, writer = os.pipe()
def stop_the_watcher():
    attack('', os.kill, os.getppid(), signal.SIGSTOP)
"""
END = "\nprint(json.dumps(notes))\n"


class Broken(Exception):
    """What an attack reached."""


class Box:
    """How the command is called here, and what the host has that nobody inside may reach."""

    def __init__(self, command, place):
        self.command, self.place = command, place
        self.word = "m" + secrets.token_hex(12)
        self.fill()

    def fill(self):
        """The caller's files, as they are before an attack."""
        for name in ("ro", "rw", "hidden"):
            path = os.path.join(self.place, name)
            shutil.rmtree(path, ignore_errors=True)
            os.mkdir(path)
            os.chmod(path, 0o777)
            with open(os.path.join(path, "file"), "w") as file:
                file.write(self.word)
            os.chmod(os.path.join(path, "file"), 0o666)

    def run(self, program, *options, env=None):
        argv = [*self.command, "run", "--json", "--backend", "native", "--quiet", "--allow-partial", "--wall", "120s", "--cpu", "300s",
                "--grace", "500ms", *options, "--", PYTHON, "-c", PRELUDE + program]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise SystemExit(f"no result: {done.returncode}, {done.stderr.strip()}") from None

    def notes(self, program, *options, **kw):
        """A probe's notes; the run must have been an ordinary one."""
        result = self.run(program + END, *options, **kw)
        if result["status"] != "OK":
            raise SystemExit(f"the probe ended as {result['status']} {result['reason']}: "
                             f"{result['stderr'][-500:]}")
        return result, json.loads(result["stdout"].splitlines()[-1])

    def control(self, program, **kw):
        """The same probe outside: everything that it tries must succeed."""
        done = subprocess.run([PYTHON, "-c", PRELUDE + program + END], capture_output=True, text=True,
                              check=False, **kw)
        if done.returncode != 0:
            raise SystemExit(f"the control did not run: {done.stderr[-500:]}")
        return json.loads(done.stdout.splitlines()[-1])


def living(word):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if word.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
    return found


def gone(word):
    for _ in range(100):
        if not living(word):
            return
        time.sleep(0.05)
    rest = living(word)
    for pid in rest:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    raise Broken(f"{len(rest)} processes are alive")


def closed(notes):
    if notes:
        raise Broken("; ".join(notes))


# --- one attack for each capability ----------------------------------------------------------


def wall_time(box):
    """Deaf, in a session of its own, and its first act is to end what would end it."""
    result = box.run(f"""
word = {box.word!r}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
else:
    attack('', os.kill, os.getppid(), signal.SIGKILL)
while True: time.sleep(60)
""", "--wall", "3s")
    gone(box.word)
    if result["status"] != "TIMEOUT":
        raise Broken(result["status"])
    return result


def cpu_time(box):
    """Two that burn it, after an attempt to stop what counts."""
    result = box.run("""
for i in range(2):
    if os.fork() == 0:
        os.read(reader, 1)
        end = time.process_time() + 10
        while time.process_time() < end: pass
        os._exit(0)
stop_the_watcher()
os.write(writer, b'go')
time.sleep(90)
""", "--cpu", "1s", "--wall", "40s")
    if result["status"] != "CPU_LIMIT":
        raise Broken(result["status"])
    return result


HOG = """
for i in range(3):
    if os.fork() == 0:
        os.read(reader, 1)
        try:
            held = [bytearray(b'x') * (1 << 20) for _ in range(64)]
            print('had', len(held), flush=True)
        except MemoryError: pass
        time.sleep(%d)
        os._exit(0)
%s
os.write(writer, b'run')
for i in range(3): os.wait()
"""


def memory(box):
    """Three processes that each stay below the limit, after an attempt to stop what counts; beside them a
    run that has room enough."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        roomy = pool.submit(box.run, HOG % (2, ""), "--mem", "512M", "--wall", "40s")
        result = box.run(HOG % (60, "stop_the_watcher()"), "--mem", "64M", "--wall", "40s")
        roomy = roomy.result()
    if roomy["stdout"].count("had") != 3:
        raise SystemExit(f"with room enough: {roomy['status']} {roomy['stdout']!r}")
    if result["status"] != "MEM_LIMIT":
        raise Broken(f"{result['status']}: {result['stdout']!r}")
    return result


def pids(box):
    program = """
made = 0
for i in range(30):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
    except OSError: pass
for i in range(5):
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        made += 1
    except RuntimeError: pass
print(json.dumps(made), flush=True)
os._exit(0)
"""
    if int(box.run(program, "--pids", "64")["stdout"]) != 35:
        raise SystemExit("pids: with room enough not all could be made")
    result = box.run(program, "--pids", "8")
    if int(result["stdout"] or 99) > 7:
        raise Broken(f"{result['stdout'].strip()} beside the first, limit 8")
    return result


def open_files(box):
    result, notes = box.notes("""
had = []
try:
    while len(had) < 200: had.append(os.open('/dev/null', os.O_RDONLY))
except OSError: pass
if max(had) >= 32: notes.append(f'descriptor {max(had)}, limit 32')
def more():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try: attack('the limit was raised', more)
except ValueError: pass
""", "--nofile", "32")
    closed(notes)
    return result


def output(box):
    result = box.run("""
for fd in 1, 2:
    for i in range(64): os.write(fd, b'x' * 4096)
""", "--output", "4K")
    for name in ("stdout", "stderr"):
        if result[name].count("x") > 4096 or not result[name + "_truncated"]:
            raise Broken(f"{len(result[name])} bytes of {name}, limit 4096")
    return result


def filesystem(box):
    program = f"""
place = {box.place!r}
def write(path, flags=os.O_WRONLY):
    os.close(os.open(path, flags, 0o600))
attack('a hidden file can be read', lambda: open(place + '/hidden/file').read())
attack('a hidden file can be seen', os.stat, place + '/hidden/file')
attack('a hidden directory can be listed', os.listdir, place + '/hidden')
attack('a read-only file can be written', write, place + '/ro/file')
attack('a read-only file can be cut', os.truncate, place + '/ro/file', 1)
attack('a file can be made in a read-only directory', write, place + '/ro/new', os.O_CREAT | os.O_WRONLY)
attack('a mode can be changed', os.chmod, place + '/ro/file', 0o777)
attack('a time can be changed', os.utime, place + '/ro/file')
attack('a read-only file can be renamed', os.rename, place + '/ro/file', place + '/ro/other')
attack('a hidden directory by the root of another process', os.listdir, f'/proc/{{os.getppid()}}/root' + place + '/hidden')
"""
    control = box.control(program)
    if len(control) < 8:
        raise SystemExit(f"filesystem: outside only this could be done: {control}")
    box.fill()
    result, notes = box.notes(program, "--ro", box.place + "/ro", "--rw", box.place + "/rw")
    box.fill()
    closed(notes)
    return result


def network(box):
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.5)
        program = f"""
def tcp():
    socket.create_connection(('127.0.0.1', {tcp.getsockname()[1]}), 2).close()
def udp():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp.getsockname()[1]}))
def interface_up():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    import fcntl, struct
    up = []
    for index, name in socket.if_nameindex():
        flags = struct.unpack('16xh14x', fcntl.ioctl(s, 0x8913, struct.pack('16s16x', name.encode())))[0]
        if flags & 1: up.append(name)
    return bool(up)
attack('tcp to the host', tcp)
attack('udp to the host', udp)
attack('an interface is up', interface_up)
"""
        families = """
for family, kind, name in (40, 1, 'vsock'), (17, 3, 'packet'), (38, 5, 'alg'), (44, 3, 'xdp'), (2, 3, 'raw'):
    attack('a socket of ' + name, socket.socket, family, kind)
"""
        control = box.control(program)
        if len(control) < 3:
            raise SystemExit(f"network: outside only this could be done: {control}")
        with contextlib.suppress(OSError):
            while udp.recv(8):
                pass
        result, notes = box.notes(program + families)
        notes = [note for note in notes if not note.startswith("udp")]  # sent is not arrived
        try:
            udp.recv(8)
            notes.append("udp arrived at the host")
        except OSError:
            pass
        closed(notes)
        return result


def syscalls(box):
    """Calls that are large or dangerous parts of the kernel, and the two other doors to it."""
    stubs = """
def stub(code):
    # In a child: the answer may be a signal.
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes.fromhex(code))
    act = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    pid = os.fork()
    if pid == 0:
        os._exit(1 if act() > 0 else 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
attack('int 0x80', stub, '53b814000000cd805bc3')
attack('x32', stub, '5356b8270000400f055e5bc3')
""" if os.uname().machine == "x86_64" else ""
    result, notes = box.notes("""
for name, *args in (('unshare', 0x10000000), ('mount', 0, 0, 0, 0, 0),
                    ('bpf', 0, 0, 0), ('perf_event_open', 0, 0, -1, -1, 0), ('userfaultfd', 0),
                    ('io_uring_setup', 0, 0), ('init_module', 0, 0, 0), ('setns', -1, 0),
                    ('add_key', 0, 0, 0, 0, 0)):
    try:
        call(name, *args)
        notes.append(name)
    except OSError as error:
        # The filter's answers; any other says that the kernel looked at the arguments.
        if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EACCES): notes.append(f'{name}: {error.errno}')
if libc.prctl(21, 0, 0, 0, 0) != 2: notes.append('no filter')
""" + stubs)
    closed(notes)
    return result


def outer_uid(box):
    """The uid that the host sees. The process waits until somebody has looked."""
    word, path = box.word + "-waits", box.place + "/rw/go"
    argv = [*box.command, "run", "--backend", "native", "--quiet", "--allow-partial", "--wall", "100s", "--rw", box.place + "/rw",
            "--", PYTHON, "-c", f"import os, time\nprint('up', flush=True)\n"
            f"while not os.path.exists({path!r}): time.sleep(0.1)", word]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL) as waiting:
        waiting.stdout.readline()
        try:
            inner = [pid for pid in living(word) if pid != waiting.pid]
            if len(inner) != 1:
                raise SystemExit(f"privileges: these processes wait: {inner}")
            with open(f"/proc/{inner[0]}/status") as file:
                return int(next(line for line in file if line.startswith("Uid:")).split()[1])
        finally:
            with open(path, "w"):
                pass
            os.chmod(path, 0o644)


def privileges(box):
    result, notes = box.notes(f"""
held = (ctypes.c_uint32 * 6)()
call('capget', (ctypes.c_uint32 * 2)(0x20080522, 0), held)
if any(held): notes.append(f'capabilities {{list(held)}}')
if libc.prctl(39, 0, 0, 0, 0) != 1: notes.append('new privileges')
if os.getuid() != 0: attack('setuid', os.setuid, 0)
attack('setgroups', os.setgroups, [0])
attack('chroot', os.chroot, '/tmp')
attack('mknod', os.mknod, '/work/null', 0o020666, os.makedev(1, 3))
attack('hostname', socket.sethostname, 'x')
""")
    closed(notes)
    if outer_uid(box) == 0:
        raise Broken("root's own uid outside")
    return result


def environment(box):
    program = f"""
word = {box.word[:8]!r} + {box.word[8:]!r}
for name, value in os.environ.items():
    if word in value: notes.append('in the environment')
try: pids = [name for name in os.listdir('/proc') if name.isdigit()]
except PermissionError: pids = [os.getpid(), os.getppid(), 1]
for pid in pids:
    for name in 'environ', 'cmdline':
        try:
            with open(f'/proc/{{pid}}/{{name}}', 'rb') as file:
                if word.encode() in file.read(): notes.append('in ' + name)
        except OSError: pass
"""
    secret = {"SECRET_OF_THE_CALLER": box.word}
    if not box.control(program, env={**os.environ, **secret}):
        raise SystemExit("environment: the word was not seen outside")
    result, notes = box.notes(program, env=secret)
    closed(notes)
    return result


def processes(box):
    """Daemons that have left session, group and parent; the last act is to end what would end them."""
    result = box.run(f"""
word = {box.word!r}
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in 0, 1, 2:
                try: os.close(fd)
                except OSError: pass
            for number in range(1, 32):
                try: signal.signal(number, signal.SIG_IGN)
                except OSError: pass
            time.sleep(100)
        os._exit(0)
    os.wait()
daemon(); daemon()
attack('', os.kill, os.getppid(), signal.SIGKILL)
""")
    gone(box.word)
    return result


def ipc(box):
    key = secrets.randbelow(1 << 30) + 1
    shm = libc.shmget(key, 4096, 0o1666)
    name = "/" + box.word
    rt = libc if hasattr(libc, "mq_open") else ctypes.CDLL("librt.so.1", use_errno=True)
    queue = rt.mq_open(name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + box.word)
    abstract.listen()
    program = f"""
attack('System V memory', call, 'shmget', {key}, 0, 0)
attack('a queue', call, 'mq_open', {box.word!r}.encode(), 0, 0, 0)
attack('an abstract socket', lambda: socket.socket(socket.AF_UNIX).connect('\\0' + {box.word!r}))
"""
    keyring = """
attack('a key of the caller', call, 'keyctl', 10, -4, b'user', b'x', 0)
attack('the session keyring', call, 'add_key', b'user', b'x', b'y', 1, -3)
"""
    try:
        seen = box.control(program)
        if (shm >= 0) + (queue >= 0) + 1 != len(seen):
            raise SystemExit(f"ipc: outside only this was reached: {seen}")
        result, notes = box.notes(program + keyring)
        closed(notes)
        return result
    finally:
        libc.shmctl(shm, 0, None)
        rt.mq_unlink(name.encode())
        abstract.close()


def devices(box):
    result, notes = box.notes("""
import stat
allowed = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)}
for top, _, names in os.walk('/dev'):
    for name in names:
        path = os.path.join(top, name)
        try:
            seen = os.stat(path)
            number = os.major(seen.st_rdev), os.minor(seen.st_rdev)
            if stat.S_IFMT(seen.st_mode) not in (stat.S_IFCHR, stat.S_IFBLK): continue
            if number in allowed or 136 <= number[0] <= 143: continue
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            notes.append(path)
        except OSError: pass
for kind, number in (0o020666, os.makedev(1, 11)), (0o060666, os.makedev(254, 0)):
    for where in '/work', '/tmp', '/dev/shm', '/dev':
        attack('mknod in ' + where, call, 'mknodat', -100, (where + '/node').encode(), kind, number)
""")
    closed(notes)
    return result


ATTACKS = [wall_time, cpu_time, memory, pids, open_files, output, filesystem, network, syscalls,
           privileges, environment, processes, ipc, devices]


# --- the comparison --------------------------------------------------------------------------


def tried(box, attack):
    """What the attack saw."""
    try:
        attack(box)
        return "held"
    except Broken as broken:
        return str(broken)


def refused(box):
    """Without --allow-partial nothing may start where something that was asked for is missing."""
    done = subprocess.run([*box.command, "run", "--json", "--backend", "native", "--quiet", "--", "/bin/echo", "ran"],
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode == 125 and "ran" not in json.loads(done.stdout)["stdout"]


def demanded(words, entry):
    """Whether an argument's demand (CAPABILITY=WORDS, !=WORDS, =no) holds."""
    if words.startswith("!"):
        return entry["applied"] and words[1:] not in entry["mechanism"]
    if words == "no":
        return not entry["applied"]
    return entry["applied"] and words in entry["mechanism"]


def demands(arguments):
    wanted = {}
    for demand in arguments:
        name, words = demand.split("=", 1)
        wanted.setdefault(name.rstrip("!"), []).append(("!" if name.endswith("!") else "") + words)
    return wanted


def own_group():
    with open("/proc/self/cgroup") as file:
        return file.read()


def groups():
    """Those that ended runs of this user have left: the name holds the number of the supervisor."""
    found = set()
    for top, _, _ in os.walk("/sys/fs/cgroup"):
        words = os.path.basename(top).split(".")
        with contextlib.suppress(OSError):
            if words[0] == "cordon" and os.stat(top).st_uid == os.getuid() and \
                    not os.path.exists(f"/proc/{words[1]}"):
                found.add(top)
    return found


def gaps(box, ledger, complete):
    """Complaints about claims that are missing."""
    missing = [name for name, entry in ledger.items() if entry["requested"] is not None and not entry["applied"]]
    if missing and complete:
        yield f"not claimed: {', '.join(missing)}"
    if missing and not refused(box):
        yield f"it runs without {', '.join(missing)} although nobody allowed that"


def document(box, *words):
    done = subprocess.run([*box.command, *words], capture_output=True, text=True, timeout=240, check=False,
                          stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"no document: {done.returncode}, {done.stderr.strip()}") from None


def contradictions(box):
    """Complaints about what the doctor says of a run here, and a run does not."""
    doctor = document(box, "doctor", "--json")
    run = document(box, "run", "--json", "--quiet", "--allow-partial", "--", "true")
    for name, entry in run["enforced"].items():
        said = doctor["default"]["enforced"][name]
        if [said["applied"], said["mechanism"]] != [entry["applied"], entry["mechanism"]]:
            yield f"doctor says of {name}: {said}; a run: {entry}"
    for version in ("cgroup1", "cgroup2"):
        limits = [name for name in ("memory", "pids") if run["enforced"][name]["mechanism"] == version]
        if doctor[version]["available"] != bool(limits):
            yield f"doctor says of {version}: {doctor[version]}; a run has it for {limits}"


def leftovers(group, before):
    """Complaints about what all the runs have left."""
    if own_group() != group:
        yield f"the caller was in {group!r} and is now in {own_group()!r}"
    for _ in range(100):  # other people's runs may be ending
        rest = groups() - before
        if not rest:
            return
        time.sleep(0.05)
    yield f"left behind: {sorted(rest)}"


def compare(box, ledger, only, wanted):
    """An entry for each capability: claimed, and seen."""
    for attack in ATTACKS:
        name = attack.__name__
        if only is not None and name not in only.split(","):
            continue
        entry, seen = ledger[name], tried(box, attack)
        good = entry["requested"] is not None and (seen == "held" or not entry["applied"]) and \
            all(demanded(words, entry) for words in wanted.get(name, []))
        yield {"capability": name, "claimed": entry["applied"], "mechanism": entry["mechanism"],
               "seen": seen, "ok": good, "demanded": wanted.get(name, [])}


def show(found, table):
    if table:
        print(f"{'ok' if found['ok'] else 'NOT OK':6} {found['capability']:12} "
              f"{'yes' if found['claimed'] else 'no':4}{found['mechanism']:38} {found['seen']}", flush=True)
    else:
        print("ledger", json.dumps(found), flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demands", nargs="*", metavar="DEMAND")
    parser.add_argument("--cordon", default=os.path.join(HERE, "cordon"))
    parser.add_argument("--only", help="these capabilities, with commas")
    parser.add_argument("--prefix", default="", help="words before the command: tests/tools/deny")
    parser.add_argument("--alone", action="store_true", help="each run in a group of its own beside this one")
    parser.add_argument("--scope", metavar="UID", help="root only: each run alone in a group of this user's")
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    prefix = options.prefix.split()
    group, before = own_group(), groups()
    if options.alone or options.scope:
        beside = os.path.dirname("/sys/fs/cgroup" + group.split("::")[1].strip())
        prefix = ["sh", "-c", SCOPE, beside + "/scope", options.scope] if options.scope else \
            ["sh", "-c", ALONE, beside + "/alone"]
    place = tempfile.mkdtemp(prefix="ledger-")
    os.chmod(place, 0o755)
    complaints = []
    try:
        box = Box([*prefix, os.path.realpath(options.cordon)], place)
        ledger = box.run("", "--cpu", "60s", "--mem", "512M", "--pids", "32", "--nofile", "256",
                         "--output", "1M")["enforced"]
        complaints += gaps(box, ledger, "complete" in options.demands)
        wanted = demands(demand for demand in options.demands if demand != "complete")
        for found in compare(box, ledger, options.only, wanted):
            show(found, options.table)
            complaints += [] if found["ok"] else [found["capability"]]
        complaints += [] if options.prefix else contradictions(box)
        complaints += leftovers(group, before)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    for complaint in complaints:
        print(f"ledger.py: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
