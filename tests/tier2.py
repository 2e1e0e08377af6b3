"""The tier without user namespaces: what its tests share.

The host refuses for real: tests/tools/refuse stands before the release program and answers as the
filters of containers do. All of it as an ordinary user; where the suite runs as root it becomes one.
An attack first succeeds outside, by the same user.
"""
import json
import os
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, ROOT, Run, check_document

UID = 61234
USER = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"] if ROOT else []
PARTIAL = ["--allow-partial", "--quiet"]


@pytest.fixture
def mine(place):
    """A directory that belongs to the user of these tests."""
    path = place / "mine"
    path.mkdir()
    if ROOT:
        os.chown(path, UID, UID)
    return path


def own(path, text="secret"):
    path.write_text(text)
    if ROOT:
        os.chown(path, UID, UID)
    return path


def cordon(prefix, *args, binary=BIN, env=None, stdin=b"", wrap=(), **kw):
    argv = [*USER, *prefix, *wrap, binary, "run", "--backend", "native", "--json", *map(str, args)]
    p = subprocess.run(argv, env={**ENV, **(env or {})}, input=stdin, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60, check=False, **kw)
    r = Run(argv, p.returncode, p.stdout, p.stderr, None, 0.0)
    r.doc = json.loads(p.stdout)
    check_document(r.doc)
    return r


@pytest.fixture
def refusing(refuse):
    """Runs cordon on a host that refuses user namespaces."""
    return lambda *args, **kw: cordon([refuse, "newuser=EPERM", "--"], *args, **kw)


@pytest.fixture
def inside(refusing):
    def call(code, *options, status="OK", **kw):
        r = refusing(*PARTIAL, *options, "--", PYTHON, "-c", PRELUDE + code, **kw)
        assert r.doc["status"] == status, r.told()
        return r
    return call


def outside(code):
    p = subprocess.run([*USER, PYTHON, "-c", PRELUDE + code], env=ENV, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60, check=False)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout.strip().splitlines()[-1])


def applied(r, *names):
    for name in names:
        assert r.doc["enforced"][name]["applied"] is True, (name, r.doc["enforced"][name])


def missing(r, *names):
    for name in names:
        entry = r.doc["enforced"][name]
        assert entry["requested"] is not None and entry["applied"] is False, (name, entry)


FORKS = """
r, w = os.pipe()
count = 0
try:
    while count < 100:
        if os.fork() == 0: os.read(r, 1); os._exit(0)
        count += 1
except OSError as e: say([count, errno.errorcode[e.errno]])
else: say([count, 'ok'])
os.close(w)
"""
