"""GAMA's games in which players move one after another."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from cheaptalk.papers.gama.importer.files import (
    GamaFile,
    GamaModel,
    GamaPlayer,
    Meta,
    RecordedAnswer,
    agree,
)
from cheaptalk.records.imports.intake import Unfit

CAP = 20
"""Rounds after which a battle ends, however many are left; players are not told."""
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


class _Shooter(GamaPlayer):
    records: list[str]


class Battle(GamaFile):
    """Battle royale; a target is all that counted, whatever the action was called.

    The rounds tell who shot at whom. The players' records do not agree with them everywhere: they
    were read from the players' texts once more.
    """

    game = "battle_royale"
    meta: _BattleMeta
    round_records: list[_Shot]
    player_data: list[_Shooter]

    def check(self) -> None:
        super().check()
        living = self.places
        for number, shot in enumerate(self.round_records):
            field = f"round_records.{number}"
            agree(f"{field}.responses", shot.responses, [shot.shot_player])
            agree(f"{field}.action", shot.action, "miss" if shot.shot_player == MISS else "shoot")
            rates = [[f"player_{self.places.index(seat)}", self._rate(seat)] for seat in living]
            agree(f"{field}.initial_players", shot.initial_players, rates)
            if shot.out:
                target = self.place(shot.shot_player, f"{field}.shot_player")
                if target not in living:
                    raise Unfit(f'"{field}.out": player "{shot.shot_player}" was out before')
                living.remove(target)

    def _rate(self, seat: str) -> int:
        """A player's hit rate in percent: the later in order, the higher."""
        return self.meta.base_hit_rate + self.meta.interval * self.places.index(seat)

    def parameters(self) -> dict[str, Any]:
        rates = [self._rate(seat) / 100 for seat in self.places]
        horizon = {"rounds": max(CAP, len(self.round_records)), "hidden": True}
        return {"hit_rates": rates, "horizon": horizon, "strict_targets": False}

    def deal(self) -> dict[str, Any]:
        return {"hits": [shot.out for shot in self.round_records]}

    def answers(self) -> Iterator[RecordedAnswer]:
        for number, shot in enumerate(self.round_records):
            field = f"round_records.{number}"
            seat = self.place(shot.player_shooting, f"{field}.player_shooting")
            missing = shot.shot_player == MISS
            target = None if missing else self.place(shot.shot_player, f"{field}.shot_player")
            yield RecordedAnswer(
                seat, {"action": shot.action, "target": target}, f"{field}.shot_player"
            )

    def unused(self) -> dict[str, Any]:
        """The players' records, where they are others than the shots of the rounds."""
        shots: dict[str, list[str]] = {seat: [] for seat in self.places}
        for shot in self.round_records:
            shots[self.place(shot.player_shooting, "player_shooting")].append(shot.shot_player)
        records = dict(zip(self.places, (one.records for one in self.player_data), strict=True))
        return {} if records == shots else {"player_records": records}


class _PirateMeta(Meta):
    gold: int = 100


class _Ballot(GamaModel):
    gold_distribution: list[int]
    responses: list[Literal["accept", "reject"]]


class _Pirate(GamaPlayer):
    records: list[Literal["accept", "reject"]]


class Pirates(GamaFile):
    """Pirate game; the proposer of a plan counts as accepting it."""

    game = "pirate_game"
    meta: _PirateMeta
    round_records: list[_Ballot]
    player_data: list[_Pirate]

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
            proposer, *voters = living = self.places[number:]
            plan = dict(zip(living, ballot.gold_distribution, strict=True))
            yield RecordedAnswer(proposer, {"proposal": plan}, f"{field}.gold_distribution")
            for place, seat in enumerate(voters, start=1):
                vote = {"decision": ballot.responses[place]}
                yield RecordedAnswer(seat, vote, f"{field}.responses.{place}")
