"""Importer of recorded GAMA-Bench games (Huang et al. 2025), replayed with cheaptalk's rules.

A game is a JSON file with ``meta``, ``round_records`` and ``player_data``; ``meta.name_exp``
identifies the game. Conversion:

* ``player_0`` becomes ``player_1``. Choices are read from the player's record, because GAMA
  shuffled the choices of a round in place in some games; in Battle royale, from the round.
* Valuations, winners of tied bids and hits are the recorded random draws.
* Parameters of imported games allow contributions above a player's tokens, and shots at oneself or
  at dead players.
* An order other than ``cheap`` counts as a costly dish, even ``cheap_dish``, as in GAMA; the record
  keeps the word under ``source``, with a note.
* Models have short names, with the version in the file name. Without a version, ``gpt-3.5-turbo``
  is ``gpt-3.5-turbo-0125``, the paper's default (section 3).
* Only file names contain temperature, phrase and persona. Players of one model that differ in these
  settings are separate players with treatments; see :mod:`.files`.
* Missing settings are taken from the file name, the folder or the rounds if possible.
* Every answer counts as ``ok``, because GAMA doesn't record how often it repeated requests.

The recorded results of a round are compared with results computed from the choices. A file with
contradictions is skipped, with field and reason.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from cheaptalk.papers.gama.importer import games
from cheaptalk.papers.gama.importer.files import (
    ALIASES,
    PERSON,
    FileName,
    GamaFile,
    Treatment,
    exact_model,
    is_special,
)
from cheaptalk.players import ImportedSeat
from cheaptalk.records.imports.files import faults, files_in, path_name, read_json
from cheaptalk.records.imports.importing import (
    GameCollection,
    ImportedGame,
    Importer,
    ImportFailed,
    Skipped,
    folder_reader,
)
from cheaptalk.rules import CheaptalkError, ReplayMismatch, Table, get_game, replay_answer
from cheaptalk.rules.errors import shown

M = TypeVar("M", bound=BaseModel)
AnyFile: TypeAlias = GamaFile[Any, Any, Any]

SYSTEM = "gama"
FILES: dict[str, type[AnyFile]] = {
    "guessing_game": games.Guess,
    "bar_game": games.Bar,
    "divide_dollar": games.Dollar,
    "public_goods": games.Goods,
    "diner_dilemma": games.Diners,
    "sealed_bid_auction": games.Auction,
    "battle_royale": games.Battle,
    "pirate_game": games.Pirates,
}
VERSIONED = re.compile(r"_v\d.*", re.DOTALL)


def read_gama(folder: Path | str, aliases: Mapping[str, str] | None = None) -> GameCollection:
    """Return the recorded GAMA-Bench games in a folder and its subfolders, ready to import.

    Args:
        aliases: canonical names by model name, which take precedence over
            :data:`~cheaptalk.papers.gama.importer.files.ALIASES`.

    Raises:
        CheaptalkError: the folder doesn't exist, or has no JSON files.
    """
    folder = Path(folder)
    skipped: list[Skipped] = []
    ignored: list[str] = []
    files = files_in(folder, ".json", skipped, ignored)
    if not files and not skipped:
        raise CheaptalkError(f"{folder} contains no .json files, even in subfolders")
    names = ALIASES | dict(aliases or {})
    games_ = _games(folder, files, skipped, names)
    return GameCollection(SYSTEM, games_, folder.resolve().name, ignored=ignored)


def _games(
    root: Path, files: list[Path], skipped: list[Skipped], aliases: Mapping[str, str]
) -> Iterator[ImportedGame | Skipped]:
    yield from skipped
    for path in files:
        location = path_name(root, path)
        try:
            yield _game(path, location, aliases)
        except ImportFailed as reason:
            yield Skipped(location, str(reason).removeprefix(f"{path.name}: "))


def _game(path: Path, location: str, aliases: Mapping[str, str]) -> ImportedGame:
    data = read_json(path)
    stem = path_name(path.parent, path).removesuffix(".json")
    folder = path_name(path.parent, path.parent)
    notes: Counter[str] = Counter()
    name, file = _read(data, stem, folder, notes)
    file.check()
    recorded = file.models(name.model)
    treatment = name.treatment(file.meta.version)
    seats = {
        seat: _seat(model, name.model, aliases, treatment)
        for seat, model in zip(file.seats, recorded, strict=True)
    }
    notes.update(file.notes())
    notes.update(
        {
            f"model {shown(model)}: read as {seat.model}"
            for model, seat in zip(recorded, seats.values(), strict=True)
            if seat.model and not model.endswith(seat.model)
        }
    )
    notes.update(
        f"model {shown(model)} from the settings used for a player recorded as {shown(named)}"
        for model, named in file.other_models()
    )
    id_ = f"{folder}/{stem}"
    table = _replayed(file, f"{SYSTEM}/{id_}")
    source = {
        "system": SYSTEM,
        "id": id_,
        "folder": location,
        "meta": data["meta"],
        "models": sorted({player.model for player in file.player_data if player.model}),
        "opening": file.player_data[0].prompt[0].text if file.player_data[0].prompt else None,
        "unused": file.unused(),
    }
    return ImportedGame(id_, table, seats, source, location, notes=notes)


def _read(data: Any, stem: str, folder: str, notes: Counter[str]) -> tuple[FileName, AnyFile]:
    meta = data.get("meta") if isinstance(data, dict) else None
    experiment = meta.get("name_exp") if isinstance(meta, dict) else None
    name = FileName.of(stem, str(experiment))
    kinds = [part for part in FILES if part in str(experiment)]
    if not kinds and name.game and isinstance(experiment, str):
        kinds = [name.game]
        notes[f'game "{VERSIONED.sub("", experiment)}": read as {name.game}'] += 1
    if len(kinds) != 1 or not isinstance(meta, dict):
        raise ImportFailed(
            f'"meta.name_exp": {shown(experiment)} contains none of {", ".join(FILES)}'
        )
    kind = FILES[kinds[0]]
    inferred = {
        key: value for key, value in kind.inferred_settings(name, folder).items() if key not in meta
    }
    notes.update(
        f'"meta.{key}" is missing, assumed to be {value}' for key, value in inferred.items()
    )
    return name, _checked(kind, data | {"meta": inferred | meta})


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
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ImportFailed(f'"{part}": {faults(error)}' if part else faults(error)) from None


def _replayed(file: AnyFile, seed: str) -> Table:
    """Replay the file's answers with cheaptalk's rules until the game ends."""
    game = _checked(get_game(file.game).rules, file.parameters(), "meta")
    instance = _checked(game.instance_type, file.instance(), "round_records")
    table = Table(game, instance, seed)
    for seat, fields, location in file.answers():
        try:
            replay_answer(table, table.requests, seat, fields)
        except ReplayMismatch as mismatch:
            raise ImportFailed(f'"{location}": {mismatch}') from None
    if not table.over:
        raise ImportFailed('"round_records": the game has not ended after the last round')
    return table


IMPORTER = Importer("Import recorded games of GAMA-Bench.", folder_reader(read_gama))
