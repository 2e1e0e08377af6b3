"""`cordon audit` and Python as people write it: the scopes of names, imports, idioms of test suites."""
import json
import textwrap

import pytest

import support


@pytest.fixture
def found(place):
    """The findings in a test file, as "LINE ID"."""
    (place / "tests").mkdir()

    def look(text):
        data = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
        (place / "tests/test_a.py").write_bytes(data)
        r = support.cordon("audit", "--json", str(place))
        assert r.rc == 0, r.told()
        return [f"{f['line']} {f['id']}" for f in json.loads(r.out)["findings"]]

    return look


ROOT = "ROOT = Path(__file__).parent.parent\n"
CLIMB = 'x = ROOT / "config.toml"\n'


# --- where a name is known --------------------------------------------------------------------------


@pytest.mark.parametrize("text,expected", [
    # a name of one function means nothing in the next
    ('def test_a():\n  root = Path(".")\ndef test_b(root):\n  root / "config.toml"\n', []),
    ('def test_a():\n  root = Path(".")\n\ndef test_b():\n  root / "config.toml"\n', []),
    ('def test_a():\n\troot = Path(".")\n\troot / "config.toml"\n', ["3 protected-path"]),
    ('class A:\n    def f(self):\n\tr = Path(".")\n    def g(self):\n\tr / "config.toml"\n', []),
    # the module's are seen by all, below and in nested functions
    (ROOT + "def test_a():\n  " + CLIMB + "async def test_b():\n  def f():\n    " + CLIMB,
     ["3 root-config", "6 root-config"]),
    (ROOT + "class TestA:\n  def test_a(self):\n    " + CLIMB, ["4 root-config"]),
    # unless hidden
    (ROOT + "def test_a(ROOT):\n  " + CLIMB + "def test_b():\n  " + CLIMB, ["5 root-config"]),
    (ROOT + "async def test_a(ROOT):\n  " + CLIMB, []),
    (ROOT + "def test_a(a, *, ROOT: Path = None):\n  " + CLIMB, []),
    (ROOT + "def test_a(tmp_path):\n  ROOT = tmp_path\n  " + CLIMB + CLIMB, ["5 root-config"]),
    (ROOT + "def test_a():\n  ROOT: Path = make()\n  " + CLIMB, []),
    (ROOT + "def test_a():\n  a, ROOT = make()\n  " + CLIMB, []),
    (ROOT + "def test_a():\n  ROOT, a = make()\n  " + CLIMB, []),
    (ROOT + "def test_a():\n  for ROOT in places:\n    " + CLIMB, []),
    (ROOT + "def test_a():\n  with TemporaryDirectory() as ROOT:\n    " + CLIMB, []),
    (ROOT + "f = lambda ROOT: ROOT / 'config.toml'\n", []),
    # lambdas and comprehensions hide it for themselves alone
    (ROOT + "f = lambda a, ROOT: 1\n" + CLIMB, ["3 root-config"]),
    (ROOT + "f(lambda ROOT: ROOT / 'config.toml', ROOT / 'config.toml')\n", ["2 root-config"]),
    (ROOT + "a = {f(ROOT): [\n ROOT for ROOT, b in f([1])\n if ROOT / 'config.toml']}\n" + CLIMB, ["5 root-config"]),
    (ROOT + "ROOT = [ROOT for ROOT in places]\n" + CLIMB, []),
    (ROOT + "ROOT = f(lambda ROOT: 1)\n" + CLIMB, []),
    (ROOT + "async def test_a():\n  async for ROOT in f(): pass\n  " + CLIMB, []),
    # what is looked up by it does not change it
    (ROOT + "a[ROOT, 1] = f(ROOT, 2)[0] = 3\n" + CLIMB, ["3 root-config"]),
    (ROOT + "(ROOT, a) = [ROOT, b] = make()\n" + CLIMB, []),
    (ROOT + "if a: (ROOT, a) = make()\n" + CLIMB, []),
    (ROOT + "from settings import ROOT\n" + CLIMB, []),
    (ROOT + "import ROOT.x\n" + CLIMB, []),
    (ROOT + "def move():\n  global ROOT\n  ROOT = made()\ndef test_a():\n  " + CLIMB, []),
    (ROOT + "def ROOT(): pass\n" + CLIMB, []),
    (ROOT + "f(ROOT=1)\n" + CLIMB, ["3 root-config"]),  # a keyword binds nothing
    (ROOT + "ROOT == x\n" + CLIMB, ["3 root-config"]),
    # a statement sees what was before it
    ('p = Path(".")\np = p / "config.toml"\np = tmp_path\np.write_text("")\n', ["2 protected-path"]),
    (ROOT + 'ROOT = str(ROOT / "config.toml")\n', ["2 root-config"]),
    ('a = 1; r = Path("."); r / "config.toml"\n', ["1 protected-path"]),
    # classes show theirs by self and cls
    ('class A:\n  ROOT = Path(".")\n  def test_a(self):\n    ROOT / "config.toml"\n', []),
    ('class A:\n  ROOT = Path(".")\n  def test_a(self):\n    self.ROOT / "config.toml"\n', ["4 protected-path"]),
    ('class A:\n  def setUp(self):\n    self.root = Path(__file__).parent.parent\n'
     '  def test_a(self):\n    (self.root / "x.toml").write_text("")\n', ["5 toplevel-write"]),
    ('class A:\n  def setUp(self):\n    self.root = Path(".")\nclass B:\n  def test_a(self):\n'
     '    self.root / "config.toml"\n', []),
    ('root = Path(".")\nclass A:\n  def test_a(self):\n    self.root / "config.toml"\n', []),
    ('class A:\n  root = Path(".")\n  def setUp(self):\n    self.root = mkdtemp()\n'
     '  def test_a(self):\n    self.root / "config.toml"\n', []),
])
def test_scopes(found, text, expected):
    assert found(text) == expected


