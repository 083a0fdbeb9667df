"""Batteries: the matches that everyone goes through whose profile is made, as versioned data."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError, model_validator

from cheaptalk.players import RosterEntry
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.players.seats import SeatSpec
from cheaptalk.players.strategy import StrategySeat
from cheaptalk.records import configuration_digest
from cheaptalk.rules import CheaptalkError, Game, Value, game_box, games, suggest
from cheaptalk.rules.errors import first_problem
from cheaptalk.studies.study import FILES, Count, GameGrid, Study, read_yaml

HERE = Path(__file__).parent
SHIPPED = {path.stem: path for path in sorted(HERE.glob("*.yaml"))}
"""Batteries that come with the package, by name; one that was published never changes."""
LATEST = "standard-2"


class Part(Value):
    """Some configurations of a game.

    Attributes:
        title: what people read.
        game, fixed, cases, grid: as in a study.
        against: of whom there are to be met, whom the player meets; everyone without.
        deals: of each configuration at size 1.
    """

    title: str
    game: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    cases: Annotated[list[dict[str, Any]], Field(min_length=1)] = [{}]  # noqa: RUF012 - frozen
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    against: tuple[str, ...] = ()
    deals: Count = 1

    @model_validator(mode="after")
    def _is_legal(self) -> "Part":
        for game in self.games:
            if len(game.places) != 2:
                raise ValueError(f"{self.game} has {len(game.places)} places; a part has two")
        return self

    def grid_of(self, pairing: list[list[str]], size: int) -> GameGrid:
        """The part as a study has it."""
        return GameGrid.model_validate(
            {"game": self.game, "fixed": self.fixed, "cases": self.cases, "grid": self.grid,
             "pairing": pairing, "deals": size * self.deals}
        )  # fmt: skip

    @property
    def games(self) -> list[Game]:
        """Its configurations."""
        return self.grid_of([["", ""]], 1).configurations()

    @property
    def can_lose(self) -> bool:
        """Whether a player can end with less than nothing."""
        return any(least < 0 for game in self.games for least, _ in game.payoff_bounds().values())


class Way(Value):
    """Another way to ask the same question.

    Attributes:
        style: of the words, where the player reads words.
        fixed: what the part fixes otherwise: the names of the places, the scale of the amounts.
        cases: the cases of the part in another order of what they list.
        beside: the way that it is held against; the plain one without.
    """

    style: str | None = None
    fixed: dict[str, Any] = Field(default_factory=dict)
    cases: list[dict[str, Any]] | None = None
    beside: str | None = None


class AskedAnew(Part):
    """Some configurations that are asked in several ways, in all of which the question is the same.

    Attributes:
        ways: by what is other: words, names, scale.
    """

    ways: dict[str, Way]

    @model_validator(mode="after")
    def _ways_are_alike(self) -> "AskedAnew":
        for name, way in self.ways.items():
            if way.beside is not None and way.beside not in self.ways:
                raise ValueError(f"{name}: beside: {suggest(way.beside, list(self.ways))}")
            if way.style is not None and way.style not in game_box(self.game).styles:
                known = list(game_box(self.game).styles)
                raise ValueError(f"{name}: no style {suggest(way.style, known)}")
            if len(self.asked(name).games) != len(self.games):
                raise ValueError(f"{name} has not as many configurations as the part")
        return self

    def asked(self, name: str) -> Part:
        """The part as it is asked in a way."""
        way = self.ways[name]
        return Part(
            title=self.title, game=self.game, fixed=self.fixed | way.fixed, grid=self.grid,
            cases=self.cases if way.cases is None else way.cases, against=self.against,
            deals=self.deals,
        )  # fmt: skip


class Question(NamedTuple):
    """Which question of a part a configuration asks, and how.

    Attributes:
        part: the name of the part.
        number: of the question, from 0.
        way: how; empty for the plain way.
    """

    part: str
    number: int
    way: str


class Member(Value):
    """A player of a panel.

    Attributes:
        meaning: what it does, in a few words behind its name.
        player: as in a roster.
    """

    meaning: str
    player: RosterEntry


class Battery(Value):
    """What a profile is made by.

    Attributes:
        name: with its version, as in ``standard-2``: profiles of one name are comparable.
        description: for people.
        seed: of all deals.
        sizes: how many times the deals of a part each size plays.
        panel: against whom everybody plays, and beside whom everybody stands.
        talkers: opponents that make the same moves with other messages, by manner; the first is
            silent. Other opponents that only test a weakness are listed here, too.
        repeats: talkers that repeat the first, so that their matches show what chance changes.
        early, late: talkers that repeat the first before and after everything else, so that their
            matches show whether a player changes over many matches; empty without.
        parts: what is played against the panel.
        words: what is played against the talkers.
        anew: what is played against the panel in several ways that ask the same.
    """

    name: str
    description: str = ""
    seed: int = 0
    sizes: Annotated[dict[str, Count], Field(min_length=1)]
    panel: Annotated[dict[str, Member], Field(min_length=1)]
    talkers: dict[str, RosterEntry] = Field(default_factory=dict)
    repeats: tuple[str, ...] = ()
    early: str = ""
    late: str = ""
    parts: Annotated[dict[str, Part], Field(min_length=1)]
    words: dict[str, Part] = Field(default_factory=dict)
    anew: dict[str, AskedAnew] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _parts_are_apart(self) -> "Battery":
        seen: dict[str, str] = {}
        every = [*self.parts.items(), *self.words.items()]
        every += [
            (f"{name} in other {way}", part.asked(way)) for name, part in self.anew.items()
            for way, one in part.ways.items() if one.style is None
        ]  # fmt: skip
        for name, part in [*every, *self.anew.items()]:
            for game in part.games:
                first = seen.setdefault(configuration_digest(game), name)
                if first != name:
                    raise ValueError(f"{first} and {name} have a configuration in common")
        rounds = ((self.parts, self.panel), (self.words, self.talkers), (self.anew, self.panel))
        for parts, others in rounds:
            for name, part in parts.items():
                for other in part.against:
                    if other not in others:
                        raise ValueError(f"{name}: against: {suggest(other, list(others))}")
        if shared := self.panel.keys() & self.talkers.keys():
            raise ValueError(f"{min(shared)} stands in the panel and among the talkers")
        return self

    @model_validator(mode="after")
    def _repeats_are_talkers(self) -> "Battery":
        for name in filter(None, [*self.repeats, self.early, self.late]):
            if name not in self.talkers:
                raise ValueError(f"no talker {suggest(name, list(self.talkers))}")
        return self

    @cached_property
    def part_of(self) -> Mapping[str, str]:
        """The name of a configuration's part, by its digest."""
        every = {**self.parts, **self.words}
        once = {configuration_digest(game): name for name, part in every.items()
                for game in part.games}  # fmt: skip
        return once | {digest: one.part for digest, one in self.asked_anew.items()}

    @cached_property
    def asked_anew(self) -> Mapping[str, Question]:
        """What a configuration of :attr:`anew` asks, by its digest; ways that differ in style alone
        have the digest of the plain one."""
        found: dict[str, Question] = {}
        for name, part in self.anew.items():
            for way, asked in {"": part, **{way: part.asked(way) for way in part.ways}}.items():
                for number, game in enumerate(asked.games):
                    found.setdefault(configuration_digest(game), Question(name, number, way))
        return found

    def size(self, name: str) -> int:
        """How many times the deals of a part a size plays.

        Raises:
            CheaptalkError: there is no such size.
        """
        if name not in self.sizes:
            raise CheaptalkError(f"{self.name} has no size {suggest(name, list(self.sizes))}")
        return self.sizes[name]

    def enough(self, size: str, times: float) -> str | None:
        """The smallest size with so many times the deals of another; None where there is none."""
        larger = self.larger(size).items()
        return next((name for name, count in larger if count >= times), None)

    def larger(self, size: str) -> Mapping[str, float]:
        """Return the larger sizes, the smallest first, with how many times the instances of
        ``size`` they have.

        Raises:
            CheaptalkError: there is no such size.
        """
        now = self.size(size)
        ordered = sorted(self.sizes.items(), key=lambda one: one[1])
        return {name: count / now for name, count in ordered if count > now}

    def beside(self, others: Mapping[str, RosterEntry]) -> "Battery":
        """The battery with more players in its panel, such as reference models; under another
        name, since numbers that lean on the panel are others.

        Raises:
            CheaptalkError: a name is taken.
        """
        for label in others:
            if label in {**self.panel, **self.talkers}:
                raise CheaptalkError(f'{self.name} has a player "{label}" of its own')
        members = {
            label: Member(meaning="stands beside", player=entry) for label, entry in others.items()
        }
        name = "-".join([self.name, "beside", *others])
        return self.model_copy(update={"name": name, "panel": {**self.panel, **members}})

    def study(self, label: str, entry: RosterEntry, size: str) -> Study:
        """All matches of a player's profile: its own, and those of the panel on the same deals.

        A member of the panel under its own name has no others.

        Args:
            label: what the player is called.
            entry: the player.
            size: one of ``sizes``.

        Raises:
            CheaptalkError: there is no such size, the name is taken, or the player can sit down
                nowhere.
        """
        own_member = label in self.panel and self.panel[label].player == entry
        if label in {**self.panel, **self.talkers} and not own_member:
            raise CheaptalkError(
                f'{self.name} calls a player of its own "{label}"; name yours apart'
            )
        times = self.size(size)
        panel = {name: member.player for name, member in self.panel.items()}
        alike = self.alike(entry)
        own = _without(entry, alike, panel)
        reason = None if own is None else self._nowhere(own)
        if reason is not None and not alike:
            raise CheaptalkError(f"{label} can sit down nowhere in {self.name}: {reason}")
        mine = {} if own is None or reason is not None else {label: own}
        between = {name: one for name, one in self.talkers.items()
                   if name not in (self.early, self.late)}  # fmt: skip
        # messages, names and presentation do not reach scripts, so only text players repeat them
        readers = {name: one for name, one in panel.items()
                   if "model" in one.written() or name in alike.values()}  # fmt: skip
        met = [(self.parts, {**mine, **panel}, panel), (self.words, {**mine, **readers}, between)]
        styled = self.styled(entry)
        told = {styled_label(label, style): one for style, one in styled.items()}
        return Study.model_validate({
            "name": f"{label}-{self.name}-{size}",
            "description": f"The profile of {label} by {self.name}, {size}.",
            "seed": self.seed,
            "players": {**mine, **panel, **self.talkers, **told},
            "swap": True,
            "pairing": "self",
            "games": [
                *self._apart(self.early, {**mine, **readers}, times),
                *(part.grid_of(pairs, times) for parts, players, others in met
                  for part in parts.values() if (pairs := [*_pairs(part, players, others)])),
                *(grid for part in self.anew.values()
                  for grid in _anew(part, {**mine, **readers}, panel, told, times)),
                *self._apart(self.late, {**mine, **readers}, times),
            ],
        })  # fmt: skip

    def _apart(
        self, talker: str, players: Mapping[str, RosterEntry], size: int
    ) -> Iterator[GameGrid]:
        """The matches with a talker that are played before or after all others."""
        others = {talker: self.talkers[talker]} if talker else {}
        for part in self.words.values():
            if pairs := [*_pairs(part, players, others)]:
                yield part.grid_of(pairs, size)

    def styled(self, entry: RosterEntry) -> dict[str, RosterEntry]:
        """A player that reads words, by the style in which it is asked anew."""
        written = entry.written()
        games: dict[str, dict[str, str]] = {}
        for part in self.anew.values() if "model" in written else ():
            for way in part.ways.values():
                if way.style is not None:
                    games.setdefault(way.style, {})[part.game] = way.style
        return {
            style: RosterEntry.model_validate(written | {"style": told})
            for style, told in games.items()
        }

    @property
    def _games(self) -> list[Game]:
        """All configurations."""
        every = (*self.parts.values(), *self.words.values(), *self.anew.values())
        return [game for part in every for game in part.games]

    def _nowhere(self, entry: RosterEntry) -> str | None:
        """Why a player can sit down nowhere; None where it can."""
        reasons: dict[str, None] = {}
        for game in self._games:
            for place in game.places:
                try:
                    if entry.seat(game, place) is not None:
                        return None
                except ValueError as error:
                    reasons.setdefault(str(error))
        names = list(dict.fromkeys(game.name for game in self._games))
        return next(iter(reasons), entry.form.why_idle(names))

    def alike(self, entry: RosterEntry) -> dict[tuple[str, str], str]:
        """The seats, as game and place, that one of the battery's own players fills just as a
        player does, and who that is: their matches are the player's, too."""
        own = {**{name: one.player for name, one in self.panel.items()}, **self.talkers}
        found: dict[tuple[str, str], str] = {}
        for game in self._games:
            for place in game.places:
                spec = seat_at(entry, game, place)
                if spec is None or isinstance(spec, ModelSeat):
                    continue
                for name, other in own.items():
                    if seat_at(other, game, place) == spec:
                        found.setdefault((game.name, place), name)
        return found


