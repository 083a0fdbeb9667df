"""Invented games in the file format of GAMA: three players, two rounds."""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import yaml

Data = dict[str, Any]
GAMES = yaml.safe_load(Path(__file__).with_name("gama_games.yaml").read_text(encoding="utf-8"))


def game_file(kind: str) -> Data:
    """Return a new game file of a kind."""
    game = deepcopy(GAMES[kind])
    rounds, records = game["rounds"], game["records"]
    utilities = game.get("utilities") or [[0.5] * len(chosen) for chosen in records]
    prompt = [{"role": "system", "content": "You are playing a game."}]
    meta = {"name_exp": game["name"], "player_num": len(records), "round_id": len(rounds)}
    players = [
        {
            "model": "lab/Talker-7B",
            "id": f"player_{number}",
            "prompt": prompt,
            "records": chosen,
            "utility": gained,
        }
        | game.get("player", {})
        for number, (chosen, gained) in enumerate(zip(records, utilities, strict=True))
    ]
    settings = meta | game["settings"] | {"version": "v1"}
    return {"meta": settings, "round_records": rounds, "player_data": players}


KINDS: dict[str, Callable[[], Data]] = {kind: partial(game_file, kind) for kind in GAMES}
guess, bar, dollar, goods, diners, auction, battle, pirates = KINDS.values()


def write(root: Path, name: str, data: Data) -> Path:
    """Write a game file below ``root`` and return its path."""
    path = root / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def write_all(root: Path) -> Path:
    """Write one game of each kind."""
    for kind, make in KINDS.items():
        write(root, f"{kind}/{kind}_1", make())
    return root
