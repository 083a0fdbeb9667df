"""Table templates: the games of a study that people can play in the browser."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cheaptalk.players import PersonSeat
from cheaptalk.records import player_digest
from cheaptalk.records.identity import match_digest
from cheaptalk.rules import Game, get_game
from cheaptalk.rules.game_spec import LANGUAGES
from cheaptalk.studies.plans.matches import (
    Configuration,
    NumberedInstances,
    PlannedInstance,
    PlannedMatch,
    match_of,
)
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.plans.seating import SeatedPlayer
from cheaptalk.studies.study import StudyError
from cheaptalk.styles import style_in

MEDIUM = "browser"
"""Value of ``person`` for players in the browser: ``{person: browser}``."""


@dataclass(frozen=True, eq=False)
class TableTemplate:
    """A game configuration and the players in its seats, from which tables are opened.

    Further instances are drawn when the study's are used up. ``localized`` contains the labels of
    human players whose prompt style depends on their language.
    """

    configuration: Configuration
    instances: Sequence[PlannedInstance]
    seating: tuple[SeatedPlayer, ...]
    localized: Collection[str] = ()
    planned_matches: int = 1

    @cached_property
    def name(self) -> str:
        """Identifier of the table template in URLs, the same in every run."""
        players = (seated.digest for seated in self.seating)
        return match_digest(self.configuration.digest, "", "", 0, players)[:12]

    @property
    def game(self) -> Game:
        return self.configuration.game

    @cached_property
    def shown(self) -> Game:
        """The game with the names of seats that people see."""
        return self.game.model_copy(update={"names": neutral_names(self.game)})

    @cached_property
    def seated(self) -> dict[str, SeatedPlayer]:
        return dict(zip(self.game.seats, self.seating, strict=True))

    @cached_property
    def human_seats(self) -> tuple[str, ...]:
        return tuple(seat for seat, seated in self.seated.items() if is_browser_player(seated))

    @cached_property
    def substitutes(self) -> dict[str, SeatedPlayer]:
        substitutes = {}
        for seat in self.human_seats:
            spec = self.seated[seat].spec
            if isinstance(spec, PersonSeat) and spec.away is not None:
                player = spec.stands_in(self.game)
                substitutes[seat] = SeatedPlayer(f"stand-in {player_digest(player)[:6]}", player)
        return substitutes

    def planned_instance(self, number: int) -> PlannedInstance:
        """Return a planned instance or, once all are used, draw a new one."""
        if number < len(self.instances):
            return self.instances[number]
        start = self.instances[0].seed.rpartition("/")[0]
        return NumberedInstances(start, number + 1)[number]

    def match(
        self,
        instance: int,
        repeat: int,
        substituted: Sequence[str] = (),
        seat_languages: Mapping[str, str] | None = None,
    ) -> PlannedMatch:
        """Return a match at this table, with substitutes and in each person's language."""
        seating = tuple(
            self.substitutes[seat]
            if seat in substituted
            else self.localize(seat, (seat_languages or {}).get(seat))
            for seat in self.seated
        )
        return match_of(self.configuration, self.planned_instance(instance), seating, repeat)

    def localize(self, seat: str, code: str | None) -> SeatedPlayer:
        """Return a seat's player with a language's prompt style, unless the study sets a style."""
        seated, spec = self.seated[seat], get_game(self.game.name)
        if seated.label not in self.localized or code not in LANGUAGES or code not in spec.styles:
            return seated
        style = style_in(spec, code)
        changes = {"style": style.name, "words": style.digest}
        return SeatedPlayer(seated.label, seated.spec.model_copy(update=changes))


def neutral_names(game: Game) -> dict[str, str]:
    """Return the names of seats that people see, such as Player 1, unless the study names seats."""
    return dict(game.names) or {
        seat: f"Player {number}" for number, seat in enumerate(game.seats, 1)
    }


def is_browser_player(seated: SeatedPlayer) -> bool:
    """Return whether a player is a person in the browser."""
    return isinstance(seated.spec, PersonSeat) and seated.spec.person == MEDIUM


def table_templates_of(planned: Plan) -> dict[str, TableTemplate]:
    """Return the table templates of a plan by name, in the plan's order.

    A StudyError is raised if no player is a person in the browser, or a person plays elsewhere.
    """
    for player in planned.players().values():
        if isinstance(player.spec, PersonSeat) and not is_browser_player(player):
            raise StudyError.at(
                ("players", player.label),
                f"people cannot play in the {player.spec.person} when a study is served; expected "
                f"{{person: {MEDIUM}}}",
            )
    table_templates = {template.name: template for template in _table_templates(planned)}
    if not table_templates:
        raise StudyError(
            f"{planned.study.name} has no player in the browser; add one under players, such as "
            f"LABEL: {{person: {MEDIUM}}}"
        )
    return table_templates


def group_by_game(table_templates: Mapping[str, TableTemplate]) -> dict[str, list[TableTemplate]]:
    """Group table templates by game."""
    groups: dict[str, list[TableTemplate]] = {}
    for table_template in table_templates.values():
        groups.setdefault(table_template.game.name, []).append(table_template)
    return groups


def _table_templates(planned: Plan) -> Iterator[TableTemplate]:
    forms = {label: entry.form for label, entry in planned.study.players.items()}
    localized = {
        label for label, form in forms.items() if isinstance(form, PersonSeat) and not form.style
    }
    for block in planned.matches.blocks:
        for seating in block.seatings:
            if any(map(is_browser_player, seating)):
                matches = len(block.instances) * block.repeats
                yield TableTemplate(
                    block.configuration, block.instances, tuple(seating), localized, matches
                )
