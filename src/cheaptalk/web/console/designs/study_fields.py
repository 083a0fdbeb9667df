"""What a researcher has typed into a study's form, kept as it was typed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from cheaptalk.web.console.designs.people_fields import FIELDS

Pairs: TypeAlias = list[tuple[str, str]]
"""A form as it is posted: names and what stands in the fields, in the page's order."""
MOST_ROWS = 200
"""Games, and players, that a form may have; what comes behind them is left out."""
GAME = re.compile(r"games\.([0-9]{1,6})\.(value\.)?(.{1,200})")
PEOPLE = "people."
"""How the names of participants' fields begin."""
PLAYER = re.compile(r"players\.([0-9]{1,6})\.(\w{1,20})")


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
        players: dict[int, PlayerFields] = {}
        for name, written in posted:
            text = written.replace("\r\n", "\n")
            if name in TEXTS:
                setattr(form, name, text)
            elif found := PLAYER.fullmatch(name):
                row = players.setdefault(int(found[1]), PlayerFields())
                if found[2] in PLAYER_TEXTS:
                    setattr(row, found[2], text)
            elif name.startswith(PEOPLE) and name.removeprefix(PEOPLE) in FIELDS:
                form.people |= {name.removeprefix(PEOPLE): text} if text else {}
            elif found := GAME.fullmatch(name):
                game = games.setdefault(int(found[1]), GameFields())
                if found[2]:
                    game.values.setdefault(found[3], []).append(text)
                elif found[3] in GAME_TEXTS:
                    setattr(game, found[3], text)
        form.games = [games[number] for number in sorted(games)][:MOST_ROWS]
        form.players = [players[number] for number in sorted(players)][:MOST_ROWS]
        return form

    def pairs(self) -> Pairs:
        """The form as it would be posted."""
        return list(self._pairs())

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for name in TEXTS:
            yield name, getattr(self, name)
        yield from ((PEOPLE + name, text) for name, text in self.people.items())
        for number, game in enumerate(self.games):
            for name in GAME_TEXTS:
                yield f"games.{number}.{name}", getattr(game, name)
            for parameter, texts in game.values.items():
                yield from ((f"games.{number}.value.{parameter}", text) for text in texts)
        for number, player in enumerate(self.players):
            for name in PLAYER_TEXTS:
                yield f"players.{number}.{name}", getattr(player, name)

    def changed(self, deed: str, game: str = "") -> str:
        """Add or take away a row, as a button of the form asks; anything else changes nothing.

        Args:
            deed: ``add-player``, ``add-game``, ``remove-players.N`` or ``remove-games.N``.
            game: the name of a game that is added.

        Returns:
            the game, or the field, in which one goes on; empty where that is none.
        """
        if deed == "add-player" and len(self.players) < MOST_ROWS:
            self.players.append(PlayerFields())
            return f"players.{len(self.players) - 1}.kind"
        if deed == "add-game" and game and len(self.games) < MOST_ROWS:
            self.games.append(GameFields(game))
            return f"games.{len(self.games) - 1}"
        gone = re.fullmatch(r"remove-(games|players)\.([0-9]{1,6})", deed)
        if gone and gone[1] == "games":
            del self.games[int(gone[2]) : int(gone[2]) + 1]
        elif gone:
            del self.players[int(gone[2]) : int(gone[2]) + 1]
        return ""


def _texts(of: type) -> tuple[str, ...]:
    """The fields of a form, or of a row of it, that are texts."""
    return tuple(one.name for one in fields(of) if one.type is str)


TEXTS = _texts(StudyFields)
GAME_TEXTS = _texts(GameFields)
PLAYER_TEXTS = _texts(PlayerFields)
