"""Lookup of the study named on the command line: a file, a preset, or a study in the store."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import err

POOLED = "pooled.sqlite"
"""Name of the file of pooled studies."""

NONE_ADDED: Mapping[str, Sequence[str]] = MappingProxyType({})
NONE_REPLACED: Mapping[str, str] = MappingProxyType({})


@contextmanager
def opened(store: str) -> Iterator[ct.Store | None]:
    """Open the store at a path or URL; yield None if it does not exist."""
    try:
        existing = ct.Store.open(store)
    except ct.records.StoreNotFound:
        existing = None
    with existing or nullcontext():
        yield existing


class ReportedStudy(NamedTuple):
    """An open store, the name of a study in it, and the command that shows its matches.

    The command is None if ``cheaptalk view`` with the store shows them.
    """

    store: ct.Store
    name: str
    command: str | None = None


@contextmanager
def pooled(
    studies: Sequence[str], stores: Sequence[str], name: str | None = None
) -> Iterator[ReportedStudy]:
    """Yield a stored study; several studies are pooled in a temporary store.

    The pooled study has the given name or, by default, the names of all studies.

    A study that several of the stores contain is pooled, too.

    Raises:
        StoreError: no store contains a study, or the studies can't be pooled.
    """
    with ExitStack() as stack:
        sources = stack.enter_context(sources_of(studies, stores))
        if len(sources) == 1:
            yield ReportedStudy(*sources[0])
            return
        file = str(Path(stack.enter_context(TemporaryDirectory())) / POOLED)
        pooled_name = pool(sources, file, name)
        places = [*studies, "--store", stores[0]]
        places += [word for store in stores[1:] for word in ("--add-store", store)]
        places += ["--name", name] if name else []
        command = (
            f"cheaptalk store pool {shlex.join(places)} --to {POOLED} && "
            f"cheaptalk view {shlex.quote(pooled_name)} --store {POOLED}"
        )
        yield ReportedStudy(stack.enter_context(ct.Store.open(file)), pooled_name, command)


@contextmanager
def sources_of(
    studies: Sequence[str], stores: Sequence[str]
) -> Iterator[list[tuple[ct.Store, str]]]:
    """Yield each study with each of the stores that contain it.

    Raises:
        StoreError: no store contains a study.
    """
    with ExitStack() as stack:
        open_stores = [stack.enter_context(ct.Store.open(store)) for store in stores]
        sources = [
            (store, study)
            for study in dict.fromkeys(studies)
            for store in _with_study(study, open_stores)
        ]
        yield sources


def pool(sources: Sequence[tuple[ct.Store, str]], to: str, name: str | None = None) -> str:
    """Pool studies in a new store, show the progress, and return the name of the pooled study."""
    with err.status("pooling the studies") as status:
        return ct.records.pool(
            sources,
            to,
            name,
            lambda done, total: status.update(f"pooled {done:,} of {total:,} rows"),
        )


def _with_study(study: str, stores: Sequence[ct.Store]) -> list[ct.Store]:
    """Return the stores that contain a study."""
    containing = [store for store in stores if is_stored(study, store)]
    if not containing and len(stores) > 1:
        names = ", ".join(store.name for store in stores)
        raise ct.records.StoreError(
            f'no study "{study}" in {names}; to list studies, run: cheaptalk status'
        )
    if not containing:
        stores[0].study(study)  # raises with a suggestion
    return containing


def is_stored(study: str, store: ct.Store | None) -> bool:
    """Return whether a store exists and contains a study."""
    return store is not None and any(
        summary.name == study for summary in store.studies(counted=False)
    )


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


class FoundStudy(NamedTuple):
    """A study with the players that options of the command line add to it.

    Attributes:
        players: the labels of the players that each ``--player`` option adds, by its label.
        rosters: the labels of the players that each ``--roster`` option adds, by its value.
        replaced: the new label of each player whose model ``--replace`` replaces, by old label.
    """

    study: ct.Study
    players: Mapping[str, Sequence[str]] = NONE_ADDED
    rosters: Mapping[str, Sequence[str]] = NONE_ADDED
    replaced: Mapping[str, str] = NONE_REPLACED

    @property
    def replacements(self) -> list[str]:
        """A line for each player that replaces others."""
        old_labels: dict[str, list[str]] = {}
        for old, new in self.replaced.items():
            old_labels.setdefault(new, []).append(old)
        return [
            f"{', '.join(labels)} {'is' if len(labels) == 1 else 'are'} replaced with {new} "
            f"({self.study.players[new].written()['model']})"
            for new, labels in old_labels.items()
        ]

    def check_seated(self, planned: ct.studies.Plan) -> None:
        """Check that planned matches include each added player, and a player of each roster."""
        unseated = planned.unseated
        seated = [label for label in self.study.players if label not in unseated]
        advice = "use the label of a player in a pairing, or add pairings to the study file"
        for label, added in self.players.items():
            if all(player in unseated for player in added):
                suggestion = ct.rules.suggest(label, seated)
                raise ct.studies.StudyError(f"--player: no pairing includes {suggestion}; {advice}")
        for roster, added in self.rosters.items():
            if all(player in unseated for player in added):
                raise ct.studies.StudyError(
                    f"--roster: no pairing includes a player of {roster}; {advice}"
                )

    def absent_players(self, planned: ct.studies.Plan) -> list[str]:
        """Return the labels of the ``--player`` options that play in none of a plan's matches."""
        if not self.players:
            return []
        present = {label for _, seating in planned.counts() for label in seating}
        return [label for label, added in self.players.items() if present.isdisjoint(added)]


