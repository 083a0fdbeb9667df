"""The study that a form stands for, or what is wrong in which field."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from cheaptalk.calls.budget import Budget
from cheaptalk.players import RosterEntry
from cheaptalk.players.rosters import chosen, roster_names
from cheaptalk.players.seats import SEATS, labelled
from cheaptalk.records.exclusions import Unanswered
from cheaptalk.rules import CheaptalkError, Game, game_box, suggest
from cheaptalk.rules.errors import first_problem, shown
from cheaptalk.studies.factors import CROSS, FactorTable, cross_pairing, cross_players
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.plans.plan import Plan, plan
from cheaptalk.studies.study import (
    Count,
    GameGrid,
    Pairing,
    Sample,
    Study,
    StudyError,
    read_name,
    read_pairing,
)
from cheaptalk.web.console.designs.parameter_fields import (
    line_values,
    listed_values,
    parameter_fields,
    single_number,
)
from cheaptalk.web.console.designs.people_fields import PATH, PeopleProblem, protocol_from
from cheaptalk.web.console.designs.seatings import people_seatings, seated_by
from cheaptalk.web.console.designs.step_rows import StepProblem, path_from
from cheaptalk.web.console.designs.study_fields import GameFields, PlayerFields, StudyFields
from cheaptalk.web.laboratory.designs import check_policies
from cheaptalk.yaml_files import parse_yaml

T = TypeVar("T")
MOST_CONFIGURATIONS = 10_000
"""Configurations of all games: a form is read again and again, and others wait for their pages."""
MOST_SEATINGS = 100_000
"""Ways in which the players may fill the places of a game, for the same reason."""
COUNT: TypeAdapter[int] = TypeAdapter(Count)
PERSON = "browser"
"""How a person is asked unless something else is written."""


def people_field(name: str) -> str:
    """The field of the form in which a setting of its participants stands."""
    return "steps" if name == PATH else f"people.{name}"


class Unfit(CheaptalkError):
    """Something typed that makes no study.

    Attributes:
        problems: a sentence for each field that is to be mended, by the field's name; under the
            empty name what no field holds alone.
    """

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__(next(iter(self.problems.values()), ""))


def study_from(form: StudyFields) -> Study:
    """The study that a form stands for.

    Raises:
        Unfit: it stands for none.
    """
    return _Reading(form).study()


def plan_from(form: StudyFields) -> Plan:
    """The plan of the study that a form stands for.

    Raises:
        Unfit: it stands for none, or its players cannot sit at its games.
    """
    reading = _Reading(form)
    study = reading.study()
    try:
        check_seatings(study)
        return plan(study)
    except CheaptalkError as error:
        raise reading.unfit(str(error)) from None


def check_seatings(study: Study) -> None:
    """Refuse a pairing of everybody with everybody that seats them in too many ways.

    Raises:
        StudyError: with the cure.
    """
    for grid in study.games:
        pairing = grid.pairing or study.pairing
        if isinstance(pairing, list) or pairing == "self":
            continue
        game, ways = first_of(grid), 1
        for place in game.places:
            ways *= sum(_sits(entry, game, place) for entry in study.players.values())
            if ways > MOST_SEATINGS:
                raise StudyError(
                    f"pairing: the players fill the places of {game.name} in more than "
                    f"{MOST_SEATINGS:,} ways; let each play with itself, list the seatings, or "
                    "name fewer players"
                )


def _sits(entry: RosterEntry, game: Game, place: str) -> bool:
    """Whether a player can take a place; the plan says why one cannot whose settings are wrong."""
    try:
        return entry.seat(game, place) is not None
    except (CheaptalkError, ValueError):
        return False


class _Reading:
    """A form as it is read: the parts of a study, and what is wrong with the fields.

    Attributes:
        problems: a sentence by the name of the field.
        rows: the row in which each player stands, by label.
        players: those that can be read, by label.
        written: the same as they stand in a study file.
        configurations: of all games that were read.
        factors: the levels of players whose settings have ``cross``, by label.
        cells: the labels of these players, by the label of the row.
    """

    def __init__(self, form: StudyFields) -> None:
        self.form = form
        self.problems: dict[str, str] = {}
        self.rows: dict[str, int] = {}
        self.players: dict[str, RosterEntry] = {}
        self.written: dict[str, Mapping[str, Any]] = {}
        self.configurations = 0
        self.factors: FactorTable = {}
        self.cells: dict[str, list[str]] = {}

    def study(self) -> Study:
        """The study.

        Raises:
            Unfit: with all problems that were found.
        """
        form = self.form
        data: dict[str, Any] = {
            "name": self.read("name", lambda: read_name(form.name.strip())),
            "description": form.description.strip(),
            "seed": self.read("seed", lambda: whole(form.seed) or 0),
            "deals": self.read("deals", lambda: count(form.deals) or 1),
            "repeats": self.read("repeats", lambda: count(form.repeats) or 1),
            "models": self.read("models", lambda: mapping(form.models)),
            "budget": self.budget(),
            "unanswered": self.read(
                "unanswered", lambda: Unanswered.model_validate(mapping(form.unanswered))
            ),
            "people": self.people(),
            "players": self.roster(),
        }
        pairing = self.read("pairing", self.pairing)
        games = [self.game(number, game) for number, game in enumerate(form.games)]
        if not games:
            self.problems["games"] = "a study needs a game: add one"
        if self.problems:
            raise Unfit(self.problems)
        pairing = cross_pairing(pairing, self.cells)
        grids = [
            game.model_copy(update={"pairing": cross_pairing(game.pairing, self.cells)})
            for game in games if game is not None
        ]  # fmt: skip
        pairing, grids = self.with_people(pairing or "all", grids)
        listed = any(isinstance(one, list) for one in (pairing, *(grid.pairing for grid in grids)))
        data["pairing"] = pairing.model_dump() if isinstance(pairing, Sample) else pairing
        data |= {"games": grids, "swap": form.swap == "yes" and listed, "factors": self.factors}
        try:
            return Study.model_validate(data)
        except StudyError as error:
            raise self.unfit(str(error)) from None

    def read(self, where: str, how: Callable[[], T]) -> T | None:
        """What stands in a field, or None where it cannot be read, which is noted."""
        try:
            return how()
        except ValidationError as error:
            self.problems.setdefault(where, first_problem(error))
        except (CheaptalkError, ValueError) as error:
            self.problems.setdefault(where, str(error))
        return None

    def people(self) -> Protocol | None:
        """What participants go through."""
        try:
            return protocol_from(self.form.people, path_from(self.form.steps))
        except StepProblem as problem:
            self.problems[f"steps.{problem.number}.text"] = str(problem)
        except PeopleProblem as problem:
            self.problems[people_field(problem.field)] = str(problem)
        return None

    def budget(self) -> Budget | None:
        """What the study may spend."""
        limits = self.read("limits", lambda: mapping(self.form.limits)) or {}
        written = self.form.dollars.strip().removeprefix("$")
        if written and "dollars" in limits:
            self.problems["limits"] = "dollars stand in their own field; leave them out here"
            return None
        if written:
            only = {"dollars": self.read("dollars", lambda: single_number(written))}
            self.read("dollars", lambda: Budget.model_validate(only))
            limits = limits | only
        where = "dollars" if "dollars" in self.problems else "limits"
        return self.read(where, lambda: Budget.model_validate(limits))

    def roster(self) -> dict[str, Mapping[str, Any]]:
        """The players that are legal, as written, by label; those of rosters among them."""
        for number, row in enumerate(self.form.players):
            place = f"players.{number}"
            if row.blank:
                continue
            if row.kind == "roster":
                entries = self.read(f"{place}.name", partial(of_roster, row.name)) or {}
            else:
                entry = self.entry(place, row)
                entries = self.read(f"{place}.options", partial(self.crossed, row, entry)) or {}
            for label, entry in entries.items():
                self.sit(number, label, entry)
        if not self.players and not self.problems:
            self.problems["players"] = "a study needs players: add one"
        return self.written

    def crossed(self, row: PlayerFields, entry: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the players of a row: one for each combination of levels if it has ``cross``.

        Raises:
            ValueError: the factors are malformed.
        """
        crossing = cross_players({} if entry is None else {label_of(row): entry})
        self.factors |= crossing.factors
        self.cells |= crossing.cells
        return crossing.players

    def sit(self, number: int, label: str, entry: Mapping[str, Any]) -> None:
        """Take a player up under its label."""
        place = f"players.{number}"
        if label in self.rows:
            self.problems.setdefault(
                f"{place}.label", f"{shown(label)} stands twice; give one of them another label"
            )
            return
        try:
            labelled({label: entry})
        except ValueError as error:
            self.problems.setdefault(f"{place}.label", str(error))
            return
        try:
            check_policies({label: entry})
        except StudyError as error:
            problem = str(error).removeprefix(f"players.{label}: ")
            self.problems.setdefault(f"{place}.name", problem)
            return
        try:
            self.players[label] = RosterEntry.model_validate(entry)
            self.written[label] = entry
        except ValidationError as error:
            problem = first_problem(error)
            row = self.form.players[number]
            where = where_set(row, first_word(problem))
            self.problems.setdefault(f"{place}.{where}", problem)
        self.rows[label] = number

    def entry(self, place: str, row: PlayerFields) -> dict[str, Any] | None:
        """A player as it is written in a study file; None where it cannot be read."""
        options = self.read(f"{place}.options", lambda: mapping(row.options))
        if row.kind not in SEATS:
            self.problems[f"{place}.kind"] = (
                f"unknown kind of player {suggest(row.kind, [*SEATS, 'roster'])}"
            )
        if options is None or row.kind not in SEATS:
            return None
        crossed = {key: options.pop(key) for key in (CROSS,) if key in options}
        written = self.uncrossed(place, row, options, named=not crossed)
        return None if written is None else written | crossed

    def uncrossed(
        self, place: str, row: PlayerFields, options: dict[str, Any], *, named: bool
    ) -> dict[str, Any] | None:
        """A player without its factors, of which one may name the model or strategy."""
        if row.kind in options:
            self.problems[f"{place}.options"] = (
                f'"{row.kind}" stands in a field of its own; leave it out here'
            )
            return None
        if row.kind == "strategies":
            if not options:
                self.problems[f"{place}.options"] = (
                    "write which strategy plays which game, a game in each line, such as "
                    "bargaining: boulware"
                )
                return None
            return {row.kind: options}
        name = row.name.strip()
        if row.kind in LISTED:
            names = self.read(f"{place}.name", lambda: [str(one) for one in listed_values(name)])
            return None if names is None else {row.kind: names, **options}
        if row.kind == "person":
            return self.person(place, row, name) | options
        if not name and not named:
            return options
        return {row.kind: name, **options} if name else {row.kind: options}

    def person(self, place: str, row: PlayerFields, name: str) -> dict[str, Any]:
        """A person as written in a study file, options aside."""
        found: dict[str, Any] = {"person": name or PERSON}
        if row.deadline.strip():
            found["deadline"] = self.read(f"{place}.deadline", lambda: single_number(row.deadline))
        if row.away.strip():
            found["away"] = self.read(f"{place}.away", lambda: parse_yaml(row.away))
        return found

    def game(self, number: int, game: GameFields) -> GameGrid | None:
        """A game over its grid; None where it cannot be read."""
        place = f"games.{number}"
        box = self.read(f"{place}.game", lambda: game_box(game.game))
        if box is None:
            return None
        before = len(self.problems)
        values = self.values(place, game, box.rules)
        data: dict[str, Any] = {
            "game": game.game,
            "fixed": {name: found[0] for name, found in values.items() if len(found) == 1},
            "grid": {name: found for name, found in values.items() if len(found) > 1},
            "deals": self.read(f"{place}.deals", lambda: count(game.deals)),
            "pairing": self.read(f"{place}.pairing", lambda: self.own_pairing(place, game)),
        }
        cases = self.read(f"{place}.cases", lambda: line_values(game.cases))
        if cases:
            data["cases"] = cases
        self.configurations += prod(map(len, values.values())) * len(cases or [{}])
        if self.configurations > MOST_CONFIGURATIONS:
            self.problems[f"{place}.game"] = (
                f"there are more than {MOST_CONFIGURATIONS:,} configurations; leave values out, or "
                "write the study as YAML"
            )
        return self.grid(place, game, data) if len(self.problems) == before else None

    def grid(self, place: str, game: GameFields, data: Mapping[str, Any]) -> GameGrid | None:
        """A grid of what was read; None where its values do not go together."""
        try:
            return GameGrid.model_validate(data)
        except ValidationError as error:
            problem = first_problem(error).removeprefix(f"{game.game}: ")
            word = first_word(problem)
            where = "cases" if game.cases.strip() else "game"
            if word in game.values:
                where = f"value.{word}"
            self.problems[f"{place}.{where}"] = problem
            return None

    def values(self, place: str, game: GameFields, rules: type[Game]) -> dict[str, list[Any]]:
        """The values of each parameter that has any, each legal by itself."""
        known = parameter_fields(rules)
        found = {}
        for name, texts in game.values.items():
            if name not in known:
                if any(text.strip() for text in texts):
                    problem = f"{game.game} has no parameter {suggest(name, list(known))}"
                    self.problems.setdefault(f"{place}.game", problem)
                continue
            where = f"{place}.value.{name}"
            values = self.read(where, partial(known[name].values, texts))
            for value in values or ():
                self.read(where, partial(legal, rules, name, value))
            if values:
                found[name] = values
        return found

    def pairing(self) -> Pairing | Sample:
        """Who meets whom, but for people with others, whose seatings depend on the games.

        Raises:
            ValueError: it is none, or there are no people or no others.
        """
        form = self.form
        if form.pairing == "all" and form.sample.strip():
            asked = self.read("sample", lambda: count(form.sample))
            return "all" if asked is None else Sample(sample=asked)
        if form.pairing == "listed":
            return self.read("seatings", lambda: listed_seatings(form.seatings)) or "all"
        return self.unlisted(form.pairing)

    def own_pairing(self, place: str, game: GameFields) -> Pairing | None:
        """Who meets whom at one game, where that is not as in the whole study; else None.

        Raises:
            ValueError: as of the study's pairing.
        """
        if not game.pairing:
            return None
        if game.pairing == "listed":
            return self.read(f"{place}.seatings", lambda: listed_seatings(game.seatings))
        return self.unlisted(game.pairing)

    def unlisted(self, pairing: str) -> Pairing:
        if pairing != "people":
            return "self" if pairing in ("self", "self_all") else read_all(pairing)
        if not people_seatings(self.players, 2) and self.players:
            raise ValueError("it takes a person and another player: add the one that is missing")
        return "all"

    def with_people(
        self, pairing: Pairing | Sample, grids: Sequence[GameGrid]
    ) -> tuple[Pairing | Sample, list[GameGrid]]:
        """The study's pairing and its games, people with others seated where that was asked for.

        The study's pairing lists them where they sit alike at all games that follow it.
        """
        pairs = list(zip(self.form.games, grids, strict=True))
        rows = [
            seated_by(
                game.pairing or self.form.pairing, self.players, len(first_of(grid).places)
            ) or None
            for game, grid in pairs
        ]  # fmt: skip
        own = [bool(game.pairing) for game in self.form.games]
        following = [seated for seated, has in zip(rows, own, strict=True) if seated and not has]
        if following and following.count(following[0]) == len(following):
            pairing = following[0]
            rows = [seated if has else None for seated, has in zip(rows, own, strict=True)]
        return pairing, [
            grid if seated is None else grid.model_copy(update={"pairing": seated})
            for grid, seated in zip(grids, rows, strict=True)
        ]

    def unfit(self, message: str) -> Unfit:
        """What a study or its plan is refused for, with the field that it is about."""
        for label, number in sorted(self.rows.items(), key=lambda pair: -len(pair[0])):
            about = f"players.{label}"
            if message.startswith(about):
                problem = message.removeprefix(about).lstrip(".: ")
                where = where_set(self.form.players[number], first_word(problem))
                return Unfit({f"players.{number}.{where}": problem})
        found = re.match(r"([\w.]+): (.*)", message, re.DOTALL)
        if not found:
            return Unfit({"swap" if message.startswith("swap") else "": message})
        key, problem = found.groups()
        key, _, within = key.partition(".")
        if key == "budget":
            return Unfit({"limits": message})
        if (key, within) == ("pairing", "sample"):
            return Unfit({"sample": problem})
        if key == "pairing":
            return Unfit({self.where_listed(): problem})
        if key == "people":
            return Unfit({people_field(PATH): problem})
        known = ("players", "games", "deals", "models", "name", "unanswered")
        said = f"{within}: {problem}" if within else problem
        return Unfit({key: said} if key in known else {"": message})

    def where_listed(self) -> str:
        """The field in which seatings are listed, or the pairing is chosen."""
        if self.form.pairing == "listed":
            return "seatings"
        listed = (n for n, game in enumerate(self.form.games) if game.pairing == "listed")
        return next((f"games.{number}.seatings" for number in listed), "pairing")


