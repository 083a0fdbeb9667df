"""An experiment of self-play on the command line: train self-play."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import cheaptalk as ct
from cheaptalk.cli.shared.printing import print_json, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.extras import needing


def experiment(
    name: str, out: Path | None, lineages: Collection[str], base: str | None, *, json: bool
) -> None:
    """Run an experiment, or go on with it, and say what came of it."""
    with needing("analysis"), needing("tune"):
        wanted = ct.papers.self_play.experiment.read_experiment(name)
        folder = out or Path(f"self-play-{wanted.name}")
        with StatusLine().shown(f"{folder}: beginning") as show:

            def told(stage: str, now: Any) -> None:
                show(f"{stage}: {how_far(now)}")

            found = ct.papers.self_play.experiment.run_experiment(
                wanted, folder, told, lineages=lineages, base=base
            )
    if json:
        print_json([one._asdict() for one in found])
        return
    for line in told_changes(found):
        say(line)
    say(f"The report is at {(folder / 'report.html').absolute()}")


def how_far(now: Any) -> str:
    """How far matches, or a training, are."""
    if isinstance(now, ct.studies.Progress):
        return f"{now.done:,} of {now.done + now.left:,} matches"
    return f"step {now.done:,} of {now.of:,}, loss {now.loss:.4f}"


def told_changes(found: Iterable[Any]) -> list[str]:
    """What changed from the base to the last iteration, a line for each lineage and partner."""
    kinds: dict[tuple[str, str], list[Any]] = {}
    rows = list(found)
    lineages = {one.lineage for one in rows}
    for one in rows:
        if one.partner.rpartition("-iteration-")[0] not in lineages:
            kinds.setdefault((one.lineage, one.partner), []).append(one)
    return [
        f"{lineage} with {partner}: {_change(rows[0], rows[-1])}"
        for (lineage, partner), rows in kinds.items()
        if len(rows) > 1
    ]


def _change(first: Any, last: Any) -> str:
    """From the first to the last iteration: payoffs, agreements and inconsistent moves."""

    def ends(name: str, form: str) -> str:
        values = [one.means[name] for one in (first, last)]
        return " to ".join("nothing" if one is None else format(one, form) for one in values)

    return (
        f"payoff {ends('payoff', '.2f')}, agreement {ends('agreement', '.0%')}, inconsistent moves "
        f"{ends('inconsistency', '.1%')}, inverted proposals {ends('inverted_proposals', '.0%')}"
    )
