"""With --seccomp off the ledger may claim only what the other layers hold."""
import os

import pytest

from support import ROOT, inside, outside

OFF = ["--seccomp", "off", "--net", "host", "--mem", "none", "--allow-partial"]
NAMESPACE = """
r = sc('unshare', 0x10000000)
caps = [l for l in open('/proc/self/status') if l.startswith('CapEff')][0].split()[1]
say([r, int(caps, 16) != 0])
"""
KEYS = """
import re
def ring_of(text):
    return int(re.search(r'^(\\w+) .*_uid\\.%d:' % {uid}, text, re.M).group(1), 16)
try:
    ring = ring_of(open('/proc/keys').read())
    key = int(re.search(r'^(\\w+) .*{word}', open('/proc/keys').read(), re.M).group(1), 16)
except AttributeError:
    say('not listed')
    sys.exit()
sc('keyctl', 8, ring, -3)
room = ctypes.create_string_buffer(64)
n = sc('keyctl', 11, key, room, 64)
say(room.value.decode() if isinstance(n, int) else n)
"""


def test_nested_user_namespace():
    assert outside(NAMESPACE).answer == [0, True]
    r = inside(NAMESPACE, *OFF)
    held = r.answer == ["ENOSPC", False] or r.answer == ["EPERM", False]
    assert held or not r.doc["enforced"]["privileges"]["applied"], r.answer


@pytest.fixture
def key():
    word = "cordon-test-key"
    code = f"say(sc('add_key', b'user', b'{word}', b'precious', 8, -4))"
    number = outside(code).answer
    if not isinstance(number, int):
        pytest.skip(f"this kernel gives no keys: {number}")
    yield word
    outside(f"sc('keyctl', 21, {number}); say(0)")


def test_keys_of_the_caller(key):
    if ROOT:
        pytest.skip("root's sandbox has a host uid of its own, to which no key belongs")
    code = KEYS.format(uid=os.getuid(), word=key)
    assert outside(code).answer == "precious", "the control"
    r = inside(code, *OFF)
    assert r.answer != "precious" or not r.doc["enforced"]["ipc"]["applied"]


def test_names_of_the_caller_s_keys(key):
    if ROOT:
        pytest.skip("root's sandbox has a host uid of its own, to which no key belongs")
    code = "print(open('/proc/keys').read() if os.path.exists('/proc/keys') else '')"
    assert key in outside(code).text, "the control"
    assert key not in inside(code).text
