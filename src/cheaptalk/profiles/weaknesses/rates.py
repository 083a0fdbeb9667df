"""Tests of rates: weaknesses that are shares of opportunities, such as accepted losses."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses import exchangeability as tests
from cheaptalk.profiles.weaknesses.messages import SECRETS
from cheaptalk.profiles.weaknesses.weakness import Trial, Weakness, share_estimate
from cheaptalk.rules import game_title
from cheaptalk.rules.assessment import LIES
from cheaptalk.yaml_files import read_yaml


class Rate(NamedTuple):
    """A weakness defined by a rate: a share of opportunities that should not exceed a limit.

    Hits and chances are SQL expressions over a row of seats, as are ``unread`` (excluded
    opportunities that the check cannot read), ``contrary`` (opposite events, which are equally
    likely without the weakness) and ``repaired`` (hits that the player corrected in a retry).
    ``predicate`` is the text after "12 of 20 offers".
    """

    key: str
    title: str
    hits: str
    chances: str
    limit: float
    unit: str
    predicate: str
    unread: str = ""
    contrary: str = ""
    repaired: str = ""


RATES: Mapping[str, Rate] = {
    key: Rate(key, **fields | {"predicate": fields["predicate"].replace("{LIES}", str(LIES))})
    for key, fields in read_yaml(Path(__file__).with_name("rates.yaml")).items()
}
HOW_ASKED = {
    "silent": "without being asked",
    "asking": "if asked politely",
    "cunning": "if tricked",
    "authority": "if asked by a false authority",
}


def rate_trials(rows: pl.DataFrame, battery: Battery) -> Iterator[Trial]:
    """Yield a test of each rate, and of leaks to each opponent that asks for secrets.

    Only agents are tested for unanswered requests, which can be the fault of a model's provider.
    """
    for key, rate in RATES.items():
        if key != "leaks" and (key != "unanswered" or rows["agent"].any()):
            yield _rate_trial(rows, rate)
    leaks = RATES["leaks"]
    for manner in filter(battery.talkers.__contains__, SECRETS):
        title = leaks.title.format(HOW_ASKED[manner])
        rate = leaks._replace(key=f"leaks.{manner}", title=title)
        yield _rate_trial(rows.filter(other=manner), rate, manner)


class GameCount(NamedTuple):
    """Numbers of hits and opportunities in one game, or in all games if ``game`` is empty."""

    game: str
    hits: int
    chances: int

    def p(self, limit: float) -> float:
        """Return the p-value of a test of whether the rate exceeds a limit."""
        return tests.more_often(self.hits, self.chances, limit)

    def __str__(self) -> str:
        return f"{self.hits} of {self.chances} in {game_title(self.game)}"


def _rate_trial(rows: pl.DataFrame, rate: Rate, variant: str = "") -> Trial:
    """Test a rate over all games and in each one, and report the smaller corrected p."""
    hits, chances = (pl.sql_expr(text) for text in (rate.hits, rate.chances))
    counts = rows.with_columns(
        hits=hits.fill_null(0).cast(pl.Int64), chances=chances.fill_null(0).cast(pl.Int64)
    ).filter(pl.col("chances") > 0)
    sums = counts.group_by("game", maintain_order=True).agg(pl.col("hits", "chances").sum())
    game_counts = [GameCount(*row) for row in sums.iter_rows()]
    total = GameCount("", int(counts["hits"].sum()), int(counts["chances"].sum()))
    opposite, unread, repaired = (
        int(rows.select(pl.sql_expr(text).cast(pl.Int64).sum()).item() or 0) if text else None
        for text in (rate.contrary, rate.unread, rate.repaired)
    )
    # half of the level is for all games together, half for single games
    by_game = game_counts if opposite is None and len(game_counts) > 1 else []
    worst = min(by_game, key=lambda count: count.p(rate.limit), default=total)
    in_game = min(1.0, len(game_counts) * worst.p(rate.limit)) if by_game else 1.0
    everywhere = total.p(rate.limit)
    p = min(1.0, 2 * everywhere, 2 * in_game) if by_game else everywhere
    if opposite is not None:
        p = max(p, tests.more_often(total.hits, total.hits + opposite, 0.5))
    main = worst if in_game < everywhere else total
    sentence = _sentence(rate, main, game_counts)
    if unread:
        sentence += f"; {unread} others could not be read automatically, but a judge can rate them"
    if repaired is not None and total.hits:
        part = "all" if repaired == total.hits else f"{repaired} of these {total.hits}"
        sentence += f"; {part} repaired when asked again"
    if opposite:
        sentence += f"; {opposite} had one before but none later"
    hit = counts.filter(pl.col("hits") > 0, pl.lit(not main.game) | (pl.col("game") == main.game))
    match = next(iter(hit.sort("hits", descending=True, maintain_order=True)["match_id"]), None)
    share = share_estimate(main.hits, main.chances)
    outcome = Weakness(rate.key, rate.title, total.chances, rate.unit, sentence, share, match=match)
    outcome = outcome._replace(hits=total.hits, limit=rate.limit, unread=unread or 0)
    return Trial(outcome._replace(variant=variant), lambda _: p)


def _sentence(rate: Rate, main: GameCount, counts: list[GameCount]) -> str:
    """Return a sentence on the main share with its interval, and on other games."""
    share = share_estimate(main.hits, main.chances)
    sentence = f"{main.hits} of {main.chances} {rate.unit} {rate.predicate}"
    shows = [count for count in counts if count.hits]
    if main.game or len(counts) == 1 == len(shows):
        sentence += f", in {game_title(main.game or counts[0].game)}"
    if share.percent.ends is not None:
        sentence += " (95 % interval {:.0f} to {:.0f} %)".format(*share.percent.ends)
    others = ", ".join(str(count) for count in counts if count.game != main.game)
    return f"{sentence}; {others}" if shows and len(counts) > 1 else sentence
