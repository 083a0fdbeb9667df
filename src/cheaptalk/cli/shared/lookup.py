"""Where a study that is named on the command line comes from: a file, a preset, or the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import pair, player_entry


@contextmanager
def opened(path: Path) -> Iterator[ct.Store | None]:
    """The store, or None where there is none yet."""
    if not path.exists():
        yield None
        return
    with ct.Store.open(path) as store:
        yield store


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Begin what is said against a study with where it was written."""
    try:
        yield
    except ct.StudyError as error:
        raise ct.StudyError(f"{source}: {error}") from None


def find_study(
    name: str, store: Path, players: Sequence[str] = (), rosters: Sequence[str] = ()
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
    data = study.written() | {"roster": list(rosters)}
    data["players"] |= _entries(players)
    return ct.studies.parse_study(data, name)


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


def _study_named(name: str, store: Path) -> ct.Study:
    path = Path(name)
    if path.suffix in (".yaml", ".yml", ".json") or path.is_file():
        return ct.load_study(path)
    found = ct.preset(name)
    if found is not None:
        return found
    with opened(store) as there:
        known = {one.name: one.spec for one in there.studies()} if there else {}
    if name in known:
        return stored_study(name, known[name])
    names = sorted({*ct.studies.preset_names(), *known})
    raise ct.StudyError(f"no study file, preset or stored study {ct.rules.suggest(name, names)}")


def stored_study(name: str, spec: dict[str, Any]) -> ct.Study:
    """A study as the store holds it.

    Raises:
        StudyError: it was imported, or is not legal in this version.
    """
    if "players" not in spec:
        raise ct.StudyError(f'"{name}" was imported; there is nothing to play')
    return ct.studies.parse_study(spec, name)
