"""What a researcher has typed into a study's form, kept as it was typed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from cheaptalk.web.console.designs.people_fields import FIELDS
from cheaptalk.web.console.designs.step_rows import BEGINNINGS, GAMES, StepFields

Pairs: TypeAlias = list[tuple[str, str]]
"""A form as it is posted: names and what stands in the fields, in the page's order."""
MOST_ROWS = 200
"""Games, players and steps that a form may have; what comes behind them is left out."""
GAME = re.compile(r"games\.([0-9]{1,6})\.(value\.)?(.{1,200})")
PEOPLE = "people."
"""How the names of participants' fields begin."""
ROW = re.compile(r"(players|steps)\.([0-9]{1,6})\.(\w{1,20})")


@dataclass
class PlayerFields:
    """A row of the players' table.

    Attributes:
        label: what the study calls the player; its name where nothing is written.
        kind: ``person``, ``model``, ``strategy``, ``strategies``, ``roster``, or another kind of
            player that is registered.
        name: of the model, the strategy or the roster, or how a person is asked.
        options: its settings, as YAML.
        deadline: seconds that a person has for an answer.
        away: who answers in a person's place.
    """

    label: str = ""
    kind: str = "model"
    name: str = ""
    options: str = ""
    deadline: str = ""
    away: str = ""

    @property
    def blank(self) -> bool:
        """Whether nothing was written; a person needs no more than to be there."""
        return self.kind != "person" and not any(
            text.strip() for text in (self.label, self.name, self.options)
        )


@dataclass
class GameFields:
    """A game of the study.

    Attributes:
        game: its name.
        values: what stands in the fields of its parameters, by name, in the order of its grid.
        cases: sets of parameters, one in each line, as YAML.
        pairing: who meets whom at this game; empty where it is the study's pairing.
        seatings: those that are listed, one in each line, as YAML.
        deals: of each configuration of this game, instead of the study's.
    """

    game: str = ""
    values: dict[str, list[str]] = field(default_factory=dict)
    cases: str = ""
    pairing: str = ""
    seatings: str = ""
    deals: str = ""


