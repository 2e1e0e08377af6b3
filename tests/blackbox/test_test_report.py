"""`cordon test`: what is said of a violation (T9, T10), on the terminal and on the page."""
import html.parser
import json
import re
import shutil
import subprocess

import pytest

import support
from guarded import FIX, PYTEST, document, python, run_test, unchanged


# --- the words -------------------------------------------------------------------------------------


def test_t9_and_t10_the_words(project):
    act = "import contextlib\nwith contextlib.suppress(OSError):\n    open('config.toml', 'w')"
    r = run_test(project, *python(act), code=1)  # it hid the error
    text = r.err.decode()
    assert re.search(rf"^TEST_SANDBOX_VIOLATION: attempted to write to {project}/config\.toml "
                     r"\(open for writing, pid \d+ python3\)$", text, re.M), text
    assert (f"  fix: {FIX}, or in a directory that \"writable\" in cordon.json names; "
            "what a tool makes: its name in \"caches\"\n") in text
    assert text.count("TEST_SANDBOX_VIOLATION") == 1
    r = run_test(project, *python("open('src/out.txt', 'w')"), code=1)
    assert f'{FIX}, or add "src" to "writable" in cordon.json' in r.err.decode()
    for place in (".git", "src/vendored/.git"):
        (project / place).mkdir(parents=True, exist_ok=True)
        r = run_test(project, *python(f"open('{place}/index.lock', 'w')"), code=1)
        assert f"{FIX}, for example in a clone that the test makes there\n" in r.err.decode()
    r = run_test(project, *python("open('/tmp/x-of-mine', 'w')"), code=1)
    assert f"{FIX}, or allow its directory with --rw DIR" in r.err.decode()


def test_one_block_a_path_with_all_its_calls(project):
    act = ("import contextlib, os\nfor i in range(7):\n"
           "    for f in (lambda: open('config.toml', 'w'), lambda: os.unlink('config.toml')):\n"
           "        with contextlib.suppress(OSError): f()\n")
    r = run_test(project, *python(act), code=1)
    assert r.err.count(b"TEST_SANDBOX_VIOLATION") == 1
    assert b"14 times in all" in r.err
    assert b"cordon: 14 refused writes to 1 path\n" in r.err


def test_fifty_paths_are_named_and_the_rest_is_counted(project):
    act = "import contextlib, os\nfor i in range(57):\n    with contextlib.suppress(OSError): os.mkdir(f'd{i}')\n"
    r = run_test(project, *python(act), code=1)
    assert r.err.count(b"attempted to write to") == 50
    assert b"TEST_SANDBOX_VIOLATION: 7 more paths; --result FILE and --report FILE.html name them\n" in r.err
    assert len(document(project, *python(act), code=1).doc["violations"]) == 57


def test_on_violation_report(project):
    act = "try: open('config.toml', 'w')\nexcept OSError: pass"
    with unchanged(project):
        r = document(project, "--on-violation", "report", *python(act), code=0)
    assert r.doc["status"] == "OK" and len(r.doc["violations"]) == 1
    assert b"TEST_SANDBOX_VIOLATION" in r.err
    assert run_test(project, "--on-violation", "fail", *python(act)).rc == 1
    assert run_test(project, "--on-violation", "never", *python(act)).rc == 2


def test_hostile_names_are_escaped(project):
    act = "import os\ntry: os.mkdir('a\\x1b[31m\\nb')\nexcept OSError: pass"
    r = run_test(project, *python(act), code=1)
    assert b"\033" not in r.err and b"a\\x1b[31m\\nb" in r.err


def test_names_of_a_strangers_project_are_escaped(project):
    """A look at what would run must not be drawn over by what would run."""
    (project / "cordon.json").write_text(json.dumps(
        {"test": {"writable": ["un\x1b[31mit"], "command": ["sh", "-c", "echo >config.toml; : \x1b[2K\r"]}}))
    r = run_test(project, "--dry-run", code=0)
    assert b"\033" not in r.out + r.err and b"\r" not in r.out and b"un\\x1b[31mit/artifacts" in r.out, r.told()
    r = run_test(project, code=1)
    assert b"\033" not in r.err and b"write under un\\x1b[31mit/ " in r.err and b"cordon: kept /" in r.err, r.told()


