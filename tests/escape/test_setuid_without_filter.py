"""Without the filter nothing refuses the set-user-ID bit: then root's id must not be in reach."""
import stat

import pytest

from support import ROOT, run


def test_setuid_without_filter(place):
    if not ROOT:
        pytest.skip("a file of the caller's own user is what an ordinary user may make")
    r = run("--seccomp", "off", "--net", "host", "--rw", f"{place}:/d", "--allow-partial", "--",
            "sh", "-c", "cp /bin/true /d/su && chmod 4755 /d/su")
    made = place / "su"
    if made.exists() and stat.S_IMODE(made.stat().st_mode) & stat.S_ISUID:
        assert made.stat().st_uid != 0, "a program that is root for whoever runs it"
    assert "set-user-ID" in str(r.doc["enforced"]["privileges"]) or not made.exists()
