"""Detection of planted weaknesses: ``python -m bench.profile_weaknesses [--size SIZE]``.

The benchmark profiles 24 players with a planted weakness and 20 without one; all players play with
noise. A weakness is detected if one of the first three findings names it. Players without a
weakness should have no findings, and every trigger must fire often enough.

Results are appended to a file of JSON lines, one line per player. A second run with the same file
continues where the first run stopped. The baselines' matches are played once for all players.
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
"""Number of findings that count for detection."""
GOALS: Mapping[str, int] = {"small": 14, "standard": 20}
"""Required number of detected weaknesses, by profile size."""
FALSE = 1
"""Maximum number of players without a weakness who may have a finding."""
FIRED = 10
"""Required number of times that each trigger fires."""
PLAYERS: Mapping[str, Persona] = {
    **{name: planted.persona for name, planted in WEAK.items()}, **SOUND,
}  # fmt: skip


def examined(store: ct.Store, name: str, size: str) -> tuple[Examination, int]:
    """Profile a player; return the examination and the player's number of answers."""
    battery = ct.profiles.battery()
    label = f"player-{[*PLAYERS].index(name)}"
    model = f"vllm/{label}@http://127.0.0.1:1/v1"
    entry = ct.players.RosterEntry.model_validate({"model": model, "tries": 2})
    study = battery.study(label, entry, size)
    ct.run(study, store, workers=1, models=TextPlayer(PLAYERS[name], name))
    rows = seats(store, study.name, battery, label, battery.alike(entry))
    return examine(rows, label, battery), int(rows.filter(player=label)["answers"].sum())


def measured(size: str, progress: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the results of each player, and profile those that ``progress`` lacks.

    Matches are stored in ``folder``, so that changed tests do not require new matches.
    """
    digest = hashlib.sha256(ct.profiles.battery().model_dump_json().encode()).hexdigest()[:12]
    lines = map(json.loads, progress.read_text().splitlines()) if progress.exists() else ()
    done = {row["player"]: row for row in lines if (row["size"], row["battery"]) == (size, digest)}
    with ct.Store.open(folder / f"{size}.sqlite", create=True) as store:
        for name in PLAYERS:
            if name in done:
                continue
            examination, answers = examined(store, name, size)
            done[name] = {
                "size": size, "battery": digest, "player": name, "answers": answers,
                "findings": [finding.key for finding in examination.findings],
                "fired": {weakness.key: weakness.tested for weakness in examination.weaknesses},
                "p": {weakness.key: weakness.p for weakness in examination.weaknesses},
            }  # fmt: skip
            with progress.open("a") as file:
                file.write(f"{json.dumps(done[name])}\n")
            print(f"{size} {name}: {answers:,} answers; {verdict(done[name])}", flush=True)
    return done


def is_named(row: Mapping[str, Any]) -> bool:
    """Return whether the first findings name the planted weakness."""
    return bool({*row["findings"][:FIRST]} & {*WEAK[row["player"]].keys})


def verdict(row: Mapping[str, Any]) -> str:
    """Describe the findings of a player's profile."""
    findings = ", ".join(row["findings"]) or "none"
    if row["player"] in SOUND:
        return f"no planted weakness, findings: {findings}"
    return f"{'detected' if is_named(row) else 'MISSED'}, findings: {findings}"


def rows_of(size: str, progress: Path, folder: Path) -> Iterator[Row]:
    """Yield the figures of a profile size."""
    done = measured(size, progress, folder)
    weak = [done[name] for name in WEAK]
    missed = [row["player"] for row in weak if not is_named(row)]
    accused = [row for row in (done[name] for name in SOUND) if row["findings"]]
    yield Row(
        f"planted weaknesses named in the first {FIRST} findings, {size}",
        len(weak) - len(missed), f"of {len(weak)}", (">=", GOALS[size]),
        f"missed: {', '.join(missed) or 'none'}",
    )  # fmt: skip
    named = "; ".join(f"{row['player']}: {', '.join(row['findings'])}" for row in accused)
    yield Row(
        f"players without a weakness who have a finding, {size}", len(accused),
        f"of {len(SOUND)}", ("<=", FALSE), named,
    )  # fmt: skip
    others = sum(bool({*row["findings"]} - {*WEAK[row["player"]].keys}) for row in weak)
    yield Row(f"players with a finding that was not planted, {size}", others, f"of {len(weak)}")
    fired = {key: min(row["fired"][key] for row in done.values()) for key in weak[0]["fired"]}
    key = min(fired, key=lambda name: fired[name])
    yield Row(
        f"minimum number of times that a trigger fired, {size}",
        fired[key],
        "times",
        (">=", FIRED),
        key,
    )
    answers = sorted(row["answers"] for row in done.values())
    yield Row(
        f"answers per player, {size}", answers[len(answers) // 2], "", None,
        f"median; range {answers[0]:,} to {answers[-1]:,}",
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
    parser.add_argument("--folder", type=Path, default=Path(), help="folder of the match stores")
    options = parser.parse_args()
    for row in rows_of(options.size, options.progress, options.folder):
        print(f"{row.title}: {row.value:,.0f} {row.unit}; {row.note}")


if __name__ == "__main__":
    main()
