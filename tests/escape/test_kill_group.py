"""kill(0) reaches the whole process group, kill(-1) everybody; the caller's own too."""
import json
import subprocess

from support import BIN, ENV, PRELUDE, PYTHON

# The leader of a fresh group: starts a bystander beside the program and says whether it lived.
GROUP = PRELUDE + """
import subprocess
signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # the leader itself stays
bystander = subprocess.Popen(['sleep', '60'], preexec_fn=lambda: signal.signal(signal.SIGUSR1, 0))
p = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
time.sleep(0.3)
lived = bystander.poll() is None
bystander.kill()
say([lived, p.returncode, p.stdout.decode()])
"""
ATTACK = PRELUDE + """
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
r = [tried(os.kill, 0, signal.SIGUSR1), tried(os.killpg, os.getpgid(0), signal.SIGUSR1)]
if sys.argv[1:]: r += [tried(os.kill, -1, signal.SIGUSR1)]
say(r)
"""


def group(argv):
    p = subprocess.run([PYTHON, "-c", GROUP, *argv], env=ENV, start_new_session=True,
                       stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60, check=True)
    return json.loads(p.stdout.splitlines()[-1])


def test_kill_group():
    lived, _, _ = group([PYTHON, "-c", ATTACK])
    assert lived is False, "the control: outside the bystander dies"
    lived, code, out = group([BIN, "run", "--", PYTHON, "-c", ATTACK, "all"])
    assert lived is True and code == 0, (code, out)
    assert "ok" in out, "the calls were made"