def first_of(grid: GameGrid) -> Game:
    """The first configuration of a game."""
    first = {name: values[0] for name, values in grid.grid.items()}
    return game_box(grid.game).rules.model_validate(grid.fixed | grid.cases[0] | first)


def first_word(problem: str) -> str:
    """The key with which a problem begins, where it begins with one."""
    found = re.match(r"\w*", problem)
    return found[0] if found else ""


def legal(rules: type[Game], name: str, value: object) -> None:
    """Refuse a value that a parameter may not have, whatever the others are.

    Raises:
        ValueError: with what it may be.
    """
    try:
        rules.model_validate({name: value})
    except ValidationError as error:
        problem = first_problem(error)
        if re.match(rf"{re.escape(name)}\b", problem) and error.errors()[0]["loc"]:
            raise ValueError(problem.removeprefix(f"{name}: ")) from None


def whole(text: str) -> int | None:
    """A whole number; None where nothing is written.

    Raises:
        ValueError: it is none.
    """
    text = text.strip()
    if text and not re.fullmatch("-?[0-9]{1,18}", text):
        raise ValueError(f"should be a whole number in digits alone, not {shown(text)}")
    return int(text) if text else None


def count(text: str) -> int | None:
    """A number of matches or deals; None where nothing is written.

    Raises:
        ValueError: it is none.
    """
    number = whole(text)
    return None if number is None else COUNT.validate_python(number)


