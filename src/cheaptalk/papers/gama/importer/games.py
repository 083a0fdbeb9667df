"""File formats of GAMA's eight games."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field

from cheaptalk.papers.gama.importer.files import (
    FileName,
    GamaFile,
    GamaModel,
    GamaPlayer,
    Meta,
    P,
    RecordedAnswer,
    S,
    agree,
)
from cheaptalk.records.imports.importing import ImportFailed
from cheaptalk.rules import get_game
from cheaptalk.rules.errors import shown

CHEAP, COSTLY = "cheap", "costly"
"""The dishes; GAMA treated any other word as the costly dish."""


class Round(GamaModel):
    """A recorded round; subclasses add the results of their game."""

    responses: list[Any]


C = TypeVar("C", bound=Round)


class Rounds(GamaFile[S, C, P]):
    """A recorded game with simultaneous choices.

    Choices are read from the players, because some games shuffled the choices of a round in place.
    """

    key: ClassVar[str]
    """The name of the choice in an answer."""

    def check(self) -> None:
        super().check()
        rounds = len(self.round_records)
        agree("meta.round_id", self.meta.round_id, rounds)
        for index, player in enumerate(self.player_data):
            field = f"player_data.{index}.records"
            agree(field, f"{len(player.records)} choices", f"{rounds} choices")
        for number, round_ in enumerate(self.round_records):
            written = [player.records[number] for player in self.player_data]
            field = f"round_records.{number}"
            agree(f"{field}.responses", sorted(round_.responses, key=str), sorted(written, key=str))
            choices = [self.choice(value) for value in written]
            for name, expected in self.results(number, choices).items():
                recorded = getattr(round_, name)
                if isinstance(recorded, float):
                    recorded, expected = round(recorded, 9), round(expected, 9)
                agree(f"{field}.{name}", recorded, expected)
            for index, gain in enumerate(self.gains(number, choices)):
                utility = self.player_data[index].utility
                field = f"player_data.{index}.utility"
                agree(field, f"{len(utility)} numbers", f"{rounds} numbers")
                agree(f"{field}.{number}", round(utility[number], 9), round(float(gain), 9))

    def parameters(self) -> dict[str, Any]:
        size = {"players": len(self.player_data), "rounds": len(self.round_records)}
        values = size | {"limits": False} | dict(self.meta)
        fields = get_game(self.game).rules.model_fields
        return {name: value for name, value in values.items() if name in fields}

    def choice(self, written: Any) -> Any:
        """Convert a recorded choice."""
        return written

    @abstractmethod
    def results(self, number: int, choices: Sequence[Any]) -> dict[str, Any]:
        """Return the expected results of a round with these choices, by field."""

    def gains(self, number: int, choices: Sequence[Any]) -> Sequence[float]:
        """Return each player's expected gain from these choices; empty if it depends on chance."""
        return ()

    def answers(self) -> Iterator[RecordedAnswer]:
        for number in range(len(self.round_records)):
            for index, seat in enumerate(self.seats):
                chosen = self.choice(self.player_data[index].records[number])
                yield seat, {self.key: chosen}, f"player_data.{index}.records.{number}"


class _GuessMeta(Meta):
    minimum: int = Field(alias="min")
    maximum: int = Field(alias="max")
    ratio: float
    ratio_str: str


class _GuessRound(Round):
    mean: float
    mean_ratio: float
    winner: int  # one of the nearest numbers, the first one in a shuffled order
    winner_num: int


class Guess(Rounds[_GuessMeta, _GuessRound, GamaPlayer[int]]):
    """A recorded game of guess 2/3 of the average."""

    game = "guess_the_average"
    key = "chosen_number"

    def results(self, number: int, choices: Sequence[int]) -> dict[str, Any]:
        mean = sum(choices) / len(choices)
        winner = self.round_records[number].winner
        return {
            "mean": mean,
            "mean_ratio": mean * self.meta.ratio,
            "winner_num": choices.count(winner),
        }


