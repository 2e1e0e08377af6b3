"""Real programs inside the default profile."""
import shutil
import subprocess

import pytest

from support import ENV, PYTHON, cordon, run


def works(r, text):
    assert (r.doc["status"], r.doc["stdout"]) == ("OK", text), \
        f"{r.doc['reason']}\n{r.doc['stdout']}\n{r.doc['stderr']}"


def need(program):
    if shutil.which(program, path=ENV["PATH"]) is None:
        pytest.skip(f"{program} is not installed")


def test_python_threads_and_subprocesses():
    works(run("--", PYTHON, "-c", """
import subprocess, threading, concurrent.futures as cf
with cf.ThreadPoolExecutor(8) as pool:
    total = sum(pool.map(lambda n: n * n, range(100)))
out = subprocess.run(['sh', '-c', 'echo $((6 * 7))'], capture_output=True, text=True).stdout
print(total, out.strip())
"""), "328350 42\n")


def test_python_multiprocessing():
    works(run("--", PYTHON, "-c", """
import multiprocessing as mp
with mp.Pool(2) as pool: print(pool.map(abs, [-1, -2, -3]))
q = mp.Queue(); q.put('x'); print(q.get())
"""), "[1, 2, 3]\nx\n")


def test_python_tempfile_and_shutil():
    works(run("--", PYTHON, "-c", """
import tempfile, shutil, os
with tempfile.TemporaryDirectory() as d:
    open(d + '/a', 'w').write('x'); shutil.copytree(d, '/work/copy')
shutil.make_archive('/work/copy', 'gztar', '/work/copy')
print(sorted(os.listdir('/work')))
"""), "['copy', 'copy.tar.gz']\n")


def test_node():
    need("node")
    works(run("--mem", "1G", "--pids", "64", "--", "node", "-e",
              "const {execSync} = require('child_process');"
              "let s = 0; for (let i = 0; i < 5e6; i++) s += i % 7;"  # long enough for the JIT
              "require('fs').writeFileSync('/work/f', 'x');"
              "console.log(s, execSync('echo child').toString().trim())"), "14999995 child\n")


def test_node_in_the_default_profile():
    """A JIT and its worker threads with no option at all."""
    need("node")
    works(run("--", "node", "-e", "console.log([1, 2, 3].map((x) => x * 2).join())"), "2,4,6\n")


def test_node_worker_threads():
    need("node")
    works(run("--pids", "64", "--mem", "1G", "--", "node", "-e", """
const { Worker } = require('worker_threads');
new Worker("require('worker_threads').parentPort.postMessage(6*7)", {eval: true})
  .on('message', (m) => console.log(m));
"""), "42\n")


def test_gcc_compiles_and_runs():
    need("gcc")
    works(run("--", "sh", "-c", """
cat >a.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
static void *twice(void *n) { *(int *)n *= 2; return NULL; }
int main(void) { int n = 21; pthread_t t; pthread_create(&t, NULL, twice, &n);
                 pthread_join(t, NULL); printf("%d\\n", n); return 0; }
EOF
gcc -O2 -Wall -pthread a.c -o a && ./a
"""), "42\n")


def test_git_clone(place):
    repo = place / "repo"
    env = {**ENV, "HOME": str(place), "GIT_CONFIG_GLOBAL": "/dev/null"}
    ident = ["-c", "user.name=n", "-c", "user.email=e@x"]
    for args in (["init", "-q", str(repo)], ["-C", str(repo), *ident, "commit", "-q",
                                             "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *args], check=True, env=env)
    works(run("--ro", f"{repo}:/repo", "--", "sh", "-c",
              "git -c safe.directory='*' clone -q /repo/.git copy 2>&1 || "
              "git -c safe.directory='*' clone -q --no-local /repo copy; "
              "git -C copy log --format=%s && cd copy && echo x >f && git add f && "
              "git -c user.name=n -c user.email=e@x commit -qm second && git log --format=%s"),
          "first\nsecond\nfirst\n")


def test_make_in_parallel():
    works(run("--pids", "64", "--", "sh", "-c", r"""
printf 'all: a b c d\n\t@cat a b c d\n%%:\n\t@sleep 0.1; echo $@ > $@\n' >Makefile
make -s -j4
"""), "a\nb\nc\nd\n")


def test_sqlite():
    need("sqlite3")
    works(run("--", "sqlite3", "/work/t.db",
              "pragma journal_mode=wal; create table t(x); insert into t values (1), (2);"
              "select sum(x) from t;"), "wal\n3\n")


def test_python_sqlite_on_a_bind(place):
    works(run("--rw", f"{place}:/d", "--", PYTHON, "-c", """
import sqlite3
c = sqlite3.connect('/d/t.db'); c.execute('create table t(x)')
c.executemany('insert into t values (?)', [(1,), (2,)]); c.commit()
print(c.execute('select sum(x) from t').fetchone()[0])
"""), "3\n")
    assert (place / "t.db").stat().st_size > 0


def test_shell_pipelines():
    works(run("--", "sh", "-c", "seq 1000 | grep 7 | sort -rn | head -3 | tr '\\n' ' ' | "
              "sed 's/ $//' && { yes | head -c 5; } | wc -c"), "997 987 9795\n")


def test_shell_job_control_and_signals():
    works(run("--", "bash", "-c",
              "sleep 30 & p=$!; kill $p; wait $p; echo $?; trap 'echo got' USR1; kill -USR1 $$"),
          "143\ngot\n")


def test_archives_and_tools():
    works(run("--", "sh", "-c",
              "mkdir d && echo x >d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f && "
              "find . -type f | sort && cp -a d e && touch -d @0 e/f && stat -c %Y e/f && "
              "ln -s f d/l && ln d/f d/h && mkfifo p && chmod 600 p && stat -c %a p"),
          "x\n./d.tgz\n./d/f\n0\n600\n")


def test_perl_and_awk():
    works(run("--", "sh", "-c", "perl -e 'print 6*7, qq{\\n}' && awk 'BEGIN { print 6*7 }'"),
          "42\n42\n")


def test_clock_and_random():
    works(run("--", PYTHON, "-c", "import time, os, secrets, uuid; time.time(); "
              "time.clock_gettime(time.CLOCK_MONOTONIC); os.getrandom(8); uuid.uuid4(); "
              "print(len(secrets.token_bytes(8)))"), "8\n")


def test_large_output_passes_through():
    r = cordon("run", "--", "head", "-c", str(8 << 20), "/dev/zero")
    assert r.rc == 0 and len(r.out) == 8 << 20