def mapping(text: str) -> dict[str, Any]:
    """Settings that are written as YAML; none where nothing is written.

    Raises:
        ValueError: they cannot be read, or are no mapping.
    """
    found = parse_yaml(text) if text.strip() else {}
    if not isinstance(found, Mapping):
        raise ValueError(f"{shown(found)} are no settings: write NAME: VALUE, each in a line")
    return {str(key): value for key, value in found.items()}


def of_roster(text: str) -> dict[str, dict[str, Any]]:
    """The players of a roster that is installed, or those of them that are named.

    Raises:
        UnknownName, ValueError: there is no such roster or player.
    """
    name = text.strip().partition(":")[0]
    if name not in roster_names():
        raise ValueError(f"no roster {suggest(name, roster_names())}")
    return chosen(text.strip())


LISTED = ("policies",)
"""Kinds of players that have several names."""
NAMELESS = ("person", "strategies", *LISTED)
"""Kinds of players that are called by their kind, where they have no label."""


def label_of(row: PlayerFields) -> str:
    """What the study calls a player: its name where nothing else is written."""
    return row.label.strip() or (row.kind if row.kind in NAMELESS else row.name.strip())


def where_set(row: PlayerFields, key: str) -> str:
    """The field of a player in which a key of its entry stands, or its strategy or model."""
    if key in ("deadline", "away"):
        return key
    if row.kind == "strategies":
        return "options"
    named = row.name.strip() and not re.search(rf"\b{re.escape(key)}\b", row.options)
    return "name" if named or not row.options.strip() else "options"


def listed_seatings(text: str) -> Pairing:
    """Seatings, one in each line.

    Raises:
        ValueError: a line holds none.
    """
    rows = line_values(text)
    found: Pairing = read_pairing(rows)
    return found


def read_all(pairing: str) -> Pairing:
    """The pairing of everybody with everybody.

    Raises:
        ValueError: another pairing is written.
    """
    if pairing != "all":
        raise ValueError(f"{shown(pairing)} is no pairing: choose one of the list")
    return "all"
