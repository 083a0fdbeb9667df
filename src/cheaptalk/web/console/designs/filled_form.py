"""Conversion of an existing study to the fields of the study form."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cheaptalk.players import ModelSeat, RosterEntry
from cheaptalk.players.seats import SEATS
from cheaptalk.rules import CheaptalkError, get_game
from cheaptalk.studies.factors import CROSS, crossed_entries, uncrossed
from cheaptalk.studies.study import GameGrid, Pairing, Sample, Study
from cheaptalk.web.console.designs.parameter_fields import parameter_fields
from cheaptalk.web.console.designs.people_fields import people_texts
from cheaptalk.web.console.designs.seatings import people_seatings, self_seatings
from cheaptalk.web.console.designs.step_rows import step_rows
from cheaptalk.web.console.designs.study_fields import GameFields, PlayerFields, StudyFields
from cheaptalk.web.console.designs.study_form import InvalidForm, first_configuration, study_from
from cheaptalk.yaml_files import as_block, as_yaml


class NotExpressible(CheaptalkError):
    """Raised if the study form cannot express a study; the message names the first obstacle."""


def fields_from(study: Study) -> StudyFields:
    """Return the form fields that describe a study; :func:`.study_from` is the inverse.

    A grid with a single value becomes a fixed parameter, which yields the same matches.

    Raises:
        NotExpressible: the form cannot express the study.
    """
    if study.instances_from is not None:
        raise NotExpressible(f'the study uses instances of another, "{study.instances_from}"')
    form = _filled_form(study)
    try:
        rebuilt = study_from(form)
    except InvalidForm as error:
        field, problem = next(iter(error.problems.items()))
        raise NotExpressible(f"the {field or 'form'} is invalid: {problem}") from None
    expected, actual = _comparable(study), _comparable(rebuilt)
    for key, value in expected.items():
        if json.dumps(value) != json.dumps(actual.get(key)):
            raise NotExpressible(f"the form has no field for {key}")
    return form


def _comparable(study: Study) -> dict[str, Any]:
    data = study.written()
    if study.people is not None:
        data["people"] |= {"codes": dict(sorted(study.people.codes.items()))}
    for game in data["games"]:
        single = {name: values[0] for name, values in game["grid"].items() if len(values) == 1}
        game["grid"] = {name: values for name, values in game["grid"].items() if name not in single}
        game["fixed"] = dict(sorted((game["fixed"] | single).items()))
    return data


def _filled_form(study: Study) -> StudyFields:
    budget = study.budget.model_dump(mode="json", exclude_defaults=True)
    dollars = budget.pop("dollars", None)
    pairing, seatings = _pairing(study.pairing, study.players, _seat_count(study.games))
    return StudyFields(
        name=study.name,
        description=study.description,
        seed=str(study.seed),
        instances=str(study.instances),
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


def _seat_count(grids: list[GameGrid]) -> int:
    following = [grid for grid in grids if grid.pairing is None]
    return len(first_configuration((following or grids)[0]).seats)


def _pairing(
    pairing: Pairing | Sample, players: Mapping[str, RosterEntry], seat_count: int
) -> tuple[str, str]:
    if isinstance(pairing, Sample):
        return "all", ""
    if pairing == "self" and self_seatings(players, seat_count):
        return "self_all", ""
    if not isinstance(pairing, list):
        return pairing, ""
    if pairing == self_seatings(players, seat_count) != []:
        return "self", ""
    if pairing == people_seatings(players, seat_count):
        return "people", ""
    return "listed", "\n".join(map(as_yaml, pairing))


def _game(grid: GameGrid, players: Mapping[str, RosterEntry]) -> GameFields:
    fields = parameter_fields(get_game(grid.game).rules)
    settings = grid.grid | {name: [value] for name, value in grid.fixed.items()}
    values = {name: fields[name].texts(values) for name, values in settings.items()}
    values |= {name: [] for name in fields if name not in settings}
    pairing, seatings = "", ""
    if grid.pairing is not None:
        pairing, seatings = _pairing(grid.pairing, players, len(first_configuration(grid).seats))
    return GameFields(
        game=grid.game,
        values=values,
        cases="" if grid.cases == [{}] else "\n".join(map(as_yaml, grid.cases)),
        pairing=pairing,
        seatings=seatings,
        instances="" if grid.instances is None else str(grid.instances),
    )


def _players(study: Study) -> Iterator[PlayerFields]:
    settings = {label: _settings(entry) for label, entry in study.players.items()}
    rows = {label: (label, row) for label, row in settings.items()}
    for entry in crossed_entries(study.factors):
        row = uncrossed(entry, settings, study.factors)
        if entry.label and row is not None:
            rows |= dict.fromkeys(entry.players, (entry.label, row))
    for label in dict.fromkeys(label for label, _ in rows.values()):
        yield _player(label, next(row for name, row in rows.values() if name == label))


def _settings(entry: RosterEntry) -> dict[str, Any]:
    settings = entry.written()
    if isinstance(entry.form, ModelSeat):
        fields = type(entry.form).model_fields
        settings = {
            name: value for name, value in settings.items()
            if getattr(entry.form, name) != fields[name].default
        }  # fmt: skip
    return settings


def _player(label: str, settings: Mapping[str, Any]) -> PlayerFields:
    remaining, cross = dict(settings), settings.get(CROSS, {})
    kind = next(key for key in SEATS if key in remaining or _is_crossed(key, cross))
    row = PlayerFields(label, kind)
    if isinstance(remaining.get(kind), str):
        row.name = remaining.pop(kind)
    elif isinstance(remaining.get(kind), list):
        row.name = ", ".join(map(as_yaml, remaining.pop(kind)))
    elif kind in remaining:
        remaining = remaining.pop(kind) | {key: remaining[key] for key in remaining if key == CROSS}
    if kind == "person":
        deadline, away = remaining.pop("deadline", None), remaining.pop("away", None)
        row.deadline = "" if deadline is None else as_yaml(deadline)
        row.away = "" if away is None else _in_one_line(away)
    row.options = _block(remaining)
    return row


def _is_crossed(key: str, cross: Mapping[str, Any]) -> bool:
    return key in cross or any(
        key in settings
        for levels in cross.values() if isinstance(levels, Mapping)
        for settings in levels.values()
    )  # fmt: skip


def _in_one_line(entry: Mapping[str, Any]) -> str:
    return str(entry["strategy"]) if [*entry] == ["strategy"] else as_yaml(dict(entry))
