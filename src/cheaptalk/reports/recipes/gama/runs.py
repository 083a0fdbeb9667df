"""The matches that the recipe's tables are made of: players alone at a table, run by run."""

from typing import Any

import polars as pl

from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Lacking, Lead
from cheaptalk.reports.scores import decoded
from cheaptalk.rules import game_box

GAMES = {
    "guess_the_average": "Guess the average", "el_farol_bar": "El Farol bar",
    "divide_the_dollar": "Divide the dollar", "public_goods": "Public goods",
    "diners_dilemma": "Diner's dilemma", "sealed_bid_auction": "Sealed-bid auction",
    "battle_royale": "Battle royale", "pirate_game": "Pirate game",
}  # fmt: skip
"""The eight games with their titles, in the order of the paper's Table 1."""
VARIANTS = {"el_farol_bar": "feedback", "sealed_bid_auction": "price"}
"""Parameters of which the paper plots each value and scores one."""
NUMBER = r"(\d+)(?:\+\d+)*$"
"""The number that a deal's key ends with, a fresh deal's addition left out."""
COLUMNS = ("configuration", "standard", "variant", "deal", "repeat", "match", "score")


def alone(evidence: Evidence) -> pl.DataFrame:
    """The matches that count in which one player fills all places, of all eight games.

    Columns: ``game``, ``player``, ``configuration``, ``standard`` (whether what varies in the
    game's parameters has the rules' defaults, which are the paper's), ``variant`` (a value that
    the paper plots but does not score, if all else is standard), ``deal``, ``repeat``, ``match``,
    ``score`` (0 to 100, null where there is none), ``seats`` (how many, where the player also sits
    with others in the game, else null), and ``run``, which counts deals and repeats from 1, the
    same in all games.

    Raises:
        Lacking: there is no such match.
    """
    parts = [_alone(evidence, game) for game in evidence.played(list(GAMES))]
    if not parts or (found := pl.concat(parts)).is_empty():
        raise Lacking(
            "no player has finished a match of GAMA-Bench's games alone at its table; run the "
            "preset gama, or write pairing: self"
        )
    number = pl.col("deal").str.extract(NUMBER).cast(pl.Int64)
    place = pl.struct(number.fill_null(-1), pl.col("repeat")).rank("dense")
    return found.with_columns(place.cast(pl.Int64).alias("run"))


def _alone(evidence: Evidence, game: str) -> pl.DataFrame:
    frame = evidence.scored(game)
    seats = [name for name in frame.columns if name.startswith("player.")]
    labels = pl.concat_list(seats).list.drop_nulls()
    apart = frame.filter(labels.list.n_unique() > 1).select(labels.alias("met"))
    met = set(apart.explode("met")["met"])
    frame = frame.filter(labels.list.n_unique() == 1)
    return frame.join(_standards(frame, game), on="configuration", maintain_order="left").select(
        pl.lit(game).alias("game"), pl.coalesce(seats).alias("player"), *COLUMNS,
        pl.when(pl.coalesce(seats).is_in(met)).then(labels.list.len()).alias("seats"),
    )  # fmt: skip


def varied(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The parameters that differ between a game's matches, with their values, by configuration."""
    names = [name for name in frame.columns
             if name.startswith("game.") and frame[name].n_unique() > 1]  # fmt: skip
    rows = frame.select("configuration", *names).unique("configuration", maintain_order=True)
    return {
        key: {name.removeprefix("game."): decoded(value)
              for name, value in zip(names, values, strict=True)}
        for key, *values in rows.iter_rows()
    }  # fmt: skip


def _standards(frame: pl.DataFrame, game: str) -> pl.DataFrame:
    """Which configurations are the paper's default, and which its variants: one row each."""
    defaults = game_box(game).rules().model_dump(mode="json")
    rows = []
    for key, values in varied(frame).items():
        other = {name: of for name, of in values.items() if of != defaults.get(name)}
        one = VARIANTS.get(game, "")
        variant = f"{other[one]} {one}" if [*other] == [one] else None
        rows.append((key, not other, variant))
    kinds = {"configuration": pl.String, "standard": pl.Boolean, "variant": pl.String}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def default_runs(runs: pl.DataFrame, *, variants: bool = False) -> pl.DataFrame:
    """The matches in the paper's default settings; of a game without these, all of them.

    Args:
        variants: with those of the paper's variants.
    """
    wanted = pl.col("standard")
    if variants:
        wanted = wanted | pl.col("variant").is_not_null()
    return runs.filter(wanted | ~wanted.any().over("game"))


def scored(evidence: Evidence) -> pl.DataFrame:
    """The rows of :func:`alone` that have a score.

    Raises:
        Lacking: there is no such match.
    """
    runs = evidence.once(alone).drop_nulls("score")
    if runs.is_empty():
        raise Lacking(
            "no match that a player finished alone has a score: the paper has none for auctions at "
            "the second price, nor for pirates who need more than half of the votes"
        )
    return runs


def lead(runs: pl.DataFrame, game: str, player: str) -> Lead | None:
    """The matches of a player alone in the configurations of a game that these runs hold.

    None for all games together, and where the player is none of theirs.
    """
    own = runs.filter(pl.col("game") == game, pl.col("player") == player)
    if own.is_empty():
        return None
    sizes = own["seats"].drop_nulls().unique()
    places = range(1, sizes[0] + 1) if len(sizes) == 1 else ()
    seated = {f"player.player_{place}": player for place in places} or {"player": player}
    configurations = ",".join(own["configuration"].unique(maintain_order=True))
    return Lead(game, seated | {"configuration": configurations, "status": "finished"})
