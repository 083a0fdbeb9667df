"""Studies played for tests of recipes, and the rows of the recipes' tables."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import cheaptalk as ct
from cheaptalk.calls.dispatcher import Models
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, DealOrNoDeal
from cheaptalk.players import ImportedSeat
from cheaptalk.records.imports.importing import ImportedGame
from cheaptalk.records.store.queries import count, seats_of
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.findings import Findings, findings, recipe_of
from cheaptalk.rules import Chance, Decide
from cheaptalk.rules import play as play_game
from cheaptalk.web.viewer.viewer import _match_filter


def play(
    folder: Path, study: Mapping[str, Any], models: Models | None = None, **changes: Any
) -> Path:
    """Play a study with changes and return the path of its store."""
    folder.mkdir(exist_ok=True)
    path = folder / "store.sqlite"
    with ct.Store.open(path, create=True) as store:
        ct.run(ct.studies.parse_study({**study, **changes}, "a test"), store, models=models)
    return path


def report(
    store: ct.Store | Path,
    name: str,
    *parts: str,
    study: str | None = None,
    draws: int = 100,
    **options: Any,
) -> Findings:
    """Return a recipe's findings, or those of some parts, on the first study in a store."""
    recipe = recipe_of(name)
    selected = tuple(part for part in recipe.parts if part.title in parts or not parts)
    with ct.Store.opened(store) as opened:
        study = study or opened.studies()[0].name
        return findings(opened, study, replace(recipe, parts=selected), draws=draws, **options)


PERSON = ImportedSeat(imported="mine", person=True)


def recorded_game(
    id_: str, game: DealOrNoDeal, *players: tuple[Decide, ImportedSeat]
) -> ImportedGame:
    """Return a game between strategies as if others had played it in another system."""
    strategies, seats = (
        dict(zip(PLAYERS, parts, strict=True)) for parts in zip(*players, strict=True)
    )
    table = play_game(game, game.draw_instance(Chance(id_)), id_, strategies)
    return ImportedGame(id_, table, seats, {"id": id_})


def count_linked(store: ct.Store, lead: Lead | None) -> int:
    """Return the number of matches of the first study in a store that a link shows."""
    assert lead is not None
    study = store.studies()[0].name
    wanted = _match_filter(lead.game, seats_of(store, study)[lead.game], lead.query)
    return count(store, study, wanted)


def rows_of(results: Findings, table: str, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows of a table that have these values."""
    return results.tables[table].frame.filter(**wanted).to_dicts()


def row_of(results: Findings, table: str, **wanted: Any) -> dict[str, Any]:
    """Return the only row of a table that has these values."""
    (row,) = rows_of(results, table, **wanted)
    return row
