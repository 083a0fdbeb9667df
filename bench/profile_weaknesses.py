"""Planted weaknesses: ``python -m bench.profile_weaknesses [--size SIZE] [--folder FOLDER]``.

Profiles of 24 players with a planted weakness and of 20 without one, all of them with noise. A
weakness counts as named if one of the first three findings names it. Players without a weakness are
to have no finding, and every trigger is to fire.

Progress goes to a file of JSON lines, a player each; a second run with the same file continues. The
baselines' matches are played once for all players.
"""

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cheaptalk as ct
from bench.profile_agents import SOUND, WEAK, Persona, TextPlayer
from bench.rows import Row
from cheaptalk.profiles.seats import seats
from cheaptalk.profiles.weaknesses.examine import examine
from cheaptalk.profiles.weaknesses.weakness import Examination

FIRST = 3
"""Findings that an engineer in a hurry reads."""
GOALS: Mapping[str, int] = {"small": 14, "standard": 20}
"""Planted weaknesses that each size is to name."""
FALSE = 1
"""Players without a weakness whose page may name one."""
FIRED = 10
"""How often each trigger is to fire."""
PLAYERS: Mapping[str, Persona] = {
    **{name: one.persona for name, one in WEAK.items()}, **SOUND,
}  # fmt: skip


def examined(store: ct.Store, name: str, size: str) -> tuple[Examination, int]:
    """Return what a profile finds of a player, and how many answers that takes."""
    battery = ct.profiles.battery()
    label = f"player-{[*PLAYERS].index(name)}"
    model = f"vllm/{label}@http://127.0.0.1:1/v1"
    entry = ct.players.RosterEntry.model_validate({"model": model, "tries": 2})
    study = battery.study(label, entry, size)
    ct.run(study, store, workers=1, models=TextPlayer(PLAYERS[name], name))
    rows = seats(store, study.name, battery, label, battery.alike(entry))
    return examine(rows, label, battery), int(rows.filter(player=label)["answers"].sum())


def measured(size: str, progress: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Return what profiles of a size find of each player, as far as ``progress`` lacks it.

    The matches go to a store of the folder, so that changed tests need no new matches.
    """
    digest = hashlib.sha256(ct.profiles.battery().model_dump_json().encode()).hexdigest()[:12]
    lines = map(json.loads, progress.read_text().splitlines()) if progress.exists() else ()
    done = {one["player"]: one for one in lines if (one["size"], one["battery"]) == (size, digest)}
    with ct.Store.open(folder / f"{size}.sqlite", create=True) as store:
        for name in PLAYERS:
            if name in done:
                continue
            found, answers = examined(store, name, size)
            done[name] = {
                "size": size, "battery": digest, "player": name, "answers": answers,
                "findings": [one.key for one in found.findings],
                "fired": {one.key: one.tested for one in found.weaknesses},
                "p": {one.key: one.p for one in found.weaknesses},
            }  # fmt: skip
            with progress.open("a") as file:
                file.write(f"{json.dumps(done[name])}\n")
            print(f"{size} {name}: {answers:,} answers; {verdict(done[name])}", flush=True)
    return done


def is_named(row: Mapping[str, Any]) -> bool:
    """Return whether the first findings name the planted weakness."""
    return bool({*row["findings"][:FIRST]} & {*WEAK[row["player"]].keys})


def verdict(row: Mapping[str, Any]) -> str:
    """Return what a profile found, in words."""
    found = ", ".join(row["findings"]) or "nothing"
    if row["player"] in SOUND:
        return f"no weakness planted, found {found}"
    return f"{'named' if is_named(row) else 'MISSED'}, found {found}"


def rows_of(size: str, progress: Path, folder: Path) -> Iterator[Row]:
    """Yield the figures of a size."""
    done = measured(size, progress, folder)
    weak = [done[name] for name in WEAK]
    missed = [one["player"] for one in weak if not is_named(one)]
    accused = [one for one in (done[name] for name in SOUND) if one["findings"]]
    yield Row(
        f"planted weaknesses that the first {FIRST} findings name, {size}",
        len(weak) - len(missed), f"of {len(weak)}", (">=", GOALS[size]),
        f"missed: {', '.join(missed) or 'none'}",
    )  # fmt: skip
    named = "; ".join(f"{one['player']}: {', '.join(one['findings'])}" for one in accused)
    yield Row(
        f"players without a weakness of whom one is named, {size}", len(accused),
        f"of {len(SOUND)}", ("<=", FALSE), named,
    )  # fmt: skip
    others = sum(bool({*one["findings"]} - {*WEAK[one["player"]].keys}) for one in weak)
    yield Row(f"players of whom another weakness is named, too, {size}", others, f"of {len(weak)}")
    fired = {key: min(one["fired"][key] for one in done.values()) for key in weak[0]["fired"]}
    key = min(fired, key=lambda one: fired[one])
    yield Row(f"least times that a trigger fired, {size}", fired[key], "times", (">=", FIRED), key)
    answers = sorted(one["answers"] for one in done.values())
    yield Row(
        f"answers of a player, {size}", answers[len(answers) // 2], "", None,
        f"median; {answers[0]:,} to {answers[-1]:,}",
    )  # fmt: skip


def rows() -> Iterator[Row]:
    """Yield the figures of both sizes."""
    with TemporaryDirectory() as folder:
        for size in GOALS:
            yield from rows_of(size, Path(folder) / "progress.jsonl", Path(folder))


def main() -> None:
    """Print the figures of one size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--size", choices=GOALS, default="small")
    parser.add_argument("--progress", type=Path, default=Path("profile_weaknesses.jsonl"))
    parser.add_argument("--folder", type=Path, default=Path(), help="where stores of matches are")
    options = parser.parse_args()
    for row in rows_of(options.size, options.progress, options.folder):
        print(f"{row.what}: {row.value:,.0f} {row.unit}; {row.note}")


if __name__ == "__main__":
    main()
