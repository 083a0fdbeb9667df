"""How quickly the package starts, and how much it weighs."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.rows import Row, median_seconds

ROOT = Path(__file__).parents[1]


def rows() -> Iterator[Row]:
    """Start-up times, the interpreter's own start included, and the size of the base install."""
    python = sys.executable
    yield Row("import cheaptalk", median_seconds([python, "-c", "import cheaptalk"]), "s",
              ("<=", 0.3), "the interpreter's own start included")  # fmt: skip
    for line in ("--help", "run --help"):
        command = [python, "-m", "cheaptalk", *line.split()]
        yield Row(f"cheaptalk {line}", median_seconds(command), "s", ("<=", 0.3),
                  "the whole command")  # fmt: skip
    yield Row("TAB behind cheaptalk run --", median_seconds(completing("cheaptalk run --")), "s",
              ("<=", 0.3), "as bash asks for it")  # fmt: skip
    yield Row("base install beyond Python", installed_size(), "MB", ("<=", 120),
              "site-packages of a fresh environment, less pip's")  # fmt: skip


def completing(typed: str) -> list[str]:
    """The command that a shell runs to complete what was typed."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    variables = {"_CHEAPTALK_COMPLETE": "complete_bash", **words}
    given = [f"{name}={value}" for name, value in variables.items()]
    return ["env", *given, str(Path(sys.executable).parent / "cheaptalk")]


def installed_size() -> float:
    """Megabytes that the package and what it needs take in a fresh environment."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        before = _megabytes(Path(folder) / "lib")
        install = [python, "-m", "pip", "install", "--quiet", "--constraint", _pins(folder)]
        subprocess.run([*install, str(ROOT)], check=True, capture_output=True)
        return _megabytes(Path(folder) / "lib") - before


def _pins(folder: str) -> str:
    """The locked versions without their hashes, which pip refuses for a local folder."""
    lines = (ROOT / "requirements" / "report.txt").read_text().splitlines()
    pins = [line.split("\\")[0].strip() for line in lines if line[:1].isalnum()]
    path = Path(folder) / "pins.txt"
    path.write_text("\n".join(pins))
    return str(path)


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
