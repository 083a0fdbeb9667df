"""Pages and tables are byte-identical in every process, whatever its hash seed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct

FIRST: dict[str, Any] = {
    "name": "first",
    "seed": 1,
    "games": [
        {
            "game": "item_bargaining",
            "fixed": {"quantities": [7, 4, 1], "discount": 0.9},
        },
        {"game": "bargaining", "fixed": {"horizon": 6}, "grid": {"money": [100, 10_000]}},
    ],
    "players": {
        label: {"strategies": {"item_bargaining": label, "bargaining": bargaining}}
        for label, bargaining in (
            ("soft", "equal_split"),
            ("tough", "boulware"),
            ("luck", "random"),
        )
    },
    "instances": 2,
}
SECOND = FIRST | {"name": "second", "seed": 2}
FIRST["players"]["luck"]["strategies"]["item_bargaining"] = "walk"
BATTERY = """
name: mine-1
sizes: {small: 2}
panel:
  fair: {meaning: offers half, player: equal_split}
  hard: {meaning: gives way late, player: {strategies: {bargaining: boulware}}}
parts:
  pie: {title: A pie, game: bargaining, fixed: {money: 100, horizon: 3}}
  cake: {title: A cake, game: bargaining, fixed: {money: 90, horizon: 4, discounts: [0.7, 0.9]}}
"""
COMMANDS = (
    ("report", "first", "--out", "report.html", "--tables", "tables"),
    ("compare", "first", "second", "--out", "compare.html"),
    ("leaderboard", "first", "second", "--out", "leaderboard.html"),
    ("metagame", "first", "--game", "item_bargaining", "--draws", "20", "--out", "m.html"),
    (
        *("profile", "random", "--battery", "../mine.yaml", "--compare-to", "../before.json"),
        *("--workers", "1", "--out", "profile.html", "--json-file", "profile.json"),
    ),
)
SCRIPT = """
import sys
from cheaptalk.cli.main import main
for arguments in {commands!r}:
    sys.argv = ["cheaptalk", *arguments, "--store", {store!r}]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, (arguments, ended.code)
"""


@pytest.mark.slow
def test_reports_are_byte_identical_in_every_process(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    with ct.Store.open(store, create=True) as opened:
        for study in (FIRST, SECOND):
            ct.run(ct.studies.parse_study(study, "here"), opened)
        (tmp_path / "mine.yaml").write_text(BATTERY)
        battery = ct.profiles.battery(tmp_path / "mine.yaml")
        for player in ("boulware", "random"):
            entry = ct.players.RosterEntry.model_validate({"strategy": player})
            profile = battery.study(player, entry, "small")
            ct.run(profile, opened)
            made = ct.profiles.profile_of(opened, profile.name, player, entry, battery, "small")
            if player == "boulware":
                (tmp_path / "before.json").write_text(json.dumps(made.as_json()))
    script = SCRIPT.format(commands=COMMANDS, store=store.name)
    folders, processes = [tmp_path / "one", tmp_path / "other"], []
    for place, folder in enumerate(folders):
        folder.mkdir()
        shutil.copy(store, folder)  # because each process locks its store
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", script],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONHASHSEED": str(place + 1)},
            )
        )
    for folder, process in zip(folders, processes, strict=True):
        printed, errors = process.communicate()
        assert process.returncode == 0, errors
        (folder / "printed").write_text(printed.replace(str(folder), ""))
        for file in folder.glob(f"{store.name}*"):
            file.unlink()
    first, second = (
        {
            str(file.relative_to(folder)): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }
        for folder in folders
    )
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] != second[name]} == set()
    assert {"report.html", "compare.html", "leaderboard.html", "m.html"} <= set(first)
    assert {"profile.html", "profile.json"} <= set(first)
    assert " before, " in (folders[0] / "printed").read_text()