def test_no_number_of_names_makes_a_false_finding(found):
    """Beyond the bound nothing is remembered; what was remembered can still be hidden."""
    many = "".join(f'n{i} = Path(".")\n' for i in range(100))
    assert found(many + 'n0 / "config.toml"\nn99 / "config.toml"\n') == ["101 protected-path"]
    assert found(many + 'def f(n0):\n  n0 / "config.toml"\n') == []
    deep = "".join("  " * i + f"def f{i}(x):\n" for i in range(60))
    assert found(deep + "  " * 60 + 'Path("config.toml")\n') == ["61 protected-path"]


# --- imports ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text,expected", [
    ("from os.path import join, dirname\njoin(dirname(dirname(__file__)), 'config.toml')\n", ["2 root-config"]),
    ("from os.path import join as j, dirname as d, abspath as a\nj(d(d(a(__file__))), 'config.toml')\n",
     ["2 root-config"]),
    ("import os.path as p\np.join(p.dirname(__file__), '..', 'config.toml')\n", ["2 root-config"]),
    ("from os import path\npath.join(path.dirname(__file__), '..', 'config.toml')\n", ["2 root-config"]),
    ("from os import path as osp, pardir\nosp.join(osp.dirname(__file__), pardir, 'config.toml')\n", ["2 root-config"]),
    ("import sys, os as o\no.path.join(o.getcwd(), 'config.toml')\n", ["2 protected-path"]),
    ("import pathlib as pl\npl.Path('config.toml')\n", ["2 protected-path"]),
    ("from pathlib import PurePath, Path as P\nP('config.toml')\n", ["2 protected-path"]),
    ("from shutil import copy as c\nc(x, 'config.toml')\n", ["2 protected-path"]),
    ("import shutil as sh\nsh.copyfile(x, dst='config.toml')\n", ["2 protected-path"]),
    ("from io import open as o\no('config.toml', 'w')\n", ["2 protected-open"]),
    ("from os import (\n  remove,\n  rename as mv,\n)\nremove('config.toml')\nmv('a', 'x.ini')\n",
     ["5 protected-path", "6 toplevel-write"]),
    # only where it was imported, and only from there
    ("def test_a():\n  from shutil import copy as c\ndef test_b():\n  c(x, 'config.toml')\n", []),
    ("join(x, 'config.toml')\ncopy(x, 'config.toml')\nremove('config.toml')\n", []),
    ("from mine import join, copy\njoin('config.toml')\ncopy(x, 'config.toml')\n", []),
    ("names.remove('config.toml')\nself.path.join('config.toml')\npath.join('config.toml')\n", []),
    ("from os.path import join\nfrom mine import join\njoin('config.toml')\n", []),
])
def test_imports(found, text, expected):
    assert found(text) == expected


