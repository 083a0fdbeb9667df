"""Scored chip-trading games as tables of matches, proposals and decisions with their regret."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.games.chip_trading.metrics import proposed, surplus_by_turn
from cheaptalk.games.chip_trading.regret import decisions
from cheaptalk.games.chip_trading.rules import Trading
from cheaptalk.papers.printed import paper_table, position, selected_labels
from cheaptalk.records import line_up
from cheaptalk.records.descriptions import viewer_query
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import NoData
from cheaptalk.rules import counted, numbered_seats
from cheaptalk.statistics.columns import with_matching
from cheaptalk.statistics.participants import ANY_PEOPLE
from cheaptalk.text import plain, readable

table = partial(paper_table, "chips")
GAME = "chip_trading"
POPULATIONS = {
    "people": "Human",
    "gpt-4o": "GPT-4o",
    "gpt-4o-refined": "GPT-4o refined",
    "gemini": "Gemini",
    "gemini-refined": "Gemini refined",
    "bayesian": "Bayesian agent",
}
"""The paper's names of populations, in the paper's order, by label in rosters and presets."""
BETWEEN = " / "
"""The separator between labels in the name of a population."""
MATCH = ("match_id", "configuration", "instance", "variant", "population", "bound")
"""The columns that describe the match of a row in every frame, besides its participants."""
MOVE = {"match_id": pl.String, "turn": pl.Int64, "player": pl.String}
GAIN = {"gain": pl.Float64, "ratio": pl.Float64, "accepted": pl.Boolean, "surplus": pl.Float64}
TURN = MOVE | {"chips": pl.Int64} | GAIN
DECISION = MOVE | {"part": pl.String, "regret": pl.String}


class Variant(NamedTuple):
    """All configurations with the same parameters.

    ``name`` is the number of colours, with other parameters that distinguish variants;
    ``configurations`` are digests.
    """

    name: str
    colours: int
    seats: tuple[str, ...]
    configurations: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Games:
    """The scored games of a study.

    A population is the label that all players of a match share, or else the list of their labels.
    Frames list the participants of each match, so that intervals are clustered by them, too.

    Attributes:
        matches: one row per game: :data:`MATCH`, final ``surplus`` (dollars), ``ratio`` (surplus
            over the bound; null if nothing can be gained), ``turns`` and ``players``.
        turns: one row per proposal: :data:`MATCH`, ``turn``, the proposing ``player``'s label,
            ``chips`` (exchanged in both directions), ``gain`` (dollars to the proposer), ``ratio``
            (chips given per chip requested), ``accepted``, and ``surplus`` (dollars of all players
            so far).
        decisions: one row per decision in the regret sample: :data:`MATCH`, ``turn``, ``player``
            (label), ``part``, ``regret``.
        variants: the variants that were played, with the fewest colours first.
    """

    matches: pl.DataFrame
    turns: pl.DataFrame
    decisions: pl.DataFrame
    variants: tuple[Variant, ...]

    @cached_property
    def populations(self) -> list[str]:
        """Names of all populations, by decreasing mean share of the maximum surplus."""
        means = self.matches.group_by("population", maintain_order=True).agg(pl.col("ratio").mean())
        best = means.sort("ratio", "population", descending=[True, False], nulls_last=True)
        return best["population"].to_list()

    @cached_property
    def players(self) -> list[str]:
        """The labels of all players; those that played against copies of themselves come first."""
        own = [name for name in self.populations if name in set(self.turns["player"])]
        return list(dict.fromkeys([*own, *self.turns["player"].unique().sort()]))

    def order(self, *columns: str) -> list[pl.Expr]:
        """Return sort keys for ``variant``, ``population`` or ``player`` columns."""
        variants = [variant.name for variant in self.variants]
        orders = {"variant": variants, "population": self.populations, "player": self.players}
        return [pl.col(name).cast(pl.Enum(orders[name])) for name in columns]

    def lead(
        self, variant: str | None = None, *, table: str | None = None, player: str | None = None
    ) -> Lead | None:
        """Return a link to finished games, filtered by variant, population (``table``) and player.

        Return None for a population of several players, because no query selects these games.
        """
        query = {"status": "finished"}
        chosen = [each for each in self.variants if variant in (None, each.name)]
        if table is not None:
            if table not in self.players:
                return None
            query |= viewer_query(dict.fromkeys(min(each.seats for each in chosen), table), None)
        if player is not None:
            query["player"] = player
        if len(chosen) < len(self.variants):
            query["configuration"] = ",".join(chosen[0].configurations)
        return Lead(GAME, query)


def games(evidence: Evidence) -> Games:
    """Return the scored games of a study; raise NoData if there are none."""
    scored = evidence.scored(GAME)
    if scored.is_empty():
        raise NoData(
            "no game of chip_trading in this study has finished; the preset chip-trading has such "
            "games"
        )
    usable = scored.drop_nulls("bound")
    if usable.is_empty():
        raise NoData(
            f"all {counted(scored.height, 'finished game')} of chip_trading were played with "
            "another version of the rules; install the cheaptalk version that played them"
        )
    variants = _variants(usable)
    names = {digest: variant.name for variant in variants for digest in variant.configurations}
    seats = [name for name in usable.columns if name.startswith("player_")]
    tables = usable.select(seats).unique()
    populations = pl.Series("population", map(_population, tables.iter_rows()), dtype=pl.String)
    seated = with_matching(usable, tables.with_columns(populations), seats, "m:1")
    matches = seated.select(
        "match_id",
        "configuration",
        "instance",
        pl.col("configuration").replace_strict(names).alias("variant"),
        "population",
        "bound",
        ANY_PEOPLE,
        (pl.col("game_rounds") * pl.col("game_players")).alias("turns"),
        pl.col("game_players").alias("players"),
    )
    turns, judged = _turns_and_decisions(evidence, set(usable["match_id"]))
    last = turns.group_by("match_id", maintain_order=True).agg(pl.col("surplus").last())
    of_match, bound = matches.select(*MATCH, ANY_PEOPLE), pl.col("bound")
    return Games(
        with_matching(matches, last, "match_id").with_columns(
            ratio=pl.when(bound > 0).then(pl.col("surplus") / bound)
        ),
        of_match.join(turns, on="match_id", maintain_order="left_right", validate="1:m"),
        of_match.join(judged, on="match_id", maintain_order="left_right", validate="1:m"),
        variants,
    )


def _turns_and_decisions(
    evidence: Evidence, matches: set[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    turns: list[tuple[Any, ...]] = []
    judged: list[tuple[Any, ...]] = []
    for record in evidence.records([GAME]):
        if record.id in matches:
            outcome = Trading.model_validate(record.outcome)
            rows = zip(outcome.turns, proposed(outcome), surplus_by_turn(outcome), strict=True)
            for number, (turn, proposal, surplus) in enumerate(rows, 1):
                label, offer = record.label(turn.proposer), turn.proposal
                chips = offer.give_amount + offer.want_amount
                turns.append((record.id, number, label, chips, *proposal, surplus))
            unforced, size = evidence.as_published, record.parameters["chips"]
            for decision in decisions(outcome, size, unforced_proposals=unforced):
                label = record.label(decision.player)
                judged.append((record.id, decision.turn, label, decision.part, decision.regret))
    turn_frame = pl.DataFrame(turns, schema=TURN, orient="row")
    return turn_frame, pl.DataFrame(judged, schema=DECISION, orient="row")


def _population(labels: Sequence[str | None]) -> str:
    """The label that all players share, or all labels joined if they differ."""
    players = sorted(label for label in labels if label is not None)
    return players[0] if len(set(players)) == 1 else line_up(players)


def _variants(frame: pl.DataFrame) -> tuple[Variant, ...]:
    configurations = parameters_in(frame)
    colours = {tuple(values["colours"]) for values in configurations.values()}
    distinguishing = [
        name
        for name in varying(configurations)
        if name != "colours" or len(set(map(len, colours))) < len(colours)
    ]
    variants: dict[str, Variant] = {}
    for digest, values in sorted(configurations.items()):
        size = len(values["colours"])
        settings = [f"{plain(name)} {readable(values[name])}" for name in distinguishing]
        name = ", ".join([f"{size} colours", *settings])
        seats = tuple(numbered_seats("player", values["players"]))
        variant = variants.setdefault(name, Variant(name, size, seats, ()))
        variants[name] = variant._replace(configurations=(*variant.configurations, digest))
    return tuple(sorted(variants.values(), key=lambda each: (each.colours, each.name)))


def shown(evidence: Evidence, populations: Sequence[str]) -> list[str]:
    """Return the populations whose players are all selected; the paper's populations come first."""
    selected = set(selected_labels(evidence, evidence.labels))
    shown = [name for name in populations if set(name.split(BETWEEN)) <= selected]
    order = [*POPULATIONS, *(name for name in shown if name not in POPULATIONS)]
    return sorted(shown, key=order.index)


def paper_name(population: str) -> str:
    """Return the paper's name of a population, such as "Bayesian agent"."""
    return POPULATIONS.get(population, population)


def paper_game(variant: str) -> str:
    """Return the paper's name of a game, such as "3-chip"."""
    return variant.replace(" colours", "-chip")


def paper_rows(
    frame: pl.DataFrame, populations: Sequence[str], key: str = "population"
) -> pl.DataFrame:
    """Return the rows of the given populations in this order, with the paper's names."""
    rows = frame.filter(pl.col(key).is_in(populations))
    return rows.sort(position(key, populations), maintain_order=True).with_columns(
        pl.col(key).replace_strict(list(populations), list(map(paper_name, populations)))
    )
