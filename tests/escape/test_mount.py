"""Mounting anything: over the read-only root, away from it, or a fresh /proc."""
import pytest

from support import inside, outside

CODE = """
r = {'tmpfs': sc('mount', b'none', b'/tmp', b'tmpfs', 0, 0),
     'bind': sc('mount', b'/usr', b'/tmp', 0, 4096, 0),
     'umount': sc('umount2', b'/tmp', 2),
     'fsopen': sc('fsopen', b'tmpfs', 0),
     'open_tree': sc('open_tree', -100, b'/usr', 1),
     'move_mount': sc('move_mount', -100, b'/usr', -100, b'/tmp', 0),
     'mount_setattr': sc('mount_setattr', -100, b'/usr', 0, struct.pack('<4Q', 0, 1, 0, 0), 32),
     'pivot_root': sc('pivot_root', b'/tmp', b'/tmp'),
     'chroot': sc('chroot', b'/')}
say(r)
"""


def test_mount():
    control = outside(CODE, wrap=["unshare", "-Urm"]).answer
    for name in ("tmpfs", "bind", "fsopen", "open_tree", "chroot"):
        assert isinstance(control[name], int), (name, control[name])
    for name, why in inside(CODE).answer.items():
        assert why in ("EPERM", "ENOSYS"), name


@pytest.mark.parametrize("uid", ["nobody", "caller"])
def test_mount_without_the_filter(uid):
    """No capability: the kernel itself refuses, also to somebody who is uid 0 inside."""
    r = inside(CODE, "--uid", uid, "--seccomp", "off", "--allow-partial").answer
    for name, why in r.items():
        assert why in ("EPERM", "EINVAL", "EACCES"), name