@dataclass
class StudyFields:
    """A study's form.

    Attributes:
        name, description, seed, deals, repeats: as in a study file.
        pairing: ``all``, ``self``, ``people`` or ``listed``.
        seatings: those that are listed, one in each line, as YAML.
        sample: matches that are drawn, of everybody with everybody.
        swap: ``yes`` where listed seatings are also played with everyone moved on.
        models: settings of all models, as YAML.
        dollars: what the study may spend.
        limits: other limits of its budget, as YAML.
        unanswered: what becomes of matches without a valid answer, as YAML.
        people: what stands in the fields of its participants, by name; see :data:`.FIELDS`.
        steps: what participants go through.
        games: the games.
        players: the players.
    """

    name: str = ""
    description: str = ""
    seed: str = "0"
    deals: str = "1"
    repeats: str = "1"
    pairing: str = "all"
    seatings: str = ""
    sample: str = ""
    swap: str = ""
    models: str = ""
    dollars: str = ""
    limits: str = ""
    unanswered: str = ""
    people: dict[str, str] = field(default_factory=dict)
    steps: list[StepFields] = field(default_factory=list)
    games: list[GameFields] = field(default_factory=list)
    players: list[PlayerFields] = field(default_factory=list)

    @classmethod
    def blank(cls) -> "StudyFields":
        """A form in which nothing is written, with a row for a first player."""
        return cls(players=[PlayerFields()])

    @classmethod
    def read(cls, posted: Iterable[tuple[str, str]]) -> "StudyFields":
        """The form of what was posted; names that no field has are left out.

        >>> typed = [("name", "pilot"), ("games.0.game", "bargaining"),
        ...          ("games.0.value.money", "100, 200"), ("players.3.label", "ann")]
        >>> read = StudyFields.read(typed)
        >>> read.name, read.games[0].values, [row.label for row in read.players]
        ('pilot', {'money': ['100, 200']}, ['ann'])
        """
        form = cls()
        games: dict[int, GameFields] = {}
        rows: dict[str, dict[int, Any]] = {"players": {}, "steps": {}}
        for name, written in posted:
            text = written.replace("\r\n", "\n")
            if name in TEXTS:
                setattr(form, name, text)
            elif found := ROW.fullmatch(name):
                of, known = ROWS[found[1]]
                row = rows[found[1]].setdefault(int(found[2]), of())
                if found[3] in known:
                    setattr(row, found[3], text)
            elif name.startswith(PEOPLE) and name.removeprefix(PEOPLE) in FIELDS:
                form.people |= {name.removeprefix(PEOPLE): text} if text else {}
            elif found := GAME.fullmatch(name):
                game = games.setdefault(int(found[1]), GameFields())
                if found[2]:
                    game.values.setdefault(found[3], []).append(text)
                elif found[3] in GAME_TEXTS:
                    setattr(game, found[3], text)
        for kind, found_rows in rows.items():
            setattr(form, kind, [found_rows[one] for one in sorted(found_rows)][:MOST_ROWS])
        form.games = [games[number] for number in sorted(games)][:MOST_ROWS]
        return form

    def pairs(self) -> Pairs:
        """The form as it would be posted."""
        return list(self._pairs())

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for name in TEXTS:
            yield name, getattr(self, name)
        yield from ((PEOPLE + name, text) for name, text in self.people.items())
        for number, step in enumerate(self.steps):
            for name in STEP_TEXTS:
                yield f"steps.{number}.{name}", getattr(step, name)
        for number, game in enumerate(self.games):
            for name in GAME_TEXTS:
                yield f"games.{number}.{name}", getattr(game, name)
            for parameter, texts in game.values.items():
                yield from ((f"games.{number}.value.{parameter}", text) for text in texts)
        for number, player in enumerate(self.players):
            for name in PLAYER_TEXTS:
                yield f"players.{number}.{name}", getattr(player, name)

    def changed(self, deed: str, game: str = "", step: str = "") -> str:
        """Add, move or take away a row, as a button of the form asks; else nothing is changed.

        Args:
            deed: ``add-player``, ``add-game``, ``add-step``, ``remove-`` with the row, such as
                ``remove-games.0``, or ``up-steps.N`` and ``down-steps.N``.
            game, step: what is added: the name of a game, the kind of a step.

        Returns:
            the game, or the field, in which one goes on; empty where that is none.
        """
        if deed == "add-player" and len(self.players) < MOST_ROWS:
            self.players.append(PlayerFields())
            return f"players.{len(self.players) - 1}.kind"
        if deed == "add-game" and game and len(self.games) < MOST_ROWS:
            self.games.append(GameFields(game))
            return f"games.{len(self.games) - 1}"
        if deed == "add-step" and step in BEGINNINGS and len(self.steps) < MOST_ROWS:
            return self._with_step(step)
        row = re.fullmatch(r"(remove|up|down)-(games|players|steps)\.([0-9]{1,6})", deed)
        if row and row[1] == "remove":
            rows: list[Any] = getattr(self, row[2])
            del rows[int(row[3]) : int(row[3]) + 1]
        elif row and row[2] == "steps":
            return self._moved(int(row[3]), -1 if row[1] == "up" else 1)
        return ""

    def _with_step(self, kind: str) -> str:
        """Add a step: in the end, and before the last words of the study."""
        last = bool(self.steps) and self.steps[-1].kind == "debrief" and kind != "debrief"
        at = len(self.steps) - last
        self.steps.insert(at, StepFields(kind, "after" if kind == "quiz" else "", BEGINNINGS[kind]))
        return f"steps.{at}"

    def _moved(self, number: int, by: int) -> str:
        """Move a step by a place; past the games it comes before or after each of them first."""
        if not 0 <= number < len(self.steps):
            return ""
        step, at = self.steps[number], number + by
        if not 0 <= at < len(self.steps):
            return f"steps.{number}"
        self.steps[number], self.steps[at] = self.steps[at], step
        for one, place in ((step, at), (self.steps[number], number)):
            games = next((n for n, each in enumerate(self.steps) if each.kind == GAMES), None)
            if one.when and games is not None:
                one.when = "before" if place < games else "after"
        return f"steps.{at}"


def _texts(of: type) -> tuple[str, ...]:
    """The fields of a form, or of a row of it, that are texts."""
    return tuple(one.name for one in fields(of) if one.type is str)


TEXTS = _texts(StudyFields)
GAME_TEXTS = _texts(GameFields)
PLAYER_TEXTS = _texts(PlayerFields)
STEP_TEXTS = _texts(StepFields)
ROWS: dict[str, tuple[type, tuple[str, ...]]] = {
    "players": (PlayerFields, PLAYER_TEXTS), "steps": (StepFields, STEP_TEXTS)
}  # fmt: skip
