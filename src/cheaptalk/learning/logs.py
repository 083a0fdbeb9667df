"""Logs of training runs: JSON lines beside the policy's file."""

import json
from pathlib import Path
from typing import Any

from cheaptalk.atomic_files import whole_path
from cheaptalk.learning.algorithms import Progress


class Log:
    """A log of a training run, with one line per progress report.

    A killed training resumes from its last checkpoint; later lines and a truncated one are removed,
    because the training writes them again.
    """

    def __init__(self, file: Path, matches: int) -> None:
        self.file = file
        rows = [row for row in _rows(file) if row["matches"] <= matches]
        self.seconds: float = rows[-1]["seconds"] if rows else 0.0
        if file.exists():
            with whole_path(file) as temporary:
                temporary.write_text("".join(map(_line, rows)), encoding="utf-8")

    def add(self, progress: Progress, seconds: float) -> None:
        """Append a line; ``seconds`` counts from the start or the last resumption."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        row = progress.written() | {"seconds": round(self.seconds + seconds, 3)}
        with self.file.open("a", encoding="utf-8") as file:
            file.write(_line(row))


def read_log(policy: Path | str) -> list[dict[str, Any]]:
    """Return the rows of a policy's training log, in order; empty if there is no log."""
    policy = Path(policy)
    return _rows(log_beside(policy))


def log_beside(policy: Path) -> Path:
    """Return the path of a policy's log: ``FILE.log.jsonl``."""
    return policy.with_name(f"{policy.name}.log.jsonl")


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row) + "\n"


def _rows(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
