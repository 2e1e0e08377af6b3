def open(Path): pass
from tempfile import (mkdtemp as m, # (
 mkstemp)
m(None, None, None)
mkstemp(*a)
m()
Path(__file__)
.parent
Path("a", b, "c")
