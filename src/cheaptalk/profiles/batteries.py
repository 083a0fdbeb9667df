"""Batteries: versioned sets of matches for profiles."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError, model_validator

from cheaptalk.players import RosterEntry
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.players.seats import SeatSpec
from cheaptalk.players.strategy import StrategySeat
from cheaptalk.records import configuration_digest
from cheaptalk.rules import CheaptalkError, Game, Value, games, get_game, suggest
from cheaptalk.rules.errors import first_problem
from cheaptalk.studies.study import FILES, Count, GameGrid, Study, read_yaml

HERE = Path(__file__).parent
BUILT_IN = {path.stem: path for path in sorted(HERE.glob("*.yaml"))}
"""Built-in batteries by name; a published battery never changes."""
LATEST = "standard-2"


class Part(Value):
    """A set of configurations of one game in a battery.

    Attributes:
        game, fixed, cases, grid: as in a study.
        against: opponents of the player; empty for all opponents.
        instances: number of instances of each configuration at size 1.
    """

    title: str
    game: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    cases: Annotated[list[dict[str, Any]], Field(min_length=1)] = [{}]  # noqa: RUF012 - frozen
    grid: dict[str, list[Any]] = Field(default_factory=dict)
    against: tuple[str, ...] = ()
    instances: Count = 1

    @model_validator(mode="after")
    def _is_legal(self) -> "Part":
        for game in self.games:
            if len(game.seats) != 2:
                raise ValueError(
                    f"{self.game} has {len(game.seats)} seats; a part of a battery requires two"
                )
        return self

    def grid_of(self, pairing: list[list[str]], size: int) -> GameGrid:
        written = {name: getattr(self, name) for name in ("game", "fixed", "cases", "grid")}
        more = {"pairing": pairing, "instances": size * self.instances}
        return GameGrid.model_validate(written | more)

    @property
    def games(self) -> list[Game]:
        return self.grid_of([["", ""]], 1).configurations()

    @property
    def can_lose(self) -> bool:
        """Whether a player can have a negative payoff in any configuration."""
        bounds = (bound for game in self.games for bound in game.payoff_bounds().values())
        return any(minimum < 0 for minimum, _ in bounds)


class Way(Value):
    """A variant of a decision that differs only in its presentation.

    Attributes:
        style: the prompt style, for players that read text.
        fixed: parameters that differ from the part's parameters, such as names or amounts.
        cases: the part's cases with lists in another order.
        beside: the presentation to compare with; by default the plain presentation.
    """

    style: str | None = None
    fixed: dict[str, Any] = Field(default_factory=dict)
    cases: list[dict[str, Any]] | None = None
    beside: str | None = None


class PresentationPart(Part):
    """A set of configurations, each played in several presentations of the same decision.

    Attributes:
        ways: the presentations, by a name for the difference, such as words, names or scale.
    """

    ways: dict[str, Way]

    @model_validator(mode="after")
    def _ways_are_alike(self) -> "PresentationPart":
        for name, way in self.ways.items():
            if way.beside is not None and way.beside not in self.ways:
                raise ValueError(f"{name}: beside: {suggest(way.beside, list(self.ways))}")
            if way.style is not None and way.style not in get_game(self.game).styles:
                styles = list(get_game(self.game).styles)
                raise ValueError(f"{name}: no style {suggest(way.style, styles)}")
            if len(self.asked(name).games) != len(self.games):
                raise ValueError(f"{name}: the number of configurations differs from the part's")
        return self

    def asked(self, name: str) -> Part:
        """Return the same configurations in another presentation."""
        way = self.ways[name]
        written = self.model_dump(exclude={"ways"}) | {"fixed": self.fixed | way.fixed}
        return Part(**written if way.cases is None else written | {"cases": way.cases})


class Question(NamedTuple):
    """A presented decision: its battery part, index (from 0) and presentation (empty if plain)."""

    part: str
    number: int
    way: str


class Member(Value):
    """A baseline player, with a description of how it plays."""

    meaning: str
    player: RosterEntry


class Battery(Value):
    """The definition of a profile's matches.

    Attributes:
        name: the name with a version, such as ``standard-2``. Profiles by batteries with the same
            name are comparable.
        seed: random seed of all instances.
        sizes: by size, the factor for the number of instances of each part.
        panel: the baselines, which are opponents and references.
        talkers: opponents that make the same moves with different messages, and opponents that only
            test a weakness. The first talker is silent.
        repeats: talkers that repeat the silent talker, to measure random variation.
        early, late: talkers that repeat the silent talker before and after all other matches, to
            measure changes over time; empty without such talkers.
        parts: parts that are played against the panel.
        words: parts that are played against the talkers.
        anew: decisions that are played against the panel in several presentations.
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
    anew: dict[str, PresentationPart] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _parts_are_apart(self) -> "Battery":
        owners: dict[str, str] = {}
        parts_by_name = [*self.parts.items(), *self.words.items()]
        for name, presented in self.anew.items():
            parts_by_name += [
                (f"{name} in other {key}", presented.asked(key))
                for key, way in presented.ways.items()
                if way.style is None
            ]
        for name, part in [*parts_by_name, *self.anew.items()]:
            for game in part.games:
                first = owners.setdefault(configuration_digest(game), name)
                if first != name:
                    raise ValueError(f"{first} and {name} have a configuration in common")
        rounds = ((self.parts, self.panel), (self.words, self.talkers), (self.anew, self.panel))
        for parts, others in rounds:
            for name, part in parts.items():
                for other in part.against:
                    if other not in others:
                        raise ValueError(f"{name}: against: {suggest(other, list(others))}")
        if shared := self.panel.keys() & self.talkers.keys():
            raise ValueError(f"{min(shared)} is in both the panel and the talkers")
        return self

    @model_validator(mode="after")
    def _repeats_are_talkers(self) -> "Battery":
        for name in filter(None, [*self.repeats, self.early, self.late]):
            if name not in self.talkers:
                raise ValueError(f"no talker {suggest(name, list(self.talkers))}")
        return self

    @cached_property
    def part_of(self) -> Mapping[str, str]:
        """Name of the battery part that contains a configuration, by the configuration's digest."""
        parts = {**self.parts, **self.words}.items()
        once = {configuration_digest(game): name for name, part in parts for game in part.games}
        return once | {digest: question.part for digest, question in self.asked_anew.items()}

    @cached_property
    def asked_anew(self) -> Mapping[str, Question]:
        """Decision and presentation of each configuration with several presentations, by digest.

        Presentations that differ only in prompt style have the digest of the plain presentation.
        """
        questions: dict[str, Question] = {}
        for name, part in self.anew.items():
            for way, variant in {"": part, **{way: part.asked(way) for way in part.ways}}.items():
                for number, game in enumerate(variant.games):
                    questions.setdefault(configuration_digest(game), Question(name, number, way))
        return questions

    def size(self, name: str) -> int:
        """Return the factor by which a battery size multiplies the number of instances.

        Raises:
            CheaptalkError: the battery has no such size.
        """
        if name not in self.sizes:
            raise CheaptalkError(f"{self.name} has no size {suggest(name, list(self.sizes))}")
        return self.sizes[name]

    def enough(self, size: str, times: float) -> str | None:
        """Return the smallest size with at least ``times`` as many instances, or None."""
        larger = self.larger(size).items()
        return next((name for name, count in larger if count >= times), None)

    def larger(self, size: str) -> Mapping[str, float]:
        """Return each larger battery size with its number of instances relative to ``size``."""
        current = self.size(size)
        ordered = sorted(self.sizes.items(), key=lambda size: size[1])
        return {name: count / current for name, count in ordered if count > current}

    def beside(self, others: Mapping[str, RosterEntry]) -> "Battery":
        """Return the battery with additional baselines, such as reference models.

        The battery gets another name, because the additional baselines change some metrics.

        Raises:
            CheaptalkError: the battery already has a player with such a label.
        """
        for label in others:
            self._check_free(label)
        members = {
            label: Member(meaning="is an additional baseline", player=entry)
            for label, entry in others.items()
        }
        name = "-".join([self.name, "beside", *others])
        return self.model_copy(update={"name": name, "panel": {**self.panel, **members}})

    def study(self, label: str, entry: RosterEntry, size: str) -> Study:
        """Return the study that a player's profile requires, with baselines on the same instances.

        A baseline under its own name needs no additional matches.

        Raises:
            CheaptalkError: the battery has no such size or another player with this label, or the
                player can fill no seat.
        """
        if label not in self.panel or self.panel[label].player != entry:
            self._check_free(label)
        times = self.size(size)
        panel = {name: member.player for name, member in self.panel.items()}
        identical = self.alike(entry)
        remaining = _without(entry, identical, panel)
        reason = None if remaining is None else self._nowhere(remaining)
        if reason is not None and not identical:
            raise CheaptalkError(f"{label} can't fill any seat in {self.name}: {reason}")
        tested_player = {} if remaining is None or reason is not None else {label: remaining}
        ends = {name: self.talkers[name] for name in (self.early, self.late) if name}
        between = {name: talker for name, talker in self.talkers.items() if name not in ends}
        # scripts do not read messages, names and presentations, so only text players repeat them
        readers = tested_player | {
            name: column
            for name, column in panel.items()
            if "model" in column.written() or name in identical.values()
        }
        styled = {
            styled_label(label, style): player for style, player in self.styled(entry).items()
        }
        early, late = ({name: ends[name]} if name else {} for name in (self.early, self.late))
        rounds = [
            (self.words, readers, early),
            (self.parts, tested_player | panel, panel),
            (self.words, readers, between),
        ]
        grids = [_grids(*meeting, times) for meeting in rounds]
        grids += [_anew(part, readers, panel, styled, times) for part in self.anew.values()]
        return Study.model_validate(
            {
                "name": f"{label}-{self.name}-{size}",
                "description": f"The profile of {label} by {self.name}, {size}.",
                "seed": self.seed,
                "players": {**tested_player, **panel, **self.talkers, **styled},
                "swap": True,
                "pairing": "self",
                "games": [*chain(*grids, _grids(self.words, readers, late, times))],
            }
        )

    def _check_free(self, label: str) -> None:
        if label in {**self.panel, **self.talkers}:
            raise CheaptalkError(
                f'{self.name} already has a player "{label}"; choose another label'
            )

    def styled(self, entry: RosterEntry) -> dict[str, RosterEntry]:
        """Return variants of a model player, one per prompt style that the battery compares."""
        written = entry.written()
        games: dict[str, dict[str, str]] = {}
        for part in self.anew.values() if "model" in written else ():
            for way in part.ways.values():
                if way.style is not None:
                    games.setdefault(way.style, {})[part.game] = way.style
        make = RosterEntry.model_validate
        return {style: make(written | {"style": by_game}) for style, by_game in games.items()}

    @property
    def _games(self) -> list[Game]:
        parts = (*self.parts.values(), *self.words.values(), *self.anew.values())
        return [game for part in parts for game in part.games]

    def _nowhere(self, entry: RosterEntry) -> str | None:
        """Return why a player cannot fill any seat; None if it can fill at least one."""
        reasons: dict[str, None] = {}
        for game in self._games:
            for seat in game.seats:
                try:
                    if entry.seat(game, seat) is not None:
                        return None
                except ValueError as error:
                    reasons.setdefault(str(error))
        names = list(dict.fromkeys(game.name for game in self._games))
        return next(iter(reasons), entry.form.why_idle(names))

    def alike(self, entry: RosterEntry) -> dict[tuple[str, str], str]:
        """Return, by game and seat, the battery's player that is identical to a given player.

        Matches of the battery's player in such seats count for both players.
        """
        entries = {**{name: column.player for name, column in self.panel.items()}, **self.talkers}
        taken: dict[tuple[str, str], str] = {}
        for game in self._games:
            for seat in game.seats:
                spec = seat_at(entry, game, seat)
                if spec is None or isinstance(spec, ModelSeat):
                    continue
                for name, other in entries.items():
                    if seat_at(other, game, seat) == spec:
                        taken.setdefault((game.name, seat), name)
        return taken


