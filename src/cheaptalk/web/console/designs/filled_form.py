"""A study's form filled in with a study that there is already."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cheaptalk.players import ModelSeat, RosterEntry
from cheaptalk.players.seats import SEATS
from cheaptalk.rules import CheaptalkError, game_box
from cheaptalk.studies.factors import CROSS, crossed_entries, uncrossed
from cheaptalk.studies.study import GameGrid, Pairing, Sample, Study
from cheaptalk.web.console.designs.parameter_fields import parameter_fields
from cheaptalk.web.console.designs.people_fields import people_texts
from cheaptalk.web.console.designs.seatings import own_seatings, people_seatings
from cheaptalk.web.console.designs.step_rows import step_rows
from cheaptalk.web.console.designs.study_fields import GameFields, PlayerFields, StudyFields
from cheaptalk.web.console.designs.study_form import Unfit, first_of, study_from
from cheaptalk.yaml_files import as_block, as_yaml


class NotExpressible(CheaptalkError):
    """A study for which the form has no fields; the message says what it has, in a sentence."""


def fields_from(study: Study) -> StudyFields:
    """The form of a study, from which :func:`.study_from` makes an equal one.

    A grid of a single value becomes a fixed one, which comes to the same matches.

    Raises:
        NotExpressible: the form cannot hold all that the study says.
    """
    if study.deals_from is not None:
        raise NotExpressible(f'its deals are those of an earlier study, "{study.deals_from}"')
    form = _filled(study)
    try:
        made = study_from(form)
    except Unfit as error:
        where, problem = next(iter(error.problems.items()))
        raise NotExpressible(f"its {where or 'form'} would be refused: {problem}") from None
    wanted, found = _plain(study), _plain(made)
    for key, value in wanted.items():
        if json.dumps(value) != json.dumps(found.get(key)):
            raise NotExpressible(f"its {key} cannot be written in the fields of the form")
    return form


def _plain(study: Study) -> dict[str, Any]:
    """A study as data in which order counts but of codes, grids of a single value among what is
    fixed.
    """
    data = study.written()
    if study.people is not None:
        data["people"] |= {"codes": dict(sorted(study.people.codes.items()))}
    for game in data["games"]:
        single = {name: values[0] for name, values in game["grid"].items() if len(values) == 1}
        game["grid"] = {name: one for name, one in game["grid"].items() if name not in single}
        game["fixed"] = dict(sorted((game["fixed"] | single).items()))
    return data


def _filled(study: Study) -> StudyFields:
    budget = study.budget.model_dump(mode="json", exclude_defaults=True)
    dollars = budget.pop("dollars", None)
    pairing, seatings = _pairing(study.pairing, study.players, _places(study.games))
    return StudyFields(
        name=study.name,
        description=study.description,
        seed=str(study.seed),
        deals=str(study.deals),
        repeats=str(study.repeats),
        pairing=pairing,
        seatings=seatings,
        sample=str(study.pairing.sample) if isinstance(study.pairing, Sample) else "",
        swap="yes" if study.swap else "",
        models=_block(study.models),
        dollars="" if dollars is None else as_yaml(dollars),
        limits=_block(budget),
        unanswered=_block(study.unanswered.written()),
        people=people_texts(study.people) if study.people else {},
        steps=step_rows(study.people.path) if study.people else [],
        games=[_game(grid, study.players) for grid in study.games],
        players=[*_players(study)],
    )


def _block(settings: Mapping[str, Any]) -> str:
    return as_block(dict(settings)) if settings else ""


def _places(grids: list[GameGrid]) -> int:
    """The places of the first game that follows the study's pairing."""
    following = [grid for grid in grids if grid.pairing is None]
    return len(first_of((following or grids)[0]).places)


def _pairing(
    pairing: Pairing | Sample, players: Mapping[str, RosterEntry], places: int
) -> tuple[str, str]:
    """A pairing as it is chosen, and its seatings where they are listed."""
    if isinstance(pairing, Sample):
        return "all", ""
    if pairing == "self" and own_seatings(players, places):
        return "self_all", ""
    if not isinstance(pairing, list):
        return pairing, ""
    if pairing == own_seatings(players, places) != []:
        return "self", ""
    if pairing == people_seatings(players, places):
        return "people", ""
    return "listed", "\n".join(map(as_yaml, pairing))


def _game(grid: GameGrid, players: Mapping[str, RosterEntry]) -> GameFields:
    """What varies comes first, in the order of the grid; then what is fixed, and all others."""
    known = parameter_fields(game_box(grid.game).rules)
    written = grid.grid | {name: [value] for name, value in grid.fixed.items()}
    values = {name: known[name].texts(values) for name, values in written.items()}
    values |= {name: [] for name in known if name not in written}
    pairing, seatings = "", ""
    if grid.pairing is not None:
        pairing, seatings = _pairing(grid.pairing, players, len(first_of(grid).places))
    return GameFields(
        game=grid.game,
        values=values,
        cases="" if grid.cases == [{}] else "\n".join(map(as_yaml, grid.cases)),
        pairing=pairing,
        seatings=seatings,
        deals="" if grid.deals is None else str(grid.deals),
    )


def _players(study: Study) -> Iterator[PlayerFields]:
    """Yield a row for each player, and one for all players of a crossed entry."""
    settings = {label: _settings(entry) for label, entry in study.players.items()}
    rows = {label: (label, written) for label, written in settings.items()}
    for entry in crossed_entries(study.factors):
        written = uncrossed(entry, settings, study.factors)
        if entry.label and written is not None:
            rows |= dict.fromkeys(entry.players, (entry.label, written))
    for label in dict.fromkeys(label for label, _ in rows.values()):
        yield _player(label, next(written for name, written in rows.values() if name == label))


def _settings(entry: RosterEntry) -> dict[str, Any]:
    """An entry as written, without a model's settings that have their default."""
    written = entry.written()
    if isinstance(entry.form, ModelSeat):
        fields = type(entry.form).model_fields
        written = {
            name: value for name, value in written.items()
            if getattr(entry.form, name) != fields[name].default
        }  # fmt: skip
    return written


def _player(label: str, settings: Mapping[str, Any]) -> PlayerFields:
    written, cross = dict(settings), settings.get(CROSS, {})
    kind = next(key for key in SEATS if key in written or _is_crossed(key, cross))
    row = PlayerFields(label, kind)
    if isinstance(written.get(kind), str):
        row.name = written.pop(kind)
    elif isinstance(written.get(kind), list):
        row.name = ", ".join(map(as_yaml, written.pop(kind)))
    elif kind in written:
        written = written.pop(kind) | {key: written[key] for key in written if key == CROSS}
    if kind == "person":
        deadline, away = written.pop("deadline", None), written.pop("away", None)
        row.deadline = "" if deadline is None else as_yaml(deadline)
        row.away = "" if away is None else _in_one_line(away)
    row.options = _block(written)
    return row


def _is_crossed(key: str, cross: Mapping[str, Any]) -> bool:
    """Whether the levels of a factor set this key."""
    return key in cross or any(
        key in settings
        for levels in cross.values() if isinstance(levels, Mapping)
        for settings in levels.values()
    )  # fmt: skip


def _in_one_line(entry: Mapping[str, Any]) -> str:
    """A player as it is written in a line: a strategy without settings by its name alone."""
    return str(entry["strategy"]) if [*entry] == ["strategy"] else as_yaml(dict(entry))