# --- idioms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text,expected", [
    # constants of the module
    ('NAME = "config.toml"\ndef test_a():\n  with open(NAME, "w") as f: pass\n', ["3 protected-open"]),
    ('NAME = "config.toml"\nPath(NAME)\n', ["2 protected-path"]),
    ('NAME = "config.toml"\nopen(NAME)\ntmp_path / NAME\nNAME.replace("a", "b")\n', []),
    (ROOT + 'NAME = "config.toml"\nROOT / NAME\n', ["3 root-config"]),
    (ROOT + 'P = ROOT / "setup.ini"\nP.read_text()\nP.write_text("")\n', ["4 toplevel-write"]),
    (ROOT + 'P = ROOT / "setup.ini"\nopen(P, "a")\nos.remove(str(P))\n', ["3 toplevel-write", "4 toplevel-write"]),
    ('P = Path("config.toml")\nP.read_text()\nf(P)\n', ["1 protected-path"]),  # once
    ('P = Path("config.toml")  # cordon: allow protected-path compared\nP.write_text("")\nopen(P, "w")\n',
     ["2 protected-path", "3 protected-open"]),
    ('A = Path("tests/artifacts")\nA / "x"\n(A / "y").mkdir()\n', ["1 artifacts-literal"]),
    ('A = Path("C:/x")\nopen(A)\nA / "y"\n(A / "y").unlink()\n', ["1 absolute-path", "4 absolute-path"]),
    ('T = Path("tests")\nT / "artifacts" / "x"\n', ["2 artifacts-literal"]),
    # f-strings, sums
    (ROOT + 'open(f"{ROOT}/config.toml", "w")\n', ["2 protected-open"]),
    (ROOT + 'Path(f"{ROOT}/config.toml")\n', ["2 root-config"]),
    ('Path(f"{tmp_path}/config.toml")\nopen(f"{d}/x.ini", "w")\n', []),
    (ROOT + 'Path(f"{ROOT}/{name}.toml")\nPath(f"{ROOT!s}x")\n', []),
    ('os.path.dirname(os.path.dirname(__file__)) + "/config.toml"\n', ["1 root-config"]),
    ('R = os.path.dirname(os.path.dirname(__file__))\nR + "/config.toml"\nR + "config.toml"\n', ["2 root-config"]),
    ('open("config" + ".toml", "w")\nopen("config" + x, "w")\n', ["1 protected-open"]),
    # paths within paths, once each
    ('Path(os.path.join(os.path.dirname(__file__), "..", "config.toml"))\n', ["1 root-config"]),
    ('Path(Path(__file__).parent.parent, "config.toml")\n', ["1 root-config"]),
    ('Path(__file__).parent.joinpath("..", "config.toml")\n', ["1 root-config"]),
    ('Path("src/../config.toml")\nPath("src").parent / "config.toml"\n', ["1 protected-path", "2 protected-path"]),
    ('open(os.path.abspath("config.toml"), mode="w")\n', ["1 protected-open"]),
    ('tmp_path / Path("config.toml")\n', []),
    ('tmp_path / Path("C:/x")\n', ["1 absolute-path"]),
    ('Path(__file__).parent.parents[n] / "config.toml"\nPath(__file__).parent.parent.parents[n] / "config.toml"\n', []),
    ('os.path.join(__file__, "..", "..", "config.toml")\n', ["1 root-config"]),
    ('open("config.toml" % x, "w")\nopen("config.toml".upper(), "w")\n', []),
    # brackets behind words of the language
    ('with (Path(__file__).parent.parent / "x.toml").open("w") as f: pass\n', ["1 toplevel-write"]),
    ('def f():\n  return (Path(".") / "x.toml").unlink()\n', ["2 toplevel-write"]),
    ('use(Path("x.toml")).write_text("")\nuse()(Path("x.toml")).unlink()\n', []),
    ('os.path.join(".", "x.toml").replace("a", "b")\n', []),
    ('ROOT = (\n  Path(__file__)\n  .resolve()\n  .parent.parent\n)\nROOT / "config.toml"\n', ["6 root-config"]),
    ('ROOT = Path(__file__) \\\n  .parent.parent\nROOT / "config.toml"\n', ["3 root-config"]),
    # a path that is bound on the way
    ('if (p := Path("x.ini")).exists():\n  p.unlink()\n', ["2 toplevel-write"]),
    ('P: Path = Path("x.ini")\nP.touch()\n', ["2 toplevel-write"]),
    ('a = b = Path("x.ini")\na.touch()\nb.touch()\n', ["2 toplevel-write", "3 toplevel-write"]),
    ('p = Path("x.ini") if c else d\np.touch()\n', []),
    ('p = "x.ini", 1\nopen(p, "w")\n', []),
    # functions that change files
    ('shutil.rmtree("C:/x")\nshutil.move("config.toml", d)\nos.replace(d, "x.ini")\nos.unlink("x.ini")\n',
     ["1 absolute-path", "2 protected-path", "3 toplevel-write", "4 toplevel-write"]),
    ('shutil.copy("config.toml", tmp_path)\nshutil.rmtree(tmp_path)\nos.remove(p)\n', []),
    ('shutil.copy(x, Path("config.toml"))\n', ["1 protected-path"]),
    # what is no culprit
    ('tempfile.TemporaryDirectory()\ntempfile.NamedTemporaryFile("w")\n', []),
    ('(tmp_path / "config.toml").write_text("")\ntmp_path.joinpath("config.toml").open("w")\n', []),
    ('monkeypatch.setattr(app, "CONFIG", tmp_path / "config.toml")\n', []),
    ('match p:\n  case Path(name="config.toml"): pass\n', []),
])
def test_idioms(found, text, expected):
    assert found(text) == expected


