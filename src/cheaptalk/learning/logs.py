"""What a training tells as it goes, kept as lines of JSON beside its policy."""

import json
from pathlib import Path
from typing import Any

from cheaptalk.learning.algorithms import Progress
from cheaptalk.whole_files import whole_path


class Log:
    """A file with a line for each time that a training told how it goes.

    A training that was killed goes on from its last checkpoint; lines from after that, and one
    that was cut short, are taken out, as it comes to the same numbers again.

    Args:
        file: the log's; a folder that is missing on the way is made.
        matches: that the training has learned from.
    """

    def __init__(self, file: Path, matches: int) -> None:
        self.file = file
        rows = [row for row in _rows(file) if row["matches"] <= matches]
        self.seconds: float = rows[-1]["seconds"] if rows else 0.0
        if file.exists():
            with whole_path(file) as half:
                half.write_text("".join(map(_line, rows)), encoding="utf-8")

    def add(self, told: Progress, seconds: float) -> None:
        """Add a line.

        Args:
            seconds: since the training was taken up.
        """
        self.file.parent.mkdir(parents=True, exist_ok=True)
        row = told.written() | {"seconds": round(self.seconds + seconds, 3)}
        with self.file.open("a", encoding="utf-8") as file:
            file.write(_line(row))


def logged(policy: Path) -> list[dict[str, Any]]:
    """What the training of a policy's file told as it went, in order: see :class:`.Progress`, and
    ``seconds`` that it took until then; empty where nothing was kept.
    """
    return _rows(log_beside(policy))


def log_beside(policy: Path) -> Path:
    """The log of a policy's training: ``FILE.log.jsonl``."""
    return policy.with_name(f"{policy.name}.log.jsonl")


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row) + "\n"


def _rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a log, without one that was cut short."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
