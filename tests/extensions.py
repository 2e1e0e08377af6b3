"""An extensions root for the tests of `cordon call`, and modules for it."""
import json
import subprocess

import support
from support import PYTHON, cordon

ECHO = "import sys; sys.stdout.write(sys.stdin.read())"
# What a module sees of its world.
WORLD = """
import json, os
print(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "here": os.listdir("."), "uid": os.getuid()}))
"""
# A file, read or written; else the errno.
READ = "import json\ntry: print(json.dumps(open('%s').read()))\nexcept OSError as e: print(json.dumps(e.errno))"
WRITE = "import json\ntry: open('%s', 'w').write('new'); print('\"ok\"')\nexcept OSError as e: print(json.dumps(e.errno))"
LIBRARY = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
char *cordon_module_call(const char *input);
char *cordon_module_call(const char *input)
{
%s
}
"""


class Modules:
    """An extensions root, and calls into it."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        path.chmod(0o755)

    def add(self, id_, code=None, library=None, **manifest):
        """A module of python code, or of a C library's source."""
        where = self.path / id_
        where.mkdir()
        if library is not None:
            (where / "x.c").write_text(library)
            support.compiled(where / "x.so", where / "x.c", "-shared", "-fPIC")
            manifest = {"library": "x.so", **manifest}
        elif code is not None:
            (where / "main.py").write_text(code)
            manifest = {"command": [PYTHON, "{module}/main.py"], **manifest}
        (where / "module.json").write_text(json.dumps({"id": id_, **manifest}))
        subprocess.run(["chmod", "-R", "a+rX", str(where)], check=True)
        return where

    def call(self, *args, given=b"null", **kw):
        return cordon("call", "--extensions", self.path, *args, stdin=given, **kw)

    def result(self, *args, **kw):
        r = self.call("--json", *args, **kw)
        assert r.out, r.told()
        r.doc = json.loads(r.out)
        support.check_document(r.doc)
        assert "module_id" in r.doc and "value" in r.doc
        return r
