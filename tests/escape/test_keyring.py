"""A key in the caller's session or user keyring is read by the payload."""
import json
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, marker

FIND = """
name = {name!r}.encode()
r = {{}}
buf = ctypes.create_string_buffer(100)
for where, ring in (('session', -3), ('user', -4), ('process', -2), ('user session', -5)):
    key = sc('keyctl', 10, ring, b'user', name, 0)
    if isinstance(key, int):
        n = sc('keyctl', 11, key, buf, 100)
        key = buf.raw[:n].decode() if isinstance(n, int) else n
    r[where] = key
r['join'] = sc('keyctl', 1, 0)
r['add'] = sc('add_key', b'user', b'x', b'y', 1, -3)
say(r)
"""
# Puts the key into a fresh session keyring and into the user keyring, then runs the rest.
WITH_KEY = PRELUDE + """
name = sys.argv[1].encode()
ring = sc('keyctl', 1, 0)
if ring == 'ENOSYS': sys.exit(77)
assert isinstance(ring, int), ring
assert isinstance(sc('add_key', b'user', name, b'secret', 6, -3), int)
key = sc('add_key', b'user', name, b'secret', 6, -4)
import subprocess
p = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE)
if isinstance(key, int): sc('keyctl', 9, key, -4)
sys.stdout.write(p.stdout.decode())
"""


def with_key(name, argv):
    p = subprocess.run([PYTHON, "-c", WITH_KEY, name, *argv], env=ENV, stdout=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, check=False, timeout=60)
    if p.returncode == 77:
        pytest.skip("this kernel has no keyrings")
    assert p.returncode == 0
    return p.stdout.decode()


def test_keyring():
    name = marker()
    code = PRELUDE + FIND.format(name=name)
    control = json.loads(with_key(name, [PYTHON, "-c", code]).splitlines()[-1])
    assert control["session"] == "secret", control
    doc = json.loads(with_key(name, [BIN, "run", "--json", "--", PYTHON, "-c", code]))
    assert doc["status"] == "OK", doc
    for where, what in json.loads(doc["stdout"].splitlines()[-1]).items():
        assert what in ("EPERM", "ENOSYS", "ENOKEY", "EACCES"), where


def test_keyring_is_fresh_even_without_the_filter():
    name = marker()
    code = PRELUDE + FIND.format(name=name)
    doc = json.loads(with_key(name, [BIN, "run", "--json", "--seccomp", "off", "--allow-partial",
                                     "--", PYTHON, "-c", code]))
    r = json.loads(doc["stdout"].splitlines()[-1])
    assert r["session"] in ("ENOKEY", "EACCES", "EPERM"), r
