"""A payload prints a perfect result of its own, on every stream and descriptor."""
import json

from support import cordon, inside, run


def test_fake_result():
    fake = run("--", "true").doc
    fake["status"], fake["stdout"] = "OK", "I did nothing wrong"
    text = json.dumps(fake)
    r = run("--", "sh", "-c", 'printf "%s\n" "$1"; printf "%s\n" "$1" >&2; exit 9', "-", text)
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (9, "NONZERO_EXIT", 9)
    assert json.loads(r.doc["stdout"])["stdout"] == "I did nothing wrong"


def test_fake_result_beside_the_real_file(place):
    r = cordon("run", "--result", place / "r", "--", "sh", "-c",
               "echo '{\"status\": \"OK\"}'; exit 9")
    assert r.rc == 9
    assert json.loads((place / "r").read_text())["status"] == "NONZERO_EXIT"


def test_no_descriptor_leads_to_the_result(place):
    with open(place / "r", "w+b") as f:
        code = f"say([tried(os.write, fd, b'fake') for fd in range(3, 64)] + " \
               f"[tried(os.write, {f.fileno()}, b'x')])"
        r = inside(code, "--result", f"fd:{f.fileno()}", pass_fds=[f.fileno()])
        f.seek(0)
        doc = json.loads(f.read())
    assert set(r.answer) == {"EBADF"}
    assert doc["status"] == "OK"


def test_no_descriptor_leads_to_the_policy(place):
    (place / "p").write_text('{"version": 1, "env": {"set": {"A": "secret"}, "allow": ["PATH"]}}')
    with open(place / "p", "rb") as f:
        r = inside(f"say(tried(os.read, {f.fileno()}, 10))", "--policy", f"fd:{f.fileno()}",
                   pass_fds=[f.fileno()])
    assert r.answer == "EBADF"