def seat_at(entry: RosterEntry, game: Game, place: str) -> SeatSpec | None:
    """What fills a place; None where the player cannot, be it for the game's parameters.

    Raises:
        CheaptalkError, ValueError: the settings do not go with the game.
    """
    try:
        return entry.seat(game, place)
    except ValidationError as error:
        raise CheaptalkError(first_problem(error)) from None
    except ValueError:
        if entry.form.exact:
            return None
        raise


def _without(
    entry: RosterEntry, taken: Mapping[tuple[str, str], str], panel: Mapping[str, RosterEntry]
) -> RosterEntry | None:
    """A player without the seats that somebody else fills; None where none is left."""
    if not taken:
        return entry
    if entry.form.exact:
        return _other_policies(entry, panel)
    left: dict[str, dict[str, Any]] = {}
    for name in games():
        rules = game_box(name).rules()
        for place in rules.places:
            spec = entry.seat(rules, place)
            if isinstance(spec, StrategySeat) and (name, place) not in taken:
                left.setdefault(name, {})[place] = {"strategy": spec.strategy, **spec.settings}
    return RosterEntry.model_validate({"strategies": left}) if left else None


def _other_policies(entry: RosterEntry, panel: Mapping[str, RosterEntry]) -> RosterEntry | None:
    """The policies of a player that are nobody's of the panel; None where none is left."""
    theirs = {one for other in panel.values() for one in _policies(other)}
    left = [one for one in _policies(entry) if one not in theirs]
    return RosterEntry.model_validate({"policies": left}) if left else None


