"""Every behaviour of the contract has a test that bears its id."""
import pathlib
import re

HERE = pathlib.Path(__file__).parent
ELSEWHERE = {
    "p24": "overhead: measured by make bench, never a timed test",
    "p26": "cordon test",
    "p27": "cordon doctor",
    "p33": "informative only",
    "t23": "with t1",
}


def test_every_behaviour_has_a_test():
    text = "\n".join(p.read_text() for p in HERE.glob("test_*.py"))
    names = " ".join(re.findall(r"^def (test_\w+)", text, re.M))
    wanted = [f"p{n:02}" for n in range(1, 34)] + [f"i{n:02}" for n in [*range(1, 21), 28, 29, 30]] + \
        [f"t{n}" for n in range(1, 33)]
    missing = [w for w in wanted if f"_{w}_" not in names and w not in ELSEWHERE]
    assert missing == []
