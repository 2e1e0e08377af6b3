"""Disks for the virtual machine: this machine's own tools, and the job."""

import os
import re
import shutil
import subprocess
import tempfile

# Installed packages whose files are copied, besides the libraries that their programs need.
PACKAGES = ["base-files", "bash", "coreutils", "dash", "diffutils", "findutils", "grep", "hostname",
            "libc-bin", "libc6", "libpython3.11-minimal", "libpython3.11-stdlib", "mount",
            "ncurses-base", "procps", "python3", "python3-minimal", "python3.11",
            "python3.11-minimal", "sed", "tar", "util-linux"]
# What the test suites use beyond that; left out where it is not installed.
OPTIONAL = ["bubblewrap", "git", "gzip", "iproute2", "libgcc-s1", "make", "mawk", "perl-base", "python3-attr",
            "python3-execnet", "python3-iniconfig", "python3-jsonschema", "python3-packaging",
            "python3-pkg-resources", "python3-pluggy", "python3-pyrsistent", "python3-pytest",
            "python3-pytest-xdist", "ripgrep", "sqlite3", "strace"]
LEFT_OUT = re.compile(r"^/usr/share/(doc|man|info|locale|lintian|bash-completion)(/|$)"
                      r"|__pycache__|^/var(/|$)|^/etc/(?!alternatives)")
HERE = os.path.dirname(os.path.realpath(__file__))
MERGED = ("bin", "sbin", "lib", "lib64")


class Missing(Exception):
    """Something that must be installed first."""


def _package_files():
    files = []
    for package in PACKAGES + OPTIONAL:
        listing = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True,
                                 check=False)
        if listing.returncode != 0 and package not in OPTIONAL:
            raise Missing(f"the package {package} is not installed")
        files += listing.stdout.split("\n")
    return [name for name in files
            if name.startswith("/") and name != "/." and not LEFT_OUT.search(name)]


def _libraries(programs):
    text = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"(/\S+\.so\S*)", text))


def _merge(path):
    """/bin/x as /usr/bin/x, as on every Debian since 12."""
    first = path.split("/")[1]
    return "/usr" + path if first in MERGED else path


def _copy(source, tree):
    target = tree + _merge(source)
    if os.path.isdir(source) and not os.path.islink(source):
        os.makedirs(target, exist_ok=True)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.lexists(target) and os.path.lexists(source):
        shutil.copy2(source, target, follow_symlinks=False)


def _mke2fs(tree, target):
    """An ext4 image of `tree`, complete or not there; its files belong to root."""
    size = sum(os.lstat(os.path.join(top, name)).st_size + 4096
               for top, names, files in os.walk(tree) for name in names + files)
    megabytes = size * 5 // 4 // (1 << 20) + 16
    command = ["/sbin/mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0",
               "-E", "root_owner=0:0", "-d", tree, target + ".new", f"{megabytes}M"]
    if os.geteuid() != 0:
        command = ["unshare", "--map-root-user", *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    os.rename(target + ".new", target)
    return target


def compiled(tree):
    """Byte code beside the modules of `tree`: most of an emulated start of Python would be compiling."""
    subprocess.run(["/usr/bin/python3", "-m", "compileall", "-q", "--invalidation-mode",
                    "unchecked-hash", tree], check=False, stdout=subprocess.DEVNULL)


def root(cache, tester):
    target = os.path.join(cache, "root.img")
    if os.path.exists(target) and os.path.getmtime(target) > os.path.getmtime(__file__):
        return target
    with tempfile.TemporaryDirectory(dir=cache) as tree:
        os.chmod(tree, 0o755)
        for name in ("dev", "proc", "sys", "tmp", "run", "etc", "root", "vm", "home/tester",
                     "var/tmp"):
            os.makedirs(os.path.join(tree, name))
        os.chmod(os.path.join(tree, "var/tmp"), 0o1777)
        for name in MERGED:
            os.makedirs(os.path.join(tree, "usr", name), exist_ok=True)
            os.symlink("usr/" + name, os.path.join(tree, name))
        files = _package_files()
        programs = [name for name in files
                    if re.search(r"/s?bin/|\.so", name) and os.path.isfile(name)]
        for name in [*files, *sorted(_libraries(programs))]:
            if name.strip("/") not in MERGED:
                _copy(name, tree)
                if os.path.islink(name):
                    _copy(os.path.realpath(name), tree)
        with open(tree + "/etc/passwd", "w") as file:
            file.write("root:x:0:0:root:/root:/bin/sh\n"
                       f"tester:x:{tester}:{tester}:tester:/home/tester:/bin/sh\n"
                       "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n")
        for name, text in (("group", f"root:x:0:\ntester:x:{tester}:\nnogroup:x:65534:\n"),
                           ("hostname", "vm\n"), ("hosts", "127.0.0.1 localhost\n"),
                           ("nsswitch.conf", "hosts: files\n")):
            with open(f"{tree}/etc/{name}", "w") as file:
                file.write(text)
        if not os.path.lexists(tree + "/usr/bin/awk"):  # no package's file: an alternative
            os.symlink("mawk", tree + "/usr/bin/awk")
        subprocess.run(["/sbin/ldconfig", "-r", tree], check=False)
        compiled(os.path.join(tree, "usr/lib"))
        return _mke2fs(tree, target)


def job(target, copies, command):
    """The disk that is mounted on /vm."""
    with tempfile.TemporaryDirectory() as tree:
        for source in copies:
            name = os.path.join(tree, os.path.basename(os.path.normpath(source)))
            if os.path.isdir(source):
                shutil.copytree(source, name, symlinks=True)
            else:
                shutil.copy2(source, name)
        for name in ("init", "scene"):
            shutil.copy2(os.path.join(HERE, name), os.path.join(tree, "." + name))
        with open(os.path.join(tree, ".command"), "w") as file:
            file.write(command)
        return _mke2fs(tree, target)
