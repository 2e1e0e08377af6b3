"""Path("config.toml") in a docstring"""
import tempfile, os
from pathlib import Path as P
x = P("config.toml")
open("config.toml", "w")  # cordon: allow protected-open it is fine
open("config.toml")
Path("C:/projects/x"); Path("C:\\projects\\x"); Path(r"C:\projects\x")
Path("tests/artifacts/foo")
tempfile.mkdtemp()
tempfile.mkdtemp(
    prefix="x",
    # (
    dir=foo)
ROOT = Path(__file__).resolve().parent.parent
(ROOT / "config.toml").write_text("x")
Path(__file__).parents[1] / "config.toml"
os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "config.toml")
monkeypatch.setenv("SLOP_CONFIG", "x")
os.environ["SLOP_CONFIG"] = "x"
os.environ["SLOP_CONFIG"] == "x"
open("x.ini", mode="a")
Path("x.toml").write_text("s")
Path("x.toml").read_text()
f"{open("config.toml", "w")}"
Path(f"tests/artifacts/{x}")
Path("config" ".toml") # cordon: allow protected-path
Path("tests") / "config.toml"
Path.cwd() / "personas.toml"
