"""Without the filter nothing refuses the set-user-ID bit: then root's id must not be in reach."""
import stat

import pytest

from support import ROOT, run


def test_setuid_without_filter(place):
    if not ROOT:
        pytest.skip("a file of the caller's own user is what an ordinary user may make")
    command = ["--seccomp", "off", "--net", "host", "--mem", "none", "--rw", f"{place}:/d", "--",
               "sh", "-c", "cp /bin/true /d/su && chmod 4755 /d/su"]
    r = run(*command)
    assert r.doc["status"] == "INTERNAL_ERROR" and not (place / "su").exists()
    r = run("--allow-partial", *command)  # who insists, gets it, and is told
    assert not r.doc["enforced"]["privileges"]["applied"]
    assert "set-user-ID" in r.doc["enforced"]["privileges"]["details"]
    assert stat.S_IMODE((place / "su").stat().st_mode) & stat.S_ISUID