def seat_at(entry: RosterEntry, game: Game, seat: str) -> SeatSpec | None:
    """Return the settings of a player in a seat; None if it cannot fill the seat.

    Raises:
        CheaptalkError, ValueError: the player's settings do not fit the game.
    """
    try:
        return entry.seat(game, seat)
    except ValidationError as error:
        raise CheaptalkError(first_problem(error)) from None
    except ValueError:
        if entry.form.exact:
            return None
        raise


def _without(
    entry: RosterEntry, taken: Mapping[tuple[str, str], str], panel: Mapping[str, RosterEntry]
) -> RosterEntry | None:
    """Restrict a player to seats that are not taken; return None if no seat remains."""
    if not taken:
        return entry
    if entry.form.exact:
        panel_policies = {policy for other in panel.values() for policy in _policies(other)}
        policies = [policy for policy in _policies(entry) if policy not in panel_policies]
        return RosterEntry.model_validate({"policies": policies}) if policies else None
    strategies: dict[str, dict[str, Any]] = {}
    for name in games():
        rules = get_game(name).rules()
        for seat in rules.seats:
            spec = entry.seat(rules, seat)
            if isinstance(spec, StrategySeat) and (name, seat) not in taken:
                strategies.setdefault(name, {})[seat] = {"strategy": spec.strategy, **spec.settings}
    return RosterEntry.model_validate({"strategies": strategies}) if strategies else None


