"""Where a study that is named on the command line comes from: a file, a preset, or the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import pair, player_entry


@contextmanager
def opened(where: str) -> Iterator[ct.Store | None]:
    """The store at a path or URL, or None where there is none yet."""
    try:
        found = ct.Store.open(where)
    except ct.records.NoStore:
        found = None
    with found or nullcontext():
        yield found


def check_free(where: str) -> None:
    """Refuse a store that cannot be written now, before anything is said or asked.

    Raises:
        StoreError: another process writes to it, or nobody can.
    """
    with opened(where) as store:
        if store is not None:
            ct.studies.check_free(store)


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Begin what is said against a study with where it was written."""
    try:
        yield
    except ct.StudyError as error:
        raise ct.StudyError(f"{source}: {error}") from None


def find_study(
    name: str, store: str, players: Sequence[str] = (), rosters: Sequence[str] = ()
) -> ct.Study:
    """A study from a file, a preset, or a store, looked for in this order.

    Args:
        players: roster entries to add or to put in place of others, as LABEL=SPEC.
        rosters: rosters whose players join, as NAME_OR_FILE or NAME_OR_FILE:LABEL,...

    Raises:
        StudyError: there is none, or it is not legal.
    """
    study = _study_named(name, store)
    if not players and not rosters:
        return study
    with naming(name):
        return ct.studies.with_players(study, _entries(players), rosters)


def check_seated(planned: ct.studies.Plan, players: Sequence[str], rosters: Sequence[str]) -> None:
    """Refuse players of the command line whom no pairing seats: they would be left out silently.

    Of a roster one player at least must be seated.

    Args:
        players, rosters: as for :func:`find_study`.

    Raises:
        StudyError: some are not.
    """
    study, unseated = planned.study, planned.unseated
    seated = [label for label in study.players if label not in unseated]
    cure = "take the label of one whom they seat, or list the seating in the pairing of a file"
    crossed = {entry.label: entry.players for entry in planned.crossed}
    for label in _entries(players):
        if all(player in unseated for player in crossed.get(label, [label])):
            raise ct.StudyError(
                f"--player: no pairing seats {ct.rules.suggest(label, seated)}; {cure}"
            )
    for roster in rosters:
        if all(label in unseated for label in ct.players.rosters.chosen(roster)):
            raise ct.StudyError(f"--roster {roster}: no pairing seats any of its players; {cure}")


def _entries(players: Sequence[str]) -> dict[str, Any]:
    """Roster entries as written behind ``--player``."""
    entries: dict[str, Any] = {}
    for written in players:
        form = "LABEL=SPEC, such as rival=linear or gpt=openai/gpt-4o"
        label, spec = pair(written, form, "--player")
        if label in entries:
            raise typer.BadParameter(
                f'"{label}" stands twice; give one of them another label', param_hint="--player"
            )
        entries[label] = player_entry(spec)
    return entries


def _study_named(name: str, store: str) -> ct.Study:
    path = Path(name)
    if name.endswith(ct.studies.FILES) or path.is_file():
        return ct.load_study(path)
    found = ct.preset(name)
    if found is not None:
        return found
    with opened(store) as there:
        known = {one.name for one in there.studies(counted=False)} if there else set()
        if there is not None and name in known:
            return ct.studies.stored_study(there, name)
    names = sorted({*ct.studies.preset_names(), *known})
    raise ct.StudyError(f"no study file, preset or stored study {ct.rules.suggest(name, names)}")