def find_study(
    name: str,
    store: str,
    players: Sequence[str] | None,
    rosters: Sequence[str] | None,
    replace: Sequence[str] | None,
    *,
    prefer_stored: bool = False,
) -> FoundStudy:
    """Return a study from a file, a preset or the store, looked up in this order.

    Args:
        prefer_stored: look in the store before the presets, because the stored study may have
            players that were added to the preset.
        players: players LABEL=SPEC to add or replace.
        rosters: rosters NAME_OR_FILE:LABEL,... whose players are added.
        replace: models OLD=MODEL to replace.
    """
    study = _study_named(name, store, prefer_stored=prefer_stored)
    if not (players or rosters or replace):
        return FoundStudy(study)
    entries, new_models = _entries(players or ()), opt.replacements(replace or ())
    with naming(name):
        complete = ct.studies.with_players(study, entries, rosters or ())
        final = ct.studies.with_players(complete, replace=new_models)
    replaced = ct.studies.new_labels(complete, new_models)
    crossings = ct.studies.crossed_entries(complete.factors)
    crossed = {entry.label: entry.players for entry in crossings}
    return FoundStudy(
        final,
        {
            label: [replaced.get(player, player) for player in crossed.get(label, [label])]
            for label in entries
        },
        {
            roster: [replaced.get(player, player) for player in ct.players.rosters.chosen(roster)]
            for roster in rosters or ()
        },
        replaced,
    )


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


def _study_named(name: str, store: str, *, prefer_stored: bool) -> ct.Study:
    path = Path(name)
    if name.endswith(ct.studies.FILES) or path.is_file():
        return ct.load_study(path)
    is_preset = name in ct.studies.preset_names()
    if is_preset and not prefer_stored:
        return ct.preset(name)
    with opened(store) as existing:
        if existing is not None and is_stored(name, existing):
            return ct.studies.stored_study(existing, name)
        stored = {study.name for study in existing.studies(counted=False)} if existing else set()
    if is_preset:
        return ct.preset(name)
    names = sorted({*ct.studies.preset_names(), *stored})
    raise ct.studies.StudyError(
        f"no study file, preset or stored study {ct.rules.suggest(name, names)}"
    )
