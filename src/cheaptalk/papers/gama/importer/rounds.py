"""GAMA's games in which all choose at once, round after round."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from cheaptalk.papers.gama.importer.files import (
    GamaFile,
    GamaModel,
    GamaPlayer,
    Meta,
    RecordedAnswer,
    agree,
)

MISWORDED = ("costly_dish", "cheap_dish", "costly_or_cheap")
"""Orders that GAMA let pass; it charged and reported each as a costly dish."""


class Round(GamaModel):
    """A round; its results are narrowed by each game."""

    responses: list[Any]


class Rounds(GamaFile):
    """A game of this kind.

    Who chose what stands with the players: some games shuffled the choices of a round in place.
    """

    key: ClassVar[str]
    """What the choice is called in an answer."""

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
            results = self.results(number, [self.choice(one) for one in written])
            for name, expected in results.items():
                found = getattr(round_, name)
                if isinstance(found, float):
                    found, expected = round(found, 9), round(expected, 9)
                agree(f"{field}.{name}", found, expected)

    def parameters(self) -> dict[str, Any]:
        size = {"players": len(self.player_data), "rounds": len(self.round_records)}
        return size | self.settings()

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The parameters that only this game has."""

    def choice(self, written: Any) -> Any:
        """A choice in our words."""
        return written

    @abstractmethod
    def results(self, number: int, choices: Sequence[Any]) -> dict[str, Any]:
        """What these choices make of the fields of a round, by name."""

    def answers(self) -> Iterator[RecordedAnswer]:
        for number in range(len(self.round_records)):
            for index, seat in enumerate(self.places):
                chosen = self.choice(self.player_data[index].records[number])
                yield RecordedAnswer(
                    seat, {self.key: chosen}, f"player_data.{index}.records.{number}"
                )


class Numbers(GamaPlayer):
    """A player who chose whole numbers."""

    records: list[int]


class _GuessMeta(Meta):
    min: int
    max: int
    ratio: float
    ratio_str: str


class _GuessRound(Round):
    mean: float
    mean_ratio: float
    winner: int  # one of the nearest numbers, the first one in a shuffled order
    winner_num: int


class Guess(Rounds):
    """Guess 2/3 of the average."""

    game = "guess_the_average"
    key = "chosen_number"
    meta: _GuessMeta
    round_records: list[_GuessRound]
    player_data: list[Numbers]

    def settings(self) -> dict[str, Any]:
        meta = self.meta
        return {"minimum": meta.min, "maximum": meta.max, "ratio": meta.ratio}

    def results(self, number: int, choices: Sequence[int]) -> dict[str, Any]:
        mean = sum(choices) / len(choices)
        winner = self.round_records[number].winner
        return {
            "mean": mean, "mean_ratio": mean * self.meta.ratio, "winner_num": choices.count(winner)
        }  # fmt: skip


class _BarMeta(Meta):
    min: int
    max: int
    home: int
    ratio: float
    ratio_str: str
    mode: Literal["implicit", "explicit"]


class _BarRound(Round):
    go_num: int
    go_ratio: float
    winner: Literal["go", "stay"]
    utility: int


class _Goer(GamaPlayer):
    records: list[Literal["go", "stay"]]


class Bar(Rounds):
    """El Farol bar."""

    game = "el_farol_bar"
    key = "decision"
    meta: _BarMeta
    round_records: list[_BarRound]
    player_data: list[_Goer]

    def settings(self) -> dict[str, Any]:
        meta = self.meta
        pay = {"crowded": meta.min, "fun": meta.max, "home": meta.home}
        return pay | {"capacity": meta.ratio, "feedback": meta.mode}

    def results(self, number: int, choices: Sequence[str]) -> dict[str, Any]:
        share = choices.count("go") / len(choices)
        winner = "go" if share <= self.meta.ratio else "stay"
        return {"go_num": choices.count("go"), "go_ratio": share, "winner": winner}


class _DollarMeta(Meta):
    golds: int


class _DollarRound(Round):
    total_proposal: int


class Dollar(Rounds):
    """Divide the dollar."""

    game = "divide_the_dollar"
    key = "bid_amount"
    meta: _DollarMeta
    round_records: list[_DollarRound]
    player_data: list[Numbers]

    def settings(self) -> dict[str, Any]:
        return {"golds": self.meta.golds, "limits": False}

    def results(self, number: int, choices: Sequence[int]) -> dict[str, Any]:
        return {"total_proposal": sum(choices)}


