"""A new user namespace gives every capability again, and with it the kernel's widest surface."""
from support import inside, outside

CODE = """
def by_fork(f):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(w, json.dumps(f()).encode()); os._exit(0)
    os.waitpid(pid, 0)
    return json.loads(os.read(r, 1000))
def clone(flags):
    pid = sc('clone', flags | 17, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if isinstance(pid, int): os.waitpid(pid, 0); return 'ok'
    return pid
def clone3(flags):
    pid = sc('clone3', struct.pack('<8Q', flags, 0, 0, 0, 17, 0, 0, 0), 64)
    if pid == 0: os._exit(0)
    if isinstance(pid, int): os.waitpid(pid, 0); return 'ok'
    return pid
USER, NS, NET, PID, IPC, UTS, CGROUP, TIME = (0x10000000, 0x20000, 0x40000000, 0x20000000,
    0x8000000, 0x4000000, 0x2000000, 0x80)
say({'unshare': by_fork(lambda: sc('unshare', USER)), 'clone': clone(USER), 'clone3': clone3(USER),
     'with others': by_fork(lambda: sc('unshare', USER | NS | NET)),
     'mount ns': by_fork(lambda: sc('unshare', NS)), 'net ns': by_fork(lambda: sc('unshare', NET)),
     'pid ns': by_fork(lambda: sc('unshare', PID)),
     'setns': by_fork(lambda: sc('setns', os.open('/proc/self/ns/user', os.O_RDONLY), 0))})
"""


def test_user_namespaces():
    control = outside(CODE).answer
    assert control["unshare"] == 0 and control["clone"] == "ok" and control["clone3"] == "ok", \
        control
    r = inside(CODE).answer
    assert r.pop("clone3") == "ENOSYS", "its flags are behind a pointer: it must not exist"
    assert set(r.values()) <= {"EPERM"}, r


def test_threads_without_clone3():
    """They are made by clone then."""
    assert inside("import threading; t = threading.Thread(target=say, args=(1,)); t.start(); "
                  "t.join()").answer == 1
