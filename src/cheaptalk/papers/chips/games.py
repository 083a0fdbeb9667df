"""Games of chip trading, read once: who played them, every turn, and every decision's regret."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.games.chip_trading.events import Trading
from cheaptalk.games.chip_trading.measures import proposed, surplus_by_turn
from cheaptalk.games.chip_trading.regret import decisions
from cheaptalk.records import MatchRecord, line_up
from cheaptalk.records.lineup import query_of
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Lacking
from cheaptalk.rules import counted, numbered
from cheaptalk.text import plain, readable

GAME = "chip_trading"
MATCH = ("match", "configuration", "deal", "variant", "population", "bound")
"""What every frame says of the match that a row belongs to."""
TURN = {
    "match": pl.String, "turn": pl.Int64, "player": pl.String, "chips": pl.Int64,
    "gain": pl.Float64, "ratio": pl.Float64, "accepted": pl.Boolean, "surplus": pl.Float64,
}  # fmt: skip
DECISION = {
    "match": pl.String, "turn": pl.Int64, "player": pl.String, "part": pl.String,
    "regret": pl.String,
}  # fmt: skip


class Variant(NamedTuple):
    """A game as it was set up.

    Attributes:
        name: what it is called: how many colours there are, and what else tells it apart.
        colours: how many there are.
        places: of its tables.
        configurations: digests of its configurations.
    """

    name: str
    colours: int
    places: tuple[str, ...]
    configurations: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Games:
    """The games of a study that count.

    A population is who sat at a table: the label that all players had, or their labels in order.

    Attributes:
        matches: one row a game: :data:`MATCH`, ``surplus`` at the end and ``ratio``, the surplus
            over the bound (dollars; null where nothing can be gained), ``turns`` and ``players``.
        turns: one row a proposal: :data:`MATCH`, ``turn``, the proposing ``player``'s label,
            ``chips`` (to change hands, in both directions), ``gain`` (dollars to the proposer),
            ``ratio`` (chips given a chip wanted), ``accepted``, ``surplus`` (dollars of all, so
            far).
        decisions: one row a decision in the sample of regret: :data:`MATCH`, ``turn``, ``player``
            (label), ``part``, ``regret``.
        variants: those that were played, the fewest colours first.
    """

    matches: pl.DataFrame
    turns: pl.DataFrame
    decisions: pl.DataFrame
    variants: tuple[Variant, ...]

    @cached_property
    def populations(self) -> list[str]:
        """Who sat at tables, those who gained the largest share of the bound first."""
        means = self.matches.group_by("population", maintain_order=True).agg(pl.col("ratio").mean())
        best = means.sort("ratio", "population", descending=[True, False], nulls_last=True)
        return best["population"].to_list()

    @cached_property
    def players(self) -> list[str]:
        """All labels: those that had tables of their own in the order of populations, the rest."""
        own = [one for one in self.populations if one in set(self.turns["player"])]
        return list(dict.fromkeys([*own, *self.turns["player"].unique().sort()]))

    def order(self, *columns: str) -> list[pl.Expr]:
        """What sorts the rows of a table by ``variant``, ``population`` or ``player``."""
        variants = [one.name for one in self.variants]
        known = {"variant": variants, "population": self.populations, "player": self.players}
        return [pl.col(name).cast(pl.Enum(known[name])) for name in columns]

    def lead(
        self, variant: str | None = None, *, table: str | None = None, player: str | None = None
    ) -> Lead | None:
        """The games of a variant, or of all.

        Args:
            table: only those at tables of this population; None comes back for one of several
                players, whose games no one question picks out.
            player: only those with this player at the table.
        """
        query = {"status": "finished"}
        chosen = [one for one in self.variants if variant in (None, one.name)]
        if table is not None:
            if table not in self.players:
                return None
            query |= query_of(dict.fromkeys(min(one.places for one in chosen), table), None)
        if player is not None:
            query["player"] = player
        if len(chosen) < len(self.variants):
            query["configuration"] = ",".join(chosen[0].configurations)
        return Lead(GAME, query)


def games(evidence: Evidence) -> Games:
    """The games of a study; all parts read them once.

    Raises:
        Lacking: there is none that counts.
    """
    scored = evidence.scored(GAME)
    if scored.is_empty():
        raise Lacking(
            "no game of chip_trading in this study has finished; run the preset chip-trading, or "
            "seat your players in it with --player"
        )
    usable = scored.drop_nulls("bound")
    if usable.is_empty():
        raise Lacking(
            f"all {counted(scored.height, 'finished game')} of chip_trading were played under "
            "another version of its rules; install the version that played them"
        )
    variants = _variants(usable)
    names = {digest: one.name for one in variants for digest in one.configurations}
    places = [name for name in usable.columns if name.startswith("player.")]
    tables = usable.select(places).unique()
    populations = pl.Series("population", map(_population, tables.iter_rows()), dtype=pl.String)
    seated = usable.join(
        tables.with_columns(populations),
        on=places,
        nulls_equal=True,
        maintain_order="left",
        validate="m:1",
    )
    matches = seated.select(
        "match", "configuration", "deal",
        pl.col("configuration").replace_strict(names).alias("variant"),
        "population",
        "bound",
        (pl.col("game.rounds") * pl.col("game.players")).alias("turns"),
        pl.col("game.players").alias("players"),
    )  # fmt: skip
    turns, decided = _pass(evidence, set(usable["match"]))
    last = turns.group_by("match", maintain_order=True).agg(pl.col("surplus").last())
    of_match = matches.select(MATCH)
    return Games(
        matches.join(last, on="match", maintain_order="left", validate="1:1").with_columns(
            ratio=pl.when(pl.col("bound") > 0).then(pl.col("surplus") / pl.col("bound"))
        ),
        of_match.join(turns, on="match", maintain_order="left_right", validate="1:m"),
        of_match.join(decided, on="match", maintain_order="left_right", validate="1:m"),
        variants,
    )


def _pass(evidence: Evidence, wanted: set[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Turns and decisions of these matches."""
    turns: list[tuple[Any, ...]] = []
    decided: list[tuple[Any, ...]] = []
    for record in evidence.records([GAME]):
        if record.id in wanted:
            outcome = outcome_of(record)
            rows = zip(outcome.turns, proposed(outcome), surplus_by_turn(outcome), strict=True)
            for place, (turn, proposal, surplus) in enumerate(rows, 1):
                who, offer = record.label(turn.proposer), turn.proposal
                chips = offer.give_amount + offer.want_amount
                turns.append((record.id, place, who, chips, *proposal, surplus))
            for one in decisions(
                outcome, record.parameters["chips"], unforced_proposals=evidence.as_published
            ):
                who = record.label(one.player)
                decided.append((record.id, one.turn, who, one.part, one.regret))
    return (
        pl.DataFrame(turns, schema=TURN, orient="row"),
        pl.DataFrame(decided, schema=DECISION, orient="row"),
    )


def outcome_of(record: MatchRecord) -> Trading:
    """How a finished game went."""
    return Trading.model_validate(record.outcome)


def _population(labels: Sequence[str | None]) -> str:
    """Who sits at a table: one label for copies of one player, else all labels in order."""
    seated = sorted(label for label in labels if label is not None)
    return seated[0] if len(set(seated)) == 1 else line_up(seated)


def _variants(frame: pl.DataFrame) -> tuple[Variant, ...]:
    """The configurations of a frame, called by their colours and by what else tells them apart."""
    known = parameters_in(frame)
    colours = {tuple(one["colours"]) for one in known.values()}
    apart = [name for name in varying(known)
             if name != "colours" or len(set(map(len, colours))) < len(colours)]  # fmt: skip
    found: dict[str, Variant] = {}
    for digest, values in sorted(known.items()):
        size = len(values["colours"])
        others = [f"{plain(name)} {readable(values[name])}" for name in apart]
        name = ", ".join([f"{size} colours", *others])
        places = tuple(numbered("player", values["players"]))
        one = found.setdefault(name, Variant(name, size, places, ()))
        found[name] = one._replace(configurations=(*one.configurations, digest))
    return tuple(sorted(found.values(), key=lambda one: (one.colours, one.name)))
