"""GAMA's sealed-bid auction."""

from collections.abc import Sequence
from typing import Any, Literal

from cheaptalk.records.importers.gama_files import Meta, agree
from cheaptalk.records.importers.gama_rounds import Numbers, Round, Rounds


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
