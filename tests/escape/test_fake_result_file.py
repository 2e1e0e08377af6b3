"""Where a file system has no unnamed files, the payload finds the file that is to be the result."""
import json
import os
import shutil
import subprocess

import pytest

from support import BIN, ENV, check_document

FAKE = '{"status": "OK", "fake": true}'
SWAP = f"""cd /d; for f in .cordon-*; do rm -f $f; echo '{FAKE}' > $f; done; exit 7"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace plays the older file system")
@pytest.mark.parametrize("option", ["--result", "--stdout-file"])
def test_fake_result_file(place, option):
    # The first openat() of the program is the one with O_TMPFILE.
    subprocess.run(["strace", "-o", "/dev/null", "-e", "trace=openat", "-e",
                    "inject=openat:error=EOPNOTSUPP:when=1", BIN, "run", option, place / "file",
                    "--rw", f"{place}:/d", "--", "sh", "-c", SWAP],
                   env=ENV, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    text = (place / "file").read_text() if (place / "file").exists() else ""
    assert FAKE not in text
    if option == "--result" and text:
        doc = json.loads(text)
        check_document(doc)
        assert doc["rc"] == 7
    assert not [n for n in os.listdir(place) if n.startswith(".cordon-") and
                "fake" not in (place / n).read_text()], "a temporary file was left"