@pytest.mark.parametrize("text,expected", [
    ('monkeypatch.setitem(os.environ, "SLOP_CONFIG", "x")\n', ["1 config-env"]),
    ('KEY = "SLOP_CONFIG"\nos.environ[KEY] = "x"\nmonkeypatch.setenv(KEY, "x")\nd = {KEY: "x"}\n',
     ["2 config-env", "3 config-env", "4 config-env"]),
    ('KEY = "SLOP_CONFIG"\nos.environ[KEY]\nos.environ.get(KEY)\nos.environ.pop(KEY, None)\n', []),
    ('for key in "HOME", "SLOP_CONFIG":\n  check(key)\n', []),
    ('@mock.patch.dict(os.environ, {"SLOP_CONFIG": "x"})\nasync def test_a(): pass\n', ["1 config-env"]),
])
def test_the_environment(found, text, expected):
    assert found(text) == expected


# --- another directory -------------------------------------------------------------------------------


WRITE = 'Path("config.toml").write_text("")\n'


@pytest.mark.parametrize("text,expected", [
    # a test that left the root means no file of the project by a bare name
    ("def test_a(tmp_path, monkeypatch):\n  monkeypatch.chdir(tmp_path)\n  " + WRITE +
     '  open("x.ini", "w")\n  Path("C:/x")\ndef test_b():\n  ' + WRITE, ["5 absolute-path", "7 protected-path"]),
    ("def test_a():\n  " + WRITE + "  os.chdir(d)\n  " + WRITE, ["2 protected-path"]),
    ("def test_a(tmpdir):\n  with tmpdir.as_cwd():\n    " + WRITE + "  " + WRITE, ["4 protected-path"]),
    ("def test_a():\n  with runner.isolated_filesystem():\n    " + WRITE, []),
    ("def test_a():\n  with contextlib.chdir(tmp):\n    " + WRITE + "  " + WRITE, ["4 protected-path"]),
    ("from contextlib import chdir\ndef test_a():\n  with chdir(tmp):\n    " + WRITE, []),
    ("def chdir(x):\n  " + WRITE, ["2 protected-path"]),
    ("class A(TestCase):\n  def setUp(self):\n    os.chdir(self.d)\n  def test_a(self):\n    " + WRITE +
     "def test_b():\n  " + WRITE, ["7 protected-path"]),
    ("@pytest.fixture(autouse=True)\ndef cwd(tmp_path, monkeypatch):\n  monkeypatch.chdir(tmp_path)\n"
     "def test_a():\n  " + WRITE, []),
    ("@pytest.fixture\ndef cwd(tmp_path, monkeypatch):\n  monkeypatch.chdir(tmp_path)\n"
     "def test_a(cwd):\n  " + WRITE + "def test_b():\n  " + WRITE, ["7 protected-path"]),
    ("def helper(d):\n  os.chdir(d)\ndef test_b():\n  " + WRITE, ["4 protected-path"]),
    # the root is none
    (ROOT + "@fixture\ndef cwd(monkeypatch):\n  monkeypatch.chdir(ROOT)\ndef test_a(cwd):\n  " + WRITE,
     ["6 protected-path"]),
    (ROOT + "def test_a(monkeypatch):\n  monkeypatch.chdir(ROOT)\n  " + WRITE, ["4 protected-path"]),
    ("def test_a():\n  os.chdir(d)\n  os.chdir(Path(__file__).parent.parent)\n  " + WRITE, ["4 protected-path"]),
    ("def test_a():\n  os.chdir(find(__file__))\n  " + WRITE, ["3 protected-path"]),
    ('def test_a():\n  os.chdir(d)\n  Path(__file__).parent.parent / "config.toml"\n', ["3 root-config"]),
])
def test_directories(found, text, expected):
    assert found(text) == expected


