"""Debian's kernels for the virtual machine, and an initramfs that finds the disks."""

import collections
import glob
import lzma
import os
import re
import shutil
import stat
import subprocess
import tempfile

# Packages that depend on the newest image of a line.
PACKAGES = {"6.1": "linux-image-cloud-amd64", "6.12": "linux-image-6.12-cloud-amd64"}

# What the machine needs, with what that depends on. A kernel that has one built in has no file for it.
MODULES = ["virtio_pci", "virtio_blk", "overlay"]

Version = collections.namedtuple("Version", "directory image modules")


def _download(package, directory):
    subprocess.run(["apt-get", "download", "-qq", package], cwd=directory, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return glob.glob(os.path.join(directory, "*.deb"))[0]


def _unpack(package, target):
    """`package`, unpacked as `target`: complete or not there."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as scratch:
        subprocess.run(["dpkg", "-x", _download(package, scratch), scratch + "/tree"], check=True)
        os.chmod(scratch + "/tree", 0o755)
        os.rename(scratch + "/tree", target)


def fetch(line, cache):
    target = os.path.join(cache, f"linux-{line}")
    if not os.path.isdir(target):
        text = subprocess.run(["apt-cache", "depends", PACKAGES[line]], check=True,
                              capture_output=True, text=True).stdout
        found = re.search(r"Depends: (linux-image-\d\S*)", text)
        if found is None:
            raise OSError(f"apt knows no kernel {line} ('apt-get update' may help)")
        _unpack(found.group(1), target)
    return Version(target, glob.glob(target + "/boot/vmlinuz-*")[0],
                   glob.glob(target + "/lib/modules/*")[0])


def busybox(cache):
    target = os.path.join(cache, "busybox")
    if not os.path.isdir(target):
        _unpack("busybox-static", target)
    return glob.glob(target + "/**/bin/busybox", recursive=True)[0]


def _entry(name, mode, data=b""):
    """One member of a cpio archive in the "newc" format."""
    encoded = name.encode() + b"\0"
    head = b"070701" + b"".join(b"%08x" % field for field in (
        0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0))
    head += encoded
    head += b"\0" * (-len(head) % 4)
    return head + data + b"\0" * (-len(data) % 4)


def _module(version, name):
    pattern = re.sub("[-_]", "[-_]", name)  # a module says the one, its file may have the other
    for path in glob.glob(f"{version.modules}/kernel/**/{pattern}.ko*", recursive=True):
        with open(path, "rb") as file:
            data = file.read()
        return lzma.decompress(data) if path.endswith(".xz") else data
    return None


def _modules(version, names, seen):
    """(name, data) in the order of loading: updates of a kernel move code into modules that were not there before."""
    for name in names:
        data = None if name in seen else _module(version, name)
        seen.add(name)
        if data is not None:
            needs = re.search(rb"\0depends=([^\0]*)\0", data).group(1).decode()
            yield from _modules(version, filter(None, needs.split(",")), seen)
            yield name, data


def initramfs(version, init, cache):
    target = os.path.join(version.directory, "initramfs")
    if os.path.exists(target) and os.path.getmtime(target) > max(
            os.path.getmtime(init), os.path.getmtime(__file__)):
        return target
    program = stat.S_IFREG | 0o755
    with open(init, "rb") as file:
        archive = [_entry("init", program, file.read())]
    archive += [_entry(name, stat.S_IFDIR | 0o755) for name in ("bin", "modules", "dev")]
    with open(busybox(cache), "rb") as file:
        archive.append(_entry("bin/busybox", program, file.read()))
    for number, (name, data) in enumerate(_modules(version, MODULES, set())):
        archive.append(_entry(f"modules/{number:02}-{name}.ko", stat.S_IFREG | 0o644, data))
    archive.append(_entry("TRAILER!!!", 0))
    with tempfile.NamedTemporaryFile(dir=cache, delete=False) as file:
        file.write(b"".join(archive))
    shutil.move(file.name, target)
    return target