MODES = ("implicit", "explicit")
"""Also names of folders."""


class _BarMeta(Meta):
    crowded: int = Field(alias="min")
    fun: int = Field(alias="max")
    home: int
    capacity: float = Field(alias="ratio")
    ratio_str: str
    feedback: Literal["implicit", "explicit"] = Field(alias="mode")


class _BarRound(Round):
    go_num: int
    go_ratio: float
    winner: Literal["go", "stay"]
    utility: int


class Bar(Rounds[_BarMeta, _BarRound, GamaPlayer[Literal["go", "stay"]]]):
    """A recorded game of El Farol bar."""

    game = "el_farol_bar"
    key = "decision"

    @classmethod
    def inferred_settings(cls, name: FileName, folder: str) -> dict[str, Any]:
        mode = name.mode or (folder if folder in MODES else None)
        return {"mode": mode} if mode else {}

    def results(self, number: int, choices: Sequence[str]) -> dict[str, Any]:
        share = choices.count("go") / len(choices)
        winner = "go" if share <= self.meta.capacity else "stay"
        return {"go_num": choices.count("go"), "go_ratio": share, "winner": winner}

    def gains(self, number: int, choices: Sequence[str]) -> Sequence[float]:
        crowded = choices.count("go") / len(choices) > self.meta.capacity
        going = self.meta.crowded if crowded else self.meta.fun
        return [going if choice == "go" else self.meta.home for choice in choices]


class _DollarMeta(Meta):
    golds: int


class _DollarRound(Round):
    total_proposal: int


class Dollar(Rounds[_DollarMeta, _DollarRound, GamaPlayer[int]]):
    """A recorded game of divide the dollar."""

    game = "divide_the_dollar"
    key = "bid_amount"

    def results(self, number: int, choices: Sequence[int]) -> dict[str, Any]:
        return {"total_proposal": sum(choices)}

    def gains(self, number: int, choices: Sequence[int]) -> Sequence[float]:
        return choices if sum(choices) <= self.meta.golds else [0] * len(choices)


class _GoodsMeta(Meta):
    tokens: int
    factor: float = Field(alias="ratio")
    token_initialization: Literal["fixed"]
    reset: Literal[True]
    rand_min: int


class _GoodsRound(Round):
    total_tokens: int


class _Giver(GamaPlayer[int]):
    tokens: list[float]


class Goods(Rounds[_GoodsMeta, _GoodsRound, _Giver]):
    """A recorded public goods game; the recorded utility excludes the player's share of the pot."""

    game = "public_goods"
    key = "tokens_contributed"

    def results(self, number: int, choices: Sequence[int]) -> dict[str, Any]:
        return {"total_tokens": sum(choices)}

    def gains(self, number: int, choices: Sequence[int]) -> Sequence[float]:
        return [self.meta.tokens - choice for choice in choices]


class _DinersMeta(Meta):
    cheap_price: int = Field(alias="cheap_cost")
    cheap_utility: int
    costly_price: int = Field(alias="exp_cost")
    costly_utility: int = Field(alias="exp_utility")


class _DinersRound(Round):
    cheap_player: int
    total_cost: int
    cost_msg: str
    avg_cost: float