class _GoodsMeta(Meta):
    tokens: int
    ratio: float
    token_initialization: Literal["fixed"]
    reset: Literal[True]
    rand_min: int


class _GoodsRound(Round):
    total_tokens: int


class _Giver(Numbers):
    tokens: list[float]


class Goods(Rounds):
    """Public goods; the recorded utility leaves out the share of the pot."""

    game = "public_goods"
    key = "tokens_contributed"
    meta: _GoodsMeta
    round_records: list[_GoodsRound]
    player_data: list[_Giver]

    def settings(self) -> dict[str, Any]:
        return {"tokens": self.meta.tokens, "factor": self.meta.ratio, "limits": False}

    def results(self, number: int, choices: Sequence[int]) -> dict[str, Any]:
        return {"total_tokens": sum(choices)}


class _DinersMeta(Meta):
    cheap_cost: int
    cheap_utility: int
    exp_cost: int
    exp_utility: int


class _DinersRound(Round):
    cheap_player: int
    total_cost: int
    cost_msg: str
    avg_cost: float


class _Diner(GamaPlayer):
    records: list[Literal["cheap", "costly", "costly_dish", "cheap_dish", "costly_or_cheap"]]


class Diners(Rounds):
    """_Diner's dilemma."""

    game = "diners_dilemma"
    key = "chosen_dish"
    meta: _DinersMeta
    round_records: list[_DinersRound]
    player_data: list[_Diner]

    def settings(self) -> dict[str, Any]:
        meta = self.meta
        cheap = {"cheap_price": meta.cheap_cost, "cheap_utility": meta.cheap_utility}
        return cheap | {"costly_price": meta.exp_cost, "costly_utility": meta.exp_utility}

    def choice(self, written: str) -> str:
        return "costly" if written in MISWORDED else written

    def results(self, number: int, choices: Sequence[str]) -> dict[str, Any]:
        cheap, costly = choices.count("cheap"), choices.count("costly")
        bill = cheap * self.meta.cheap_cost + costly * self.meta.exp_cost
        return {"cheap_player": cheap, "total_cost": bill, "avg_cost": bill / len(choices)}

    def unused(self) -> dict[str, Any]:
        """Orders that were counted as a costly dish under another word."""
        words = [
            {"request": number, "seat": seat, self.key: word}
            for seat, player in zip(self.places, self.player_data, strict=True)
            for number, word in enumerate(player.records)
            if word in MISWORDED
        ]
        return {"counted_as_costly": words} if words else {}


class _AuctionMeta(Meta):
    valuation_min: int
    valuation_max: int
    interval: int
    seed: int
    mode: Literal["highest bid", "second highest bid"]


class _AuctionRound(Round):
    bid_winner: str
    bid_winner_proposed: int
    bid_winner_payment: int
    utility: list[float]
    valuations: list[int]


class Auction(Rounds):
    """Sealed-bid auction, with the recorded valuations and winners of ties."""

    game = "sealed_bid_auction"
    key = "bid"
    meta: _AuctionMeta
    round_records: list[_AuctionRound]
    player_data: list[Numbers]

    @property
    def first_price(self) -> bool:
        """Whether the winner paid its own bid."""
        return self.meta.mode == "highest bid"

    def settings(self) -> dict[str, Any]:
        meta = self.meta
        range_ = {"low": meta.valuation_min, "high": meta.valuation_max, "step": meta.interval}
        return range_ | {"price": "first" if self.first_price else "second", "limits": False}

    def check(self) -> None:
        super().check()
        for number, (round_, winner) in enumerate(
            zip(self.round_records, self._winners(), strict=True)
        ):
            field = f"round_records.{number}"
            numbers = f"{len(round_.valuations)} numbers"
            agree(f"{field}.valuations", numbers, f"{len(self.player_data)} numbers")
            bid = self.player_data[self.places.index(winner)].records[number]
            agree(f"{field}.bid_winner_proposed", round_.bid_winner_proposed, bid)

    def _winners(self) -> list[str]:
        return [
            self.place(round_.bid_winner, f"round_records.{number}.bid_winner")
            for number, round_ in enumerate(self.round_records)
        ]

    def deal(self) -> dict[str, Any]:
        return {
            "valuations": [round_.valuations for round_ in self.round_records],
            "precedence": [[winner] for winner in self._winners()],
        }

    def results(self, number: int, choices: Sequence[int]) -> dict[str, Any]:
        highest, second, *_ = sorted(choices, reverse=True)
        paid = highest if self.first_price else second
        return {"bid_winner_proposed": highest, "bid_winner_payment": paid}