# --- bytes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("data,expected", [
    (b'\xef\xbb\xbffrom pathlib import Path as P\nP("config.toml")\n', ["2 protected-path"]),
    (b'\xef\xbb\xbfPath("config.toml")\n', ["1 protected-path"]),
    (b'def f():\r\n\tr = Path(".")\r\n\tr / "config.toml"\r\ndef g():\r\n\tr / "config.toml"\r\n',
     ["3 protected-path"]),
    (b'Path("con\\\r\nfig.toml")\r\n', ["1 protected-path"]),
    (b"# -*- coding: latin-1 -*-\nn = '\xe9\xff'\nPath('config.toml')\n", ["3 protected-path"]),
    (b"print(f\"{x:'>8}\")\nr = Path('.')\nr / 'config.toml'\n", ["3 protected-path"]),
    (b"x = [" + b"1, " * 200000 + b"Path('config.toml')]\n", ["1 protected-path"]),
    (b"r = Path('.')\n" + b"r / " * 100000 + b"'config.toml'\n", ["2 protected-path"]),
    (b"r = Path('.')\n" + b"r = " * 100000 + b"1\n" + b"r, " * 100000 + b"\n", []),
    (b"Path(" * 20 + b"'config.toml'" + b")" * 20 + b"\n", ["1 protected-path"]),
    (b"".join(b" " * i + b"def f(a):\n" for i in range(2000)), []),
    (b"a = b = " * 50000 + b"Path('.')\n", []),
    (b"@fixture(" * 50000 + b"\n", []),
    (b"os.chdir(" * 200000 + b"x" + b")" * 200000, []),
    (b'{"SLOP_CONFIG":1,' * 800000, ["1 config-env"] * 1000),
], ids=range(15))
def test_bytes(found, data, expected):
    assert found(data) == expected
