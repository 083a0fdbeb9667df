"""Start-up times of the package and the size of its installation."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.rows import Row, median_seconds

ROOT = Path(__file__).parents[1]


def rows() -> Iterator[Row]:
    """Yield the start-up times, including the interpreter's, and the size of the base install."""
    python = sys.executable
    yield Row("import cheaptalk", median_seconds([python, "-c", "import cheaptalk"]), "s",
              ("<=", 0.3), "including interpreter start-up")  # fmt: skip
    for line in ("--help", "run --help"):
        command = [python, "-m", "cheaptalk", *line.split()]
        yield Row(f"cheaptalk {line}", median_seconds(command), "s", ("<=", 0.3),
                  "complete command")  # fmt: skip
    seconds = median_seconds(completing("cheaptalk run --"))
    yield Row("shell completion of cheaptalk run --", seconds, "s", ("<=", 0.3), "as in Bash")
    yield Row("size of the base install without Python", installed_size(), "MB", ("<=", 120),
              "site-packages of a new environment, without pip")  # fmt: skip


def completing(typed: str) -> list[str]:
    """Return the command that Bash runs to complete a partial command line."""
    completion = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    variables = {"_CHEAPTALK_COMPLETE": "complete_bash", **completion}
    assignments = [f"{name}={value}" for name, value in variables.items()]
    return ["env", *assignments, str(Path(sys.executable).parent / "cheaptalk")]


def installed_size() -> float:
    """Install the package in a new environment; return its size with dependencies in MB."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        before = _megabytes(Path(folder) / "lib")
        install = [python, "-m", "pip", "install", "--quiet", "--constraint", _pins(folder)]
        subprocess.run([*install, str(ROOT)], check=True, capture_output=True)
        return _megabytes(Path(folder) / "lib") - before


def _pins(folder: str) -> str:
    """Write the locked versions without hashes, which pip rejects for a local folder."""
    lines = (ROOT / "requirements" / "report.txt").read_text().splitlines()
    pins = [line.split("\\")[0].strip() for line in lines if line[:1].isalnum()]
    path = Path(folder) / "pins.txt"
    path.write_text("\n".join(pins))
    return str(path)


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
