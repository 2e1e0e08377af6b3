"""The sandbox's init holds what the payload must not have: its memory, environment, descriptors."""
import subprocess

from support import ENV, PYTHON, inside, marker, outside

CODE = """
r = {{}}
for name in ('environ', 'mem', 'maps', 'auxv', 'pagemap', 'syscall', 'stack', 'io', 'clear_refs'):
    r[name] = tried(lambda: open(f'/proc/{pid}/' + name, 'rb').read(1))
for name in ('fd', 'map_files', 'fdinfo', 'task/{pid}/fd'):
    r[name] = tried(lambda: os.listdir(f'/proc/{pid}/' + name))
for name in ('root', 'cwd', 'exe', 'ns/mnt', 'ns/net'):
    r[name] = tried(lambda: os.readlink(f'/proc/{pid}/' + name))
r['through root'] = tried(lambda: os.listdir('/proc/{pid}/root/'))
r['through cwd'] = tried(lambda: os.listdir('/proc/{pid}/cwd/'))
r['through fd 0'] = tried(lambda: open('/proc/{pid}/fd/0'))
r['through task'] = tried(lambda: open('/proc/{pid}/task/{pid}/environ'))
say(r)
"""


def test_proc_of_init():
    with subprocess.Popen([PYTHON, "-c", "import time; print(1, flush=True); time.sleep(60)"],
                          env=dict(ENV, SECRET="x"), stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        control = outside(CODE.format(pid=other.pid)).answer
        other.kill()
    for name in ("environ", "maps", "fd", "root", "cwd", "exe", "through root"):
        assert control[name] == "ok", f"the control: {name} of an own process is open outside"
    r = inside(CODE.format(pid=1)).answer
    for name, why in r.items():
        assert why in ("EACCES", "EPERM", "ENOENT"), name


def test_proc_of_init_with_everything_seccomp_does_off():
    """The layers do not lean on each other: without the filter the files stay closed."""
    r = inside(CODE.format(pid=1), "--seccomp", "off", "--allow-partial").answer
    for name in ("environ", "mem", "maps", "fd", "root", "exe", "through root", "through fd 0"):
        assert r[name] in ("EACCES", "EPERM"), name


def test_command_line_of_init_is_wiped(place):
    word = marker()
    r = inside("say([open('/proc/1/cmdline').read(), open('/proc/1/comm').read()])",
               "--setenv", f"SECRET={word}", "--result", place / word)
    assert word not in r.text


def test_what_may_be_read_of_init_tells_nothing_of_it():
    """Its parent has no number here, and nobody sees where its stack begins."""
    code = """
def look(pid):
    status = dict(l.split(':', 1) for l in open(f'/proc/{pid}/status'))
    stat = open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()
    return [int(status['PPid']), stat[25]]  # startstack
say([look(PID), look('self')[1] != '0'])
"""
    (parent, stack), own = outside(code.replace("PID", "os.getppid()")).answer
    assert parent > 0 and stack != "0" and own, "the control"
    assert inside(code.replace("PID", "1")).answer == [[0, "0"], True]
