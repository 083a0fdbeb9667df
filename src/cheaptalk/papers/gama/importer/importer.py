"""The recorded games of GAMA-Bench (Huang et al. 2025), played again by our rules.

A game is a JSON file with ``meta``, ``round_records`` and ``player_data``; which of the eight it
is, stands in ``meta.name_exp``. In our terms:

* ``player_0`` is ``player_1``. What a player chose is what its own record says, since GAMA shuffled
  the choices of a round in place in some games; in Battle royale, what the round says.
* What is drawn by chance is as recorded: valuations, winners of tied bids, hits.
* Moves that our rules refuse by default are legal under the parameters that an imported game has:
  contributions above the tokens that a player has, shots at oneself or at the dead.
* An order other than ``cheap`` counts as a costly dish, ``cheap_dish`` too, since GAMA charged and
  reported it so; the word is kept in the record under ``source``, and counted.
* A model is called by its short name, with the version that the file's name tells;
  ``gpt-3.5-turbo`` is else ``gpt-3.5-turbo-0125``, with which the paper played all games that do
  not say more (section 3).
* Temperature, phrase and persona stand in the names of files alone. Players of one model who differ
  in them are players of their own, each with its treatment; see :mod:`.names`.
* Where a setting is missing that the file's name, its folder or its rounds tell, it is taken from
  there.
* Every answer counts as ``ok``: GAMA asked again until it could read one, and does not say how
  often.

The parts of a file must agree: what a round is said to have come to is worked out again from the
choices. A file that does not fit is left out, with field and reason.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from cheaptalk.papers.gama.importer.files import PERSON, GamaFile, is_special
from cheaptalk.papers.gama.importer.games import (
    Auction,
    Bar,
    Battle,
    Diners,
    Dollar,
    Goods,
    Guess,
    Pirates,
)
from cheaptalk.papers.gama.importer.names import ALIASES, FileName, Treatment, exact_model
from cheaptalk.players import ImportedSeat
from cheaptalk.records.imports.files import faults, place_name, read_json, walk
from cheaptalk.records.imports.importers import Importer, of_folder
from cheaptalk.records.imports.intake import Collection, ForeignGame, Skipped, Unfit
from cheaptalk.rules import CheaptalkError, ReplayMismatch, Table, game_box, give
from cheaptalk.rules.errors import shown

M = TypeVar("M", bound=BaseModel)
AnyFile: TypeAlias = GamaFile[Any, Any, Any]

SYSTEM = "gama"
FILES: dict[str, type[AnyFile]] = {
    "guessing_game": Guess, "bar_game": Bar, "divide_dollar": Dollar, "public_goods": Goods,
    "diner_dilemma": Diners, "sealed_bid_auction": Auction, "battle_royale": Battle,
    "pirate_game": Pirates,
}  # fmt: skip
"""The kinds of files, by a part of their ``name_exp``."""
VERSIONED = re.compile(r"_v\d.*", re.DOTALL)
"""What stands behind the game in a name."""


def read_gama(folder: Path | str, aliases: Mapping[str, str] | None = None) -> Collection:
    """The games in a folder and all folders below it, for :func:`take_in`.

    Args:
        aliases: models' names and what they are to be called, so that two names are one player;
            beside :data:`~cheaptalk.papers.gama.importer.names.ALIASES`, and before them.

    Raises:
        CheaptalkError: there is no such folder, or no JSON file in it.
    """
    folder = Path(folder)
    skipped: list[Skipped] = []
    files = [inner / name for inner, names in walk(folder, skipped)
             for name in names if name.endswith(".json")]  # fmt: skip
    if not files and not skipped:
        raise CheaptalkError(f"{folder}: no folder in it holds a .json file")
    names = ALIASES | dict(aliases or {})
    return Collection(SYSTEM, folder.resolve().name, _games(folder, files, skipped, names))


def _games(
    root: Path, files: list[Path], skipped: list[Skipped], aliases: Mapping[str, str]
) -> Iterator[ForeignGame | Skipped]:
    yield from skipped
    for path in files:
        place = place_name(root, path)
        try:
            yield _game(path, place, aliases)
        except Unfit as reason:
            yield Skipped(place, str(reason).removeprefix(f"{path.name}: "))


def _game(path: Path, place: str, aliases: Mapping[str, str]) -> ForeignGame:
    written = read_json(path)
    stem = place_name(path.parent, path).removesuffix(".json")
    folder = place_name(path.parent, path.parent)
    notes: Counter[str] = Counter()
    name, file = _read(written, stem, folder, notes)
    file.check()
    recorded = file.models(name.model)
    treatment = name.treatment(file.meta.version)
    seats = {seat: _seat(model, name.model, aliases, treatment)
             for seat, model in zip(file.places, recorded, strict=True)}  # fmt: skip
    notes.update(file.notes())
    notes.update({
        f"the model {shown(model)} read as {seat.model}"
        for model, seat in zip(recorded, seats.values(), strict=True)
        if seat.model and not model.endswith(seat.model)
    })  # fmt: skip
    notes.update(
        f"the model of the settings, {shown(model)}, taken for a player called {shown(other)}"
        for model, other in file.other_models()
    )
    id_ = f"{folder}/{stem}"
    table = _replayed(file, f"{SYSTEM}/{id_}")
    source = {
        "system": SYSTEM, "id": id_, "folder": place, "meta": written["meta"],
        "models": sorted({player.model for player in file.player_data if player.model}),
        "opening": file.player_data[0].prompt[0].text if file.player_data[0].prompt else None,
        "unused": file.unused(),
    }  # fmt: skip
    return ForeignGame(id_, place, table, seats, source, notes=notes)


def _read(written: Any, stem: str, folder: str, notes: Counter[str]) -> tuple[FileName, AnyFile]:
    """What a file holds and what its name tells, where the file leaves it open."""
    meta = written.get("meta") if isinstance(written, dict) else None
    called = meta.get("name_exp") if isinstance(meta, dict) else None
    name = FileName.of(stem, str(called))
    kinds = [part for part in FILES if part in str(called)]
    if not kinds and name.game and isinstance(called, str):
        kinds = [name.game]
        notes[f'the game "{VERSIONED.sub("", called)}" read as {name.game}'] += 1
    if len(kinds) != 1 or not isinstance(meta, dict):
        raise Unfit(f'"meta.name_exp": {shown(called)} names none of the games {", ".join(FILES)}')
    kind = FILES[kinds[0]]
    told = {
        key: value for key, value in kind.told_elsewhere(name, folder).items() if key not in meta
    }
    notes.update(f'"meta.{key}" missing, read as {value}' for key, value in told.items())
    return name, _checked(kind, written | {"meta": told | meta})


def _seat(
    recorded: str, named: str | None, aliases: Mapping[str, str], treatment: Treatment
) -> ImportedSeat:
    if recorded == PERSON:
        return ImportedSeat(imported=SYSTEM, person=True)
    if is_special(recorded):
        return ImportedSeat(imported=SYSTEM, model=recorded)
    model = exact_model(recorded, named, aliases)
    return ImportedSeat(imported=SYSTEM, model=model, treatment=treatment)


def _checked(model: type[M], data: Any, part: str | None = None) -> M:
    """The data as a model of this type.

    Args:
        part: the part of the file that it was made of, if it is not the file itself.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise Unfit(f'"{part}": {faults(error)}' if part else faults(error)) from None


def _replayed(file: AnyFile, seed: str) -> Table:
    """Play the file's answers at our table, to the end.

    Raises:
        Unfit: the settings are impossible, an answer is refused, or the game does not end.
    """
    game = _checked(game_box(file.game).rules, file.parameters(), "meta")
    deal = _checked(game.deal_type, file.deal(), "round_records")
    table = Table(game, deal, seed)
    for seat, fields, place in file.answers():
        try:
            give(table, table.requests, seat, fields)
        except ReplayMismatch as mismatch:
            raise Unfit(f'"{place}": {mismatch}') from None
    if not table.over:
        raise Unfit('"round_records": the game is not over after the last round')
    return table


IMPORTER = Importer("Import recorded games of GAMA-Bench.", of_folder(read_gama))
