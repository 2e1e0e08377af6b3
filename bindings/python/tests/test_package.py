"""The package as it is installed: types, contents, no registry, nothing of the environment's."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_types():
    checked = subprocess.run(["mypy", "--cache-dir=/dev/null"], cwd=PACKAGE, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_what_the_wheel_holds(site):
    wheel, = (site.parent / "dist").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {f"cordon/{p.name}" for p in (PACKAGE / "src/cordon").glob("*.py")}
    rest = {n for n in names - modules if ".dist-info/" not in n}
    assert modules <= names
    assert rest == {"cordon/py.typed", "cordon/_native/libcordon.so.0", "cordon/_native/bin/cordon",
                    "cordon/_native/libexec/cordon/cordon-module-runner", "cordon-0.1.0.data/scripts/cordon"}


def test_pip_installs_a_checkout_without_a_registry(tmp_path):
    pip = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--quiet", "--target",
                          str(tmp_path / "there"), str(PACKAGE)], capture_output=True, text=True)
    if "No module named pip" in pip.stderr:
        pytest.skip("pip is not installed")
    assert pip.returncode == 0, pip.stderr
    ran = subprocess.run([sys.executable, "-c", "import cordon; print(cordon.run(['true']).status)"],
                         env={"PYTHONPATH": str(tmp_path / "there")}, capture_output=True, text=True)
    assert ran.stdout == "OK\n", ran.stderr


_BOTH = "import cordon; print(cordon.run(['true']).status, cordon.Policy().normalized()['version'])"


def test_the_environment_does_not_choose_the_code(tmp_path, site):
    (tmp_path / "libcordon.so.0").write_bytes(b"not a library")
    (tmp_path / "cordon").write_text("#!/bin/sh\necho not the command\n")
    (tmp_path / "cordon").chmod(0o755)
    variables = {"PYTHONPATH": str(site), "LD_LIBRARY_PATH": str(tmp_path), "PKG_CONFIG_PATH": str(tmp_path),
                 "PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run([sys.executable, "-c", _BOTH], env=variables, cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout == "OK 1\n", ran.stderr


@pytest.mark.parametrize("act, words", [("cordon.run(['true'])", "the command cordon is not there"),
                                        ("cordon.doctor()", "libcordon.so.0 is not there")])
def test_what_is_missing_is_named(act, words, tmp_path, site):
    if any(os.path.exists(p) for p in ("/usr/local/bin/cordon", "/usr/bin/cordon", "/usr/local/lib/libcordon.so.0",
                                       "/usr/lib/x86_64-linux-gnu/libcordon.so.0",
                                       "/usr/local/lib/x86_64-linux-gnu/libcordon.so.0")):
        pytest.skip("cordon is installed on this machine")
    shutil.copytree(site / "cordon", tmp_path / "cordon", ignore=shutil.ignore_patterns("_native"))
    ran = subprocess.run([sys.executable, "-c", f"import cordon; {act}"],
                         env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert f"{words}: install cordon" in ran.stderr


def test_a_variable_that_pkg_config_does_not_know_is_no_place(tmp_path, monkeypatch):
    """It prints an empty line then, which would be the current directory."""
    from cordon import _library
    (tmp_path / "pkg-config").write_text("#!/bin/sh\necho\n")
    (tmp_path / "pkg-config").chmod(0o755)
    monkeypatch.setattr(_library, "_PKG_CONFIG", str(tmp_path / "pkg-config"))
    assert list(_library.pkg_config("bindir")) == []