# --- the page --------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Collects tags, attributes and text; a tag that is not closed is an error."""

    VOID = {"meta", "br", "link", "img", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows, self.text = [], [], {}, ""
        self.table = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.table = dict(attrs)["id"]
            self.rows[self.table] = []
        if tag == "tr":
            self.rows[self.table].append([])
        if tag in ("td", "th"):
            self.rows[self.table][-1].append("")

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data
        if self.open and ("td" in self.open or "th" in self.open):
            self.rows[self.table][-1][-1] += data


EVIL = "<img src=x onerror=alert(1)>&\"'"


def page_of(project, code):
    r = document(project, "--report", "tests/report.html", *python(code))
    return r, Page((project / "tests/report.html").read_text())


def test_the_page(project):
    code = (f"import os\nfor n in ('config.toml', {EVIL!r}):\n    try: open(n, 'w')\n    except OSError: pass\n")
    r, page = page_of(project, code)
    assert r.rc == 1
    names = [tag for tag, _ in page.tags]
    assert "script" not in names and "img" not in names and "link" not in names
    for _, attrs in page.tags:  # nothing from elsewhere, nothing that runs
        assert not any(k.startswith("on") or k == "src" for k in attrs)
        assert attrs.get("href", "#").startswith("#")
    raw = (project / "tests/report.html").read_text()
    assert "http://" not in raw and "https://" not in raw and "url(" not in raw and "@import" not in raw
    assert "default-src 'none'" in raw and "prefers-color-scheme: dark" in raw
    files = [row[0] for row in page.rows["by-file"][1:]]
    assert sorted(files) == sorted([f"{project}/config.toml", f"{project}/{EVIL}"])
    assert [row[0] for row in page.rows["enforced"][1:]] == support.CAPABILITIES
    assert page.rows["enforced"][7][2] == "yes"  # filesystem
    assert "POLICY_VIOLATION" in page.text and "duration" in page.text and str(project) in page.text
    regions = [a for t, a in page.tags if t == "div" and a.get("tabindex") == "0"]
    assert len(regions) == 3 and all(a["role"] == "region" and a["aria-label"] for a in regions)


def test_the_page_of_a_clean_run(project):
    r, page = page_of(project, "pass")
    assert r.rc == 0 and "No write was refused." in page.text and "by-file" not in page.rows


def test_the_page_does_not_say_what_nobody_knows(project):
    """A name in memory that only its own process can read."""
    code = """
import ctypes, mmap
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, 4096, mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
ctypes.memmove(at, b'config.toml', 12)
assert libc.open(ctypes.c_void_p(at), 1) < 0
"""
    r, page = page_of(project, code)
    assert "No write was refused." not in page.text and "1 calls" in page.text, r.told()


def test_the_page_names_tests(suite):
    r = run_test(suite, "--report", "tests/r.html", "--", *PYTEST, env={"HOME": f"{suite}/home"}, code=1)
    page = Page((suite / "tests/r.html").read_text())
    tests = [row[0] for row in page.rows["by-test"][1:]]
    assert tests == sorted(tests) and "tests/test_suite.py::test_config" in tests, r.told()


def test_the_page_in_a_browser(suite):
    if not shutil.which("chromium") or not support.ALL:
        pytest.skip("chromium is there for make check-all")
    run_test(suite, "--report", "tests/r.html", "--", *PYTEST, env={"HOME": f"{suite}/home"}, code=1)
    shot = suite / "tests/shot.png"
    for scheme in ("light", "dark"):
        p = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={suite}/chromium",
                            *(["--force-dark-mode"] if scheme == "dark" else []), "--host-resolver-rules=MAP * 0.0.0.0",
                            "--window-size=1200,900", f"--screenshot={shot}", f"file://{suite}/tests/r.html"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        assert shot.exists() and shot.stat().st_size > 10000, p.stderr
        shot.unlink()
    p = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={suite}/chromium",
                        "--dump-dom", f"file://{suite}/tests/r.html"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120, check=False)
    page = Page(p.stdout.decode())
    assert "tests/test_suite.py::test_config" in [row[0] for row in page.rows["by-test"][1:]]


def test_a_report_that_cannot_be_written(project):
    r = run_test(project, "--report", "missing/dir/r.html", "--", "touch", "tests/ran", code=2)
    assert b"missing/dir/r.html" in r.err and not (project / "tests/ran").exists()


@pytest.mark.parametrize("other", ["--result", "--stdout-file", "--stderr-file"])
def test_a_report_is_a_file_of_its_own(project, other):
    """The later of both would replace the other, without a word."""
    r = run_test(project, "--report", "tests/f", other, "tests/../tests/f", "--", "touch", "tests/ran", code=2)
    assert b"'--report': another option names the same file" in r.err and not (project / "tests/ran").exists()
    run_test(project, "--report", "tests/f", other, "tests/g", "--", "true", code=0)
    assert b"<html" in (project / "tests/f").read_bytes() and (project / "tests/g").exists()


def test_the_report_lands_where_it_was_asked_for(project, place):
    """The payload swaps the directory of the report for a link; the page goes to the old one."""
    (project / "tests/out").mkdir()
    code = f"import os; os.rename('tests/out', 'tests/old'); os.symlink('{project}/src', 'tests/out')"
    with unchanged(project):
        run_test(project, "--report", "tests/out/r.html", *python(code), code=0)
    assert (project / "tests/old/r.html").exists()


def test_help_and_usage(project):
    text = run_test(project, "--help", code=0).text
    for word in ("--root", "--config", "--print-config", "--on-violation", "--report", "--wall"):
        assert word in text
    assert run_test(project, "--rooot", "x", "--", "true", code=2).err.count(b"did you mean --root?") == 1
