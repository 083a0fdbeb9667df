"""Neighbours doing the nearest thing, installed in an environment of their own and timed in the
same run as ours."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.rows import Row, median_seconds

FOLDER = Path(__file__).parent
PYTHON = FOLDER / ".venv" / "bin" / "python"


def rows() -> Iterator[Row]:
    """NegMAS playing a split of a sum over 12 rounds; Inspect AI starting up."""
    install()
    done = subprocess.run(
        [PYTHON, FOLDER / "negmas_split.py"], check=True, capture_output=True, text=True
    )
    version, rate = done.stdout.split()[-2:]
    yield Row(f"NegMAS {version}: Boulware against Conceder over 101 splits, 12 rounds",
              float(rate), "negotiations/s", None, "anchor, unstored, one core")  # fmt: skip
    found = subprocess.run(
        [PYTHON, "-c", "from importlib.metadata import version; print(version('inspect-ai'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    starts = {
        "import inspect_ai": [str(PYTHON), "-c", "import inspect_ai"],
        "inspect --help": [str(PYTHON.parent / "inspect"), "--help"],
    }
    for what, command in starts.items():
        yield Row(f"Inspect AI {found}: {what}", median_seconds(command), "s", None, "anchor")


def install() -> None:
    """Make the anchors' environment once."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", PYTHON.parents[1]], check=True)
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--requirement", FOLDER / "anchors.txt"]
    subprocess.run([str(part) for part in command], check=True)
