"""Reference timings of comparable packages.

The packages are installed in a separate environment and timed in the same run as cheaptalk.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.rows import Row, median_seconds

FOLDER = Path(__file__).parent
PYTHON = FOLDER / ".venv" / "bin" / "python"


def rows() -> Iterator[Row]:
    """Yield NegMAS's rate of 12-round negotiations and the start-up times of Inspect AI."""
    install()
    done = subprocess.run(
        [PYTHON, FOLDER / "negmas_split.py"], check=True, capture_output=True, text=True
    )
    version, rate = done.stdout.split()[-2:]
    yield Row(f"NegMAS {version}: Boulware against Conceder over 101 splits, 12 rounds",
              float(rate), "negotiations/s", None, "reference; no store, one core")  # fmt: skip
    inspect_version = subprocess.run(
        [PYTHON, "-c", "from importlib.metadata import version; print(version('inspect-ai'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    starts = {
        "import inspect_ai": [str(PYTHON), "-c", "import inspect_ai"],
        "inspect --help": [str(PYTHON.parent / "inspect"), "--help"],
    }
    for name, command in starts.items():
        title = f"Inspect AI {inspect_version}: {name}"
        yield Row(title, median_seconds(command), "s", None, "reference")


def install() -> None:
    """Create the reference environment if it does not exist, and install its packages."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", PYTHON.parents[1]], check=True)
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--requirement", FOLDER / "anchors.txt"]
    subprocess.run([str(part) for part in command], check=True)