class Diners(Rounds[_DinersMeta, _DinersRound, GamaPlayer[str]]):
    """A recorded game of the diner's dilemma."""

    game = "diners_dilemma"
    key = "chosen_dish"

    def check(self) -> None:
        try:
            super().check()
        except ImportFailed as error:
            orders = dict.fromkeys(shown(order[self.key]) for order in self._unknown_orders())
            note = "; orders other than cheap and costly, which count as costly: "
            raise ImportFailed(f"{error}{note + ', '.join(orders) if orders else ''}") from None

    def choice(self, written: str) -> str:
        return CHEAP if written == CHEAP else COSTLY

    def results(self, number: int, choices: Sequence[str]) -> dict[str, Any]:
        cheap, costly = choices.count(CHEAP), choices.count(COSTLY)
        bill = cheap * self.meta.cheap_price + costly * self.meta.costly_price
        return {"cheap_player": cheap, "total_cost": bill, "avg_cost": bill / len(choices)}

    def gains(self, number: int, choices: Sequence[str]) -> Sequence[float]:
        part = self.results(number, choices)["avg_cost"]
        worth = {CHEAP: self.meta.cheap_utility, COSTLY: self.meta.costly_utility}
        return [worth[choice] - part for choice in choices]

    def unused(self) -> dict[str, Any]:
        words = list(self._unknown_orders())
        return {"counted_as_costly": words} if words else {}

    def notes(self) -> Iterable[str]:
        orders = (shown(order[self.key]) for order in self._unknown_orders())
        return [f"{order} counted as the costly dish" for order in orders]

    def _unknown_orders(self) -> Iterator[dict[str, Any]]:
        for seat, player in zip(self.seats, self.player_data, strict=True):
            for number, word in enumerate(player.records):
                if word not in (CHEAP, COSTLY):
                    yield {"request": number, "seat": seat, self.key: word}


class _AuctionMeta(Meta):
    low: int = Field(alias="valuation_min")
    high: int = Field(alias="valuation_max")
    step: int = Field(alias="interval")
    seed: int
    mode: Literal["highest bid", "second highest bid"] | None = None


class _AuctionRound(Round):
    bid_winner: str
    bid_winner_proposed: int
    bid_winner_payment: int
    utility: list[float]
    valuations: list[int]


class Auction(Rounds[_AuctionMeta, _AuctionRound, GamaPlayer[int]]):
    """A recorded sealed-bid auction, with the recorded valuations and winners of ties."""

    game = "sealed_bid_auction"
    key = "bid"

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"price": self._price()}

    def _price(self) -> str:
        if self.meta.mode is not None:
            return "first" if self.meta.mode == "highest bid" else "second"
        paid = ((each.bid_winner_payment, each.bid_winner_proposed) for each in self.round_records)
        return "first" if all(payment == bid for payment, bid in paid) else "second"

    def check(self) -> None:
        super().check()
        rounds = zip(self.round_records, self._winners(), strict=True)
        for number, (round_, winner) in enumerate(rounds):
            field = f"round_records.{number}"
            numbers = f"{len(round_.valuations)} numbers"
            agree(f"{field}.valuations", numbers, f"{len(self.player_data)} numbers")
            bid = self.player_data[self.seats.index(winner)].records[number]
            agree(f"{field}.bid_winner_proposed", round_.bid_winner_proposed, bid)

    def _winners(self) -> list[str]:
        return [
            self.seat_of(round_.bid_winner, f"round_records.{number}.bid_winner")
            for number, round_ in enumerate(self.round_records)
        ]

    def instance(self) -> dict[str, Any]:
        return {
            "valuations": [round_.valuations for round_ in self.round_records],
            "precedence": [[winner] for winner in self._winners()],
        }

    def results(self, number: int, choices: Sequence[int]) -> dict[str, Any]:
        highest, second, *_ = sorted(choices, reverse=True)
        paid = highest if self._price() == "first" else second
        return {"bid_winner_proposed": highest, "bid_winner_payment": paid}


MAX_ROUNDS = 20
"""The maximum number of rounds of a battle, which players don't know."""
MISS = "null"


class _BattleMeta(Meta):
    base_hit_rate: int
    interval: int


class _Shot(GamaModel):
    responses: list[str]
    player_shooting: str
    initial_players: list[list[str | int]]
    shot_player: str
    removed_player_info: list[str] = Field(default_factory=list)  # as it was at the game's end
    action: Literal["shoot", "miss"]
    out: bool


