"""Lookup of the study named on the command line: a file, a preset, or a study in the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt


@contextmanager
def opened(store: str) -> Iterator[ct.Store | None]:
    """Open the store at a path or URL; yield None if it does not exist."""
    try:
        existing = ct.Store.open(store)
    except ct.records.StoreNotFound:
        existing = None
    with existing or nullcontext():
        yield existing


def check_free(store: str) -> None:
    """Check that a store can be written.

    Raises:
        StoreError: the store is read-only, or another process is writing to it.
    """
    with opened(store) as existing:
        if existing is not None:
            ct.studies.check_free(existing)


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Prefix errors about a study with its source."""
    try:
        yield
    except ct.studies.StudyError as error:
        raise ct.studies.StudyError(f"{source}: {error}") from None


def find_study(
    name: str, store: str, players: Sequence[str] = (), rosters: Sequence[str] = ()
) -> ct.Study:
    """Return a study from a file, a preset or the store, looked up in this order.

    Players LABEL=SPEC are added or replaced, and those of rosters NAME_OR_FILE:LABEL,... added.
    """
    study = _study_named(name, store)
    if not players and not rosters:
        return study
    with naming(name):
        return ct.studies.with_players(study, _entries(players), rosters)


def check_seated(planned: ct.studies.Plan, players: Sequence[str], rosters: Sequence[str]) -> None:
    """Check that planned matches include each given player, and a player of each roster."""
    study, unseated = planned.study, planned.unseated
    seated = [label for label in study.players if label not in unseated]
    advice = "use the label of a player in a pairing, or add pairings to the study file"
    for label, generated in _generated(planned, players).items():
        if all(player in unseated for player in generated):
            suggestion = ct.rules.suggest(label, seated)
            raise ct.studies.StudyError(f"--player: no pairing includes {suggestion}; {advice}")
    for roster in rosters:
        if all(label in unseated for label in ct.players.rosters.chosen(roster)):
            raise ct.studies.StudyError(
                f"--roster: no pairing includes a player of {roster}; {advice}"
            )


def absent_players(planned: ct.studies.Plan, players: Sequence[str]) -> list[str]:
    """Return the labels of the given players that play in none of a plan's matches."""
    if not players:
        return []
    present = {label for _, seating in planned.counts() for label in seating}
    given = _generated(planned, players)
    return [label for label, generated in given.items() if present.isdisjoint(generated)]


def _generated(planned: ct.studies.Plan, players: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the labels of the players that each ``--player`` option generates, by its label."""
    crossed = {entry.label: entry.players for entry in planned.crossed}
    return {label: crossed.get(label, [label]) for label in _entries(players)}


def _entries(players: Sequence[str]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for text in players:
        form = "LABEL=SPEC, e.g. rival=linear or gpt=openai/gpt-4o"
        label, spec = opt.pair(text, form, "--player")
        if label in entries:
            raise typer.BadParameter(
                f'duplicate label "{label}"; labels must be unique', param_hint="--player"
            )
        entries[label] = opt.player_entry(spec)
    return entries


def _study_named(name: str, store: str) -> ct.Study:
    path = Path(name)
    if name.endswith(ct.studies.FILES) or path.is_file():
        return ct.load_study(path)
    if name in ct.studies.preset_names():
        return ct.preset(name)
    with opened(store) as existing:
        stored = {study.name for study in existing.studies(counted=False)} if existing else set()
        if existing is not None and name in stored:
            return ct.studies.stored_study(existing, name)
    names = sorted({*ct.studies.preset_names(), *stored})
    raise ct.studies.StudyError(
        f"no study file, preset or stored study {ct.rules.suggest(name, names)}"
    )