def _policies(entry: RosterEntry) -> list[str]:
    written = entry.written()
    return [*written.get("policies", ()), *filter(None, [written.get("policy")])]


def styled_label(label: str, style: str) -> str:
    """Return the label of a player's variant with another prompt style."""
    return f"{label}, {style}"


def _anew(
    part: PresentationPart,
    players: Mapping[str, RosterEntry],
    panel: Mapping[str, RosterEntry],
    styled: Mapping[str, RosterEntry],
    size: int,
) -> Iterator[GameGrid]:
    """Yield the games of a part in each presentation; one grid covers all prompt styles."""
    styles = {way.style for way in part.ways.values() if way.style is not None}
    inside = {
        change: entry for change, entry in styled.items() if change.rpartition(", ")[2] in styles
    }
    yield from _grids({"": part}, {**players, **inside}, panel, size)
    ways = {name: part.asked(name) for name, way in part.ways.items() if way.style is None}
    yield from _grids(ways, players, panel, size)


def _grids(
    parts: Mapping[str, Part],
    players: Mapping[str, RosterEntry],
    others: Mapping[str, RosterEntry],
    size: int,
) -> Iterator[GameGrid]:
    """Yield the games of parts with each pair of a player and an opponent that can play them."""
    for part in parts.values():
        pairs = [
            [player, other]
            for player, entry in players.items()
            for other, opponent in others.items()
            if (not part.against or other in part.against) and _sit(part, entry, opponent)
        ]
        if pairs:
            yield part.grid_of(pairs, size)


def _sit(part: Part, player: RosterEntry, other: RosterEntry) -> bool:
    """Return whether two players can play each other in all configurations of a part."""

    def seated(entry: RosterEntry, game: Game, seat: str) -> bool:
        return seat_at(entry, game, seat) is not None

    return all(
        any(
            seated(player, game, first) and seated(other, game, second)
            for first, second in (list(game.seats), list(game.seats)[::-1])
        )
        for game in part.games
    )


def battery(named: str | Path = LATEST) -> Battery:
    """Return a battery by name or from a file.

    Raises:
        CheaptalkError: the battery does not exist or is invalid.
    """
    path = BUILT_IN.get(str(named), Path(named))
    if path.suffix not in FILES and not path.is_file():
        raise CheaptalkError(f"unknown battery {suggest(str(named), list(BUILT_IN))}")
    data = read_yaml(path)
    try:
        return Battery.model_validate(data)
    except ValidationError as error:
        raise CheaptalkError(f"{named}: {first_problem(error)}") from None