class Battle(GamaFile[_BattleMeta, _Shot, GamaPlayer[str]]):
    """A recorded battle royale, in which the target (not the action's name) determines the shot.

    Shots are read from the rounds, because the players' records were parsed again from texts and
    contain errors.
    """

    game = "battle_royale"

    def check(self) -> None:
        super().check()
        living = self.seats
        for number, shot in enumerate(self.round_records):
            field = f"round_records.{number}"
            agree(f"{field}.responses", shot.responses, [shot.shot_player])
            agree(f"{field}.action", shot.action, "miss" if shot.shot_player == MISS else "shoot")
            rates = [[f"player_{self.seats.index(seat)}", self._rate(seat)] for seat in living]
            agree(f"{field}.initial_players", shot.initial_players, rates)
            if shot.out:
                target = self.seat_of(shot.shot_player, f"{field}.shot_player")
                if target not in living:
                    raise ImportFailed(
                        f'"{field}.out": player "{shot.shot_player}" was already out'
                    )
                living.remove(target)

    def _rate(self, seat: str) -> int:
        """Return a player's hit rate in percent."""
        return self.meta.base_hit_rate + self.meta.interval * self.seats.index(seat)

    def parameters(self) -> dict[str, Any]:
        rates = [self._rate(seat) / 100 for seat in self.seats]
        horizon = {"rounds": max(MAX_ROUNDS, len(self.round_records)), "hidden": True}
        return {"hit_rates": rates, "horizon": horizon, "strict_targets": False}

    def instance(self) -> dict[str, Any]:
        return {"hits": [shot.out for shot in self.round_records]}

    def answers(self) -> Iterator[RecordedAnswer]:
        for number, shot in enumerate(self.round_records):
            field = f"round_records.{number}"
            seat = self.seat_of(shot.player_shooting, f"{field}.player_shooting")
            missing = shot.shot_player == MISS
            target = None if missing else self.seat_of(shot.shot_player, f"{field}.shot_player")
            yield seat, {"action": shot.action, "target": target}, f"{field}.shot_player"

    def unused(self) -> dict[str, Any]:
        shots: dict[str, list[str]] = {seat: [] for seat in self.seats}
        for shot in self.round_records:
            shots[self.seat_of(shot.player_shooting, "player_shooting")].append(shot.shot_player)
        recorded = (player.records for player in self.player_data)
        records = dict(zip(self.seats, recorded, strict=True))
        return {} if records == shots else {"player_records": records}


class _PirateMeta(Meta):
    gold: int = 100


class _Ballot(GamaModel):
    gold_distribution: list[int]
    responses: list[Literal["accept", "reject"]]


class Pirates(GamaFile[_PirateMeta, _Ballot, GamaPlayer[Literal["accept", "reject"]]]):
    """A recorded pirate game; the proposer of a plan votes for it."""

    game = "pirate_game"

    def check(self) -> None:
        super().check()
        for number, ballot in enumerate(self.round_records):
            field = f"round_records.{number}"
            living = f"{len(self.player_data) - number} pirates"
            agree(f"{field}.gold_distribution", f"{len(ballot.gold_distribution)} pirates", living)
            agree(f"{field}.responses", f"{len(ballot.responses)} pirates", living)
            agree(f"{field}.responses.0", ballot.responses[0], "accept")
        for index, player in enumerate(self.player_data):
            ballots = self.round_records[: index + 1]
            votes = [ballot.responses[index - number] for number, ballot in enumerate(ballots)]
            agree(f"player_data.{index}.records", player.records, votes)

    def parameters(self) -> dict[str, Any]:
        return {"players": len(self.player_data), "gold": self.meta.gold}

    def answers(self) -> Iterator[RecordedAnswer]:
        for number, ballot in enumerate(self.round_records):
            field = f"round_records.{number}"
            proposer, *voters = living = self.seats[number:]
            plan = dict(zip(living, ballot.gold_distribution, strict=True))
            yield proposer, {"proposal": plan}, f"{field}.gold_distribution"
            for index, seat in enumerate(voters, start=1):
                vote = {"decision": ballot.responses[index]}
                yield seat, vote, f"{field}.responses.{index}"
