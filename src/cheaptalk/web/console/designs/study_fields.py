"""The contents of the study form, exactly as typed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from cheaptalk.web.console.designs.people_fields import FIELDS
from cheaptalk.web.console.designs.step_rows import GAMES, STEP_TEMPLATES, StepFields

Pairs: TypeAlias = list[tuple[str, str]]
"""A posted form: field names and texts, in order."""
MAX_ROWS = 200
"""Maximum number of games, players and steps; further rows are ignored."""
GAME = re.compile(r"games\.([0-9]{1,6})\.(value\.)?(.{1,200})")
PEOPLE = "people."
"""Prefix of the participants' fields."""
ROW = re.compile(r"(players|steps)\.([0-9]{1,6})\.(\w{1,20})")


@dataclass
class PlayerFields:
    """A row of the study form's table of players.

    Attributes:
        label: the player's label; by default its name.
        kind: ``person``, ``model``, ``strategy``, ``strategies``, ``roster`` or another registered
            kind.
        name: name of the model, strategy or roster, or how a person is asked.
        options: settings as YAML.
        deadline: seconds per answer for a person.
        away: player that answers instead of an absent person.
    """

    label: str = ""
    kind: str = "model"
    name: str = ""
    options: str = ""
    deadline: str = ""
    away: str = ""

    @property
    def blank(self) -> bool:
        """Whether the row is empty; rows for people always count as filled in."""
        return self.kind != "person" and not any(
            text.strip() for text in (self.label, self.name, self.options)
        )


@dataclass
class GameFields:
    """A game in the study form, with its parameters and seatings.

    Attributes:
        game: its name.
        values: texts of its parameters by name, in grid order.
        cases: sets of parameters as YAML, one per line.
        pairing: pairing of this game; empty to use the study's.
        seatings: listed seatings as YAML, one per line.
        instances: number per configuration of this game, instead of the study's.
    """

    game: str = ""
    values: dict[str, list[str]] = field(default_factory=dict)
    cases: str = ""
    pairing: str = ""
    seatings: str = ""
    instances: str = ""


@dataclass
class StudyFields:
    """All fields of the study form, as texts.

    Attributes:
        name, description, seed, instances, repeats: as in a study file.
        pairing: ``all``, ``self``, ``self_all``, ``people`` or ``listed``.
        seatings: listed seatings as YAML, one per line.
        sample: number of matches to sample from all pairings.
        swap: ``yes`` to also play the listed seatings with seats rotated.
        models: settings for all models, as YAML.
        dollars: budget in dollars.
        limits: other budget limits, as YAML.
        unanswered: rules for matches with invalid answers, as YAML.
        people: texts of the participants' fields by name; see :data:`.FIELDS`.
        steps: the participants' steps.
        games: the games.
        players: the players.
    """

    name: str = ""
    description: str = ""
    seed: str = "0"
    instances: str = "1"
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
        """Return an empty form with a row for the first player."""
        return cls(players=[PlayerFields()])

    @classmethod
    def read(cls, posted: Iterable[tuple[str, str]]) -> "StudyFields":
        """Parse a posted study form, ignoring unknown field names.

        >>> typed = [("name", "pilot"), ("games.0.game", "bargaining"),
        ...          ("games.0.value.money", "100, 200"), ("players.3.label", "ann")]
        >>> read = StudyFields.read(typed)
        >>> read.name, read.games[0].values, [row.label for row in read.players]
        ('pilot', {'money': ['100, 200']}, ['ann'])
        """
        form = cls()
        games: dict[int, GameFields] = {}
        rows: dict[str, dict[int, Any]] = {"players": {}, "steps": {}}
        for name, posted_text in posted:
            text = posted_text.replace("\r\n", "\n")
            if name in TEXTS:
                setattr(form, name, text)
            elif match := ROW.fullmatch(name):
                row_type, text_names = ROWS[match[1]]
                row = rows[match[1]].setdefault(int(match[2]), row_type())
                if match[3] in text_names:
                    setattr(row, match[3], text)
            elif name.startswith(PEOPLE) and name.removeprefix(PEOPLE) in FIELDS:
                form.people |= {name.removeprefix(PEOPLE): text} if text else {}
            elif match := GAME.fullmatch(name):
                game = games.setdefault(int(match[1]), GameFields())
                if match[2]:
                    game.values.setdefault(match[3], []).append(text)
                elif match[3] in GAME_TEXTS:
                    setattr(game, match[3], text)
        for kind, numbered in rows.items():
            setattr(form, kind, [numbered[number] for number in sorted(numbered)][:MAX_ROWS])
        form.games = [games[number] for number in sorted(games)][:MAX_ROWS]
        return form

    def pairs(self) -> Pairs:
        """Return the form as (name, value) pairs, as a browser would post it."""
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

    def apply(self, action: str, game: str = "", step: str = "") -> str:
        """Add, move or remove a row, as the pressed button requests; ignore other buttons.

        Args:
            action: ``add-player``, ``add-game``, ``add-step``, ``remove-`` with the row, such as
                ``remove-games.0``, or ``up-steps.N`` and ``down-steps.N``.
            game, step: name of the game or kind of the step to add.

        Returns:
            The game or field to focus; empty for none.
        """
        if action == "add-player" and len(self.players) < MAX_ROWS:
            self.players.append(PlayerFields())
            return f"players.{len(self.players) - 1}.kind"
        if action == "add-game" and game and len(self.games) < MAX_ROWS:
            self.games.append(GameFields(game))
            return f"games.{len(self.games) - 1}"
        if action == "add-step" and step in STEP_TEMPLATES and len(self.steps) < MAX_ROWS:
            return self._add_step(step)
        row = re.fullmatch(r"(remove|up|down)-(games|players|steps)\.([0-9]{1,6})", action)
        if row and row[1] == "remove":
            rows: list[Any] = getattr(self, row[2])
            del rows[int(row[3]) : int(row[3]) + 1]
        elif row and row[2] == "steps":
            return self._move_step(int(row[3]), -1 if row[1] == "up" else 1)
        return ""

    def _add_step(self, kind: str) -> str:
        last = bool(self.steps) and self.steps[-1].kind == "debrief" and kind != "debrief"
        position = len(self.steps) - last
        step = StepFields(kind, "after" if kind == "quiz" else "", STEP_TEMPLATES[kind])
        self.steps.insert(position, step)
        return f"steps.{position}"

    def _move_step(self, number: int, by: int) -> str:
        if not 0 <= number < len(self.steps):
            return ""
        step, target = self.steps[number], number + by
        if not 0 <= target < len(self.steps):
            return f"steps.{number}"
        self.steps[number], self.steps[target] = self.steps[target], step
        for moved, position in ((step, target), (self.steps[number], number)):
            games = next((n for n, row in enumerate(self.steps) if row.kind == GAMES), None)
            if moved.when and games is not None:
                moved.when = "before" if position < games else "after"
        return f"steps.{target}"


def _text_fields(row_type: type) -> tuple[str, ...]:
    return tuple(field_spec.name for field_spec in fields(row_type) if field_spec.type is str)


TEXTS = _text_fields(StudyFields)
GAME_TEXTS = _text_fields(GameFields)
PLAYER_TEXTS = _text_fields(PlayerFields)
STEP_TEXTS = _text_fields(StepFields)
ROWS: dict[str, tuple[type, tuple[str, ...]]] = {
    "players": (PlayerFields, PLAYER_TEXTS), "steps": (StepFields, STEP_TEXTS)
}  # fmt: skip
