"""How large a study is going to be, and what its models may cost."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from typing import NamedTuple

from cheaptalk.players import ModelSeat
from cheaptalk.players.person import PersonSeat
from cheaptalk.records.costs import Cost
from cheaptalk.rules import counted
from cheaptalk.studies.estimates.estimate import Estimate, doubts, estimate
from cheaptalk.studies.people.pay import visit_cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.plans.seating import Seated
from cheaptalk.studies.study import Study

MOST_ESTIMATED = 200_000
"""Matches of a study whose cost is estimated here; larger ones would hold up everybody."""
MOST_KEPT = 64
"""Estimates that are remembered."""
NAMES = {"name", "description", "budget"}
"""What of a study its cost does not depend on."""


class GameSize(NamedTuple):
    """How large a study is at one game.

    Attributes:
        game: its name.
        configurations: of its parameters.
        seatings: who can meet whom.
        matches: that are played.
    """

    game: str
    configurations: int
    seatings: int
    matches: int


class Size(NamedTuple):
    """How large a study is.

    Attributes:
        games: by game.
        matches: of all games.
        people, models, scripts: who sits down, by label.
        crossings: the factors of players and their levels, a line for each crossed entry.
        absences: who does not play everywhere, a sentence each.
    """

    games: list[GameSize]
    matches: int
    people: list[str]
    models: list[str]
    scripts: list[str]
    crossings: list[str]
    absences: list[str]

    @property
    def configurations(self) -> int:
        """The configurations of all games."""
        return sum(game.configurations for game in self.games)

    @property
    def seatings(self) -> int:
        """The seatings of all games."""
        return sum(game.seatings for game in self.games)

    @property
    def players(self) -> str:
        """Who plays, in a line."""
        kinds = (("person", self.people), ("model", self.models), ("script", self.scripts))
        whole = [_headcount(len(labels), what) for what, labels in kinds if labels]
        return ", ".join(whole)


def _headcount(number: int, what: str) -> str:
    return f"{number:,} people" if what == "person" and number > 1 else counted(number, what)


def size_of(planned: Plan) -> Size:
    """How large a plan is; of a sample, the seatings from which it is drawn."""
    matches: dict[str, int] = {}
    seatings: dict[str, set[tuple[str, ...]]] = {}
    seen: set[tuple[str, int]] = set()
    players: dict[str, Seated] = {}
    for block in planned.matches.blocks:
        game = block.configuration.game.name
        matches[game] = matches.get(game, 0) + len(block)
        if (game, id(block.seatings)) not in seen:
            seen.add((game, id(block.seatings)))
            rows = {tuple(player.label for player in row) for row in block.seatings}
            seatings.setdefault(game, set()).update(rows)
            players |= {player.label: player for row in block.seatings for player in row}
    sizes = planned.configurations()
    games = [GameSize(game, sizes[game], len(seatings[game]), matches[game]) for game in matches]
    people = [label for label, one in players.items() if isinstance(one.spec, PersonSeat)]
    models = [label for label, one in players.items() if isinstance(one.spec, ModelSeat)]
    scripts = [label for label in players if label not in people and label not in models]
    lines = planned.crossings, planned.absences
    return Size(games, len(planned.matches), people, models, scripts, *lines)


def wages(protocol: Protocol) -> str:
    """What participants may cost, in a sentence.

    >>> wages(Protocol(path=["games"], pay={"base": 2}, recruitment={"places": 50}))
    'Participants cost 100.00 USD for 50 places.'
    """
    places, currency = protocol.recruitment.places, protocol.pay.currency
    least, most = visit_cents(protocol)
    many = places or 1
    amounts = [
        f"{one * many / 100:,.2f}" for one in dict.fromkeys((least, most)) if one is not None
    ]
    whom = f"for {counted(places, 'place')}" if places else "for each visit that is completed"
    said = f"{' to '.join(amounts)} {currency} {whom}"
    games = protocol.games.most
    more = ""
    if most is None:
        played = f", with {counted(1 if protocol.games.may_stop else games, 'game')} each"
        more = (
            f"{played if games > 1 else ''}, and bonuses"
            f"{f' of up to {games} games' if games > 1 else ''} without a bound; most: sets one"
        )
    return f"Participants cost {said}{more}."


def crowded(planned: Plan) -> str:
    """That a study has more places for people than seats, in a sentence; empty where it has not."""
    protocol = planned.study.people
    if protocol is None or protocol.recruitment.places is None:
        return ""
    places, most = protocol.recruitment.places, protocol.games.most
    known: dict[int, float] = {}
    seats = 0.0
    for block in planned.matches.blocks:
        rows = block.seatings
        if id(rows) not in known:
            people = sum(isinstance(one.spec, PersonSeat) for row in rows for one in row)
            known[id(rows)] = people / len(rows)
        seats += len(block) * known[id(rows)]
    if seats >= places * most:
        return ""
    each = f" of up to {most} games" if most > 1 else ""
    return (
        f"{counted(places, 'place')}{each} may take {places * most:,} seats, and the plan has "
        f"{seats:,.0f}: give it more deals, or who comes last finds no table."
    )


def timeless(study: Study) -> list[str]:
    """The labels of participants who may think for ever, which holds up whoever plays with them."""
    if study.people is None:
        return []
    seats = {label: entry.form for label, entry in study.players.items()}
    return [
        label for label, seat in seats.items()
        if isinstance(seat, PersonSeat) and seat.deadline is None
    ]  # fmt: skip


class CostDesk:
    """Estimates what studies cost, one after the other beside everything else, and remembers it.

    A study that costs the same as one before, such as under another name, is not estimated again.
    """

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, "estimate")
        self._known: OrderedDict[str, Future[Estimate]] = OrderedDict()

    def ask(self, planned: Plan) -> "Future[Estimate]":
        """What the models of a plan may take, when it has been found out.

        It is played with scripted stand-ins, which may take seconds.
        """
        key = cost_digest(planned.study)
        if key not in self._known:
            self._known[key] = self._worker.submit(estimate, planned)
        self._known.move_to_end(key)
        while len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)[1].cancel()
        return self._known[key]

    async def within(self, planned: Plan, seconds: float) -> Estimate | None:
        """What the models of a plan may take; None where it takes longer to find out.

        Raises:
            CheaptalkError: it cannot be found out.
        """
        asked = self.ask(planned)
        ended, _ = await asyncio.wait([asyncio.wrap_future(asked)], timeout=seconds)
        return asked.result() if ended and not asked.cancelled() else None

    def close(self) -> None:
        """Estimate no more."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def cost_digest(study: Study) -> str:
    """What stands for all that a study's cost depends on."""
    return sha256(study.model_dump_json(exclude=NAMES).encode()).hexdigest()


def not_estimated(size: Size) -> str | None:
    """Why a study's cost is not estimated, in a sentence; None where it is."""
    if not size.models:
        return "No model plays: nothing is bought."
    if size.matches > MOST_ESTIMATED:
        most = counted(MOST_ESTIMATED, "match")
        return f"The cost is not estimated here from {most} on; cheaptalk plan does it."
    return None


def budget_doubts(takes: Estimate, study: Study) -> Iterator[str]:
    """Where a study may not end within its budget, a sentence each."""
    return doubts(takes, study.budget, Cost())