def _policies(entry: RosterEntry) -> list[str]:
    written = entry.written()
    return [*written.get("policies", ()), *filter(None, [written.get("policy")])]


def styled_label(label: str, style: str) -> str:
    """What a player is called where it reads the words of a style."""
    return f"{label}, {style}"


def _anew(
    part: AskedAnew, players: Mapping[str, RosterEntry], panel: Mapping[str, RosterEntry],
    told: Mapping[str, RosterEntry], size: int,
) -> Iterator[GameGrid]:  # fmt: skip
    """A part as a study has it: the plain way and those of style, and each other way."""
    styles = {way.style for way in part.ways.values() if way.style is not None}
    inside = {one: entry for one, entry in told.items() if one.rpartition(", ")[2] in styles}
    if pairs := [*_pairs(part, {**players, **inside}, panel)]:
        yield part.grid_of(pairs, size)
    for name, way in part.ways.items():
        if way.style is None and (pairs := [*_pairs(part, players, panel)]):
            yield part.asked(name).grid_of(pairs, size)


def _pairs(
    part: Part, players: Mapping[str, RosterEntry], others: Mapping[str, RosterEntry]
) -> Iterator[list[str]]:
    """Who meets whom in a part, of those that can."""
    for one, own in players.items():
        for other, theirs in others.items():
            if (not part.against or other in part.against) and _sit(part, own, theirs):
                yield [one, other]


def _sit(part: Part, one: RosterEntry, other: RosterEntry) -> bool:
    """Whether two players can sit together in all configurations of a part."""
    return all(
        any(
            seat_at(one, game, own) is not None and seat_at(other, game, theirs) is not None
            for own, theirs in ((first, second), (second, first))
        )
        for game in part.games
        for first, second in [list(game.places)]
    )


def battery(named: str | Path = LATEST) -> Battery:
    """A battery by its name, or the one in a file.

    Raises:
        CheaptalkError: there is none, or it is not legal.
    """
    path = SHIPPED.get(str(named), Path(named))
    if path.suffix not in FILES and not path.is_file():
        raise CheaptalkError(f"no battery or file {suggest(str(named), list(SHIPPED))}")
    data = read_yaml(path)
    try:
        return Battery.model_validate(data)
    except ValidationError as error:
        raise CheaptalkError(f"{named}: {first_problem(error)}") from None
