"""Scores of the toy game of guesses with given payoffs, for tests of a report's sentences."""

from collections.abc import Iterable

import polars as pl

from cheaptalk.players import Kind
from cheaptalk.reports.study.scores import GameScores

PLACES = {"left": "left", "right": "right"}


def scores(rows: Iterable[tuple[str, int, float, str]]) -> GameScores:
    """Return a game with rows of a left player, an instance, its payoff and its rival."""
    answers = {f"answers_{p}_{k.value}": int(k is Kind.OK) for p in PLACES for k in Kind}
    frame = pl.DataFrame(
        [
            {
                "match_id": f"{at}",
                "status": "finished",
                "dropped": False,
                "rules_version": 1,
                "configuration": "c",
                "parameters": "{}",
                "instance": f"{instance}",
                "pairing": f"{who} / {rival}",
                "player_left": who,
                "player_right": rival,
                "payoff_left": got,
                "payoff_right": 0.0,
                "hits": 0.0,
                **answers,
            }
            for at, (who, instance, got, rival) in enumerate(rows)
        ]
    )
    return GameScores("guessing", frame, PLACES)
