"""Studies of models at a hostile server, and runs of them in separate processes."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.fakes import Server

ROOT = Path(__file__).parents[2]
DEADLINE = 2.0
"""Timeout of each call of the studies in seconds."""


def studies(model: str, folder: Path, instances: int, **changes: Any) -> list[Path]:
    """Write studies of four matches per instance: Deal or No Deal in both styles; GLEE's games.

    Args:
        model: the model string of the players.
    """
    player = {"model": model, "deadline": DEADLINE}
    talk = {
        "games": [{"game": "deal_or_no_deal"}],
        "players": {"json": player, "tags": player | {"style": "tagged"}},
        "pairing": [["json", "json"], ["json", "tags"], ["tags", "json"], ["tags", "tags"]],
    }
    signals = {"signal": ["text", "binary"]}
    trade = {
        "games": [
            {"game": "bargaining", "fixed": {"horizon": 4}},
            {"game": "negotiation", "fixed": {"horizon": 4}},
            {"game": "persuasion", "fixed": {"horizon": 3}, "grid": signals},
        ],
        "players": {"json": player},
        "pairing": "self",
    }
    files = []
    for name, study in (("talk", talk), ("trade", trade)):
        files.append(folder / f"{name}.json")
        files[-1].write_text(json.dumps({"name": name, "instances": instances} | study | changes))
    return files


class Run(NamedTuple):
    """A study, played by the command line in a separate process, and the store of its matches.

    Without an environment, the process inherits ours.
    """

    file: Path
    store: Path
    environment: Mapping[str, str] | None = None

    def begin(self, *options: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tests.attack.hurried", "run", str(self.file)]
        return subprocess.Popen(
            [*command, "--store", str(self.store), "--allow-failures", *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )

    def finish(self, *options: str, status: int = 0) -> str:
        with self.begin(*options) as process:
            output, _ = process.communicate()
        assert process.returncode == status, output
        return output

    def resume(self, times: int) -> None:
        """Run until the study is complete: a fault may end a match, which the next run repeats."""
        for _ in range(times):
            with self.begin() as process:
                output, _ = process.communicate()
            if process.returncode == 0:
                return
        raise AssertionError(output)

    def kill(self, server: Server, calls: int, *options: str) -> bool:
        wanted = len(server.calls) + calls
        with self.begin(*options) as process:
            while len(server.calls) < wanted and process.poll() is None:
                time.sleep(0.005)
            process.kill()
        return process.returncode != 0
