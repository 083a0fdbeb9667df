"""Play round by round: what was chosen in the six games in which all decide at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter

import polars as pl

from cheaptalk.frames import round_frames
from cheaptalk.frames.reader import parameters_in
from cheaptalk.papers.gama import charts as drawing
from cheaptalk.papers.gama.scores import GAMES, alone, default_players, default_runs, lead
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark, Rule
from cheaptalk.reports.charts.kinds import Row
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import Series, game_box
from cheaptalk.statistics import STRATA
from cheaptalk.text import capital, plain

TURNS = ("target", "hit", "strongest", "living", "coins", "accepted", "plan_distance",
         "vote_accuracy")  # fmt: skip
"""The series of the games in which players take turns."""
GAINS = ("distance", "gain", "valuation", "bid")
"""Series of what choices come to, and of what they rest on."""
LINE = ("player", "variant")
"""What tells lines apart."""
MOST = 16
"""Lines of a game that are drawn, the first by name."""


def _best_guess(values: Row) -> float | None:
    ratio = Fraction(values["ratio"])
    return None if ratio == 1 else float(values["minimum" if ratio < 1 else "maximum"])


CHOICES = {
    "guess_the_average": "number", "el_farol_bar": "attendance", "divide_the_dollar": "bid",
    "public_goods": "contribution", "diners_dilemma": "cheap", "sealed_bid_auction": "bid_share",
}  # fmt: skip
"""The series of what players choose in the games in which all decide at once."""
AIMS: dict[str, Callable[[Row], float | None]] = {
    "guess_the_average": _best_guess,
    "el_farol_bar": itemgetter("capacity"),
    "divide_the_dollar": lambda values: 1 / values["players"],
    "public_goods": lambda values: float(values["factor"] > values["players"]),
    "diners_dilemma": lambda values: 0.0,
}
"""What the paper's score takes for best by the game's parameters, if anything."""


def by_round(evidence: Evidence) -> dict[str, pl.DataFrame]:
    """The series of all eight games that the recipe shows; see :func:`.round_frames`."""
    names = {*CHOICES.values(), *TURNS, *GAINS}
    known = {name for game in evidence.places for name in game_box(game).series}
    return round_frames(
        evidence.store, evidence.study, only=names & known, as_published=evidence.as_published
    )


def series_of(game: str) -> Series:
    """The series of what is chosen in a game."""
    return game_box(game).series[CHOICES[game]]


def choices(evidence: Evidence, game: str) -> pl.DataFrame:
    """One row a match, round and seat, with what was chosen as ``choice``; none if not played."""
    found = evidence.once(by_round).get(game)
    if found is None or game not in evidence.played([game]):
        return pl.DataFrame(schema={"match": pl.String, "choice": pl.Float64})
    return found.drop_nulls("place").rename({CHOICES[game]: "choice"}).drop_nulls("choice")


def lines(frame: pl.DataFrame, game: str, by: Sequence[str]) -> pl.DataFrame:
    """Mean choices by round, with intervals and the spread of single choices.

    Args:
        frame: as :func:`choices` makes it.
        game: of which it is.
        by: what else tells lines apart.

    Returns:
        ``by``, ``round``, then ``choice`` with its interval, clustered by deal within
        configurations, and ``choice.spread``: the standard deviation over seats and matches.
    """
    cells = [*by, "round"]
    matches = frame.group_by(*cells, "match", "configuration", "deal", maintain_order=True).agg(
        pl.col("choice").mean()
    )  # fmt: skip
    spread = frame.group_by(cells, maintain_order=True).agg(
        pl.col("choice").std().alias("choice.spread")
    )
    bounds = {"choice": series_of(game).bounds}
    found = means(matches, ["choice"], cells, bounds=bounds, strata=STRATA)
    return found.join(spread, on=cells, how="left", maintain_order="left", validate="1:1").sort(
        cells
    )


def rounds(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """What players alone at their tables choose, round by round, in the default settings.

    Lines are means over seats and runs. The light band is one standard deviation of single choices
    to either side, as in the paper; the dark band is the 95 % interval of the mean, clustered by
    deal (CR1, Student's t). The dotted line is the choice that the score takes for best, where
    there is one: the least number, the bar's capacity, an equal share of the gold, nothing given,
    the costly dish. The bar with explicit feedback and the auction at the second price, which the
    paper plots and does not score, stand apart. Bids are in multiples of the gold, contributions
    of the tokens, and bids at auctions of the valuation.
    """
    runs = default_runs(default_players(evidence.once(alone)), variants=True)
    kept = runs.select("match", pl.col("variant").fill_null(""))
    found = {
        game: choices(evidence, game).join(kept, on="match", validate="m:1", maintain_order="left")
        for game in CHOICES
    }
    found = {game: frame for game, frame in found.items() if not frame.is_empty()}
    if not found:
        raise Lacking("none of the six games in which all decide at once was played alone")
    every = {game: lines(frame, game, LINE) for game, frame in found.items()}
    yield _ends(every, runs)
    for game, line in every.items():
        series = series_of(game)
        apart = line.partition_by(LINE, as_dict=True, maintain_order=True)
        more = f" The first {MOST} of {len(apart)} are drawn." * (len(apart) > MOST)
        aim, reach = _aim(evidence, game, found[game]), _reach(line)
        drawn = list(apart.items())[:MOST]
        panels = [_panel(part, ", ".join(filter(None, map(str, names))), aim, reach)
                  for names, part in drawn]  # fmt: skip
        title = f"{GAMES[game]}: {plain(series.name)} by round"
        yield Charts(f"rounds-{game.replace('_', '-')}", title, panels, f"{series.meaning}{more}")


def _ends(every: Mapping[str, pl.DataFrame], runs: pl.DataFrame) -> ReportTable:
    """The first round and the last of every game and player."""
    rows = []
    for game, line in every.items():
        last = pl.col("round") == line["round"].max()
        first = line.filter(round=1).drop("round", "choice.spread")
        names = {name: name.replace("choice", "last") for name in line.columns}
        end = line.filter(last).rename(names).drop("round", "last.spread")
        series = series_of(game)
        what = f"{capital(series.name)}, {series.unit}"
        named = (pl.lit(GAMES[game]).alias("title"), pl.all(), pl.lit(what).alias("what"),
                 pl.lit(game).alias("game"))  # fmt: skip
        rows.append(first.join(end, on=LINE, validate="1:1", maintain_order="left").select(*named))
    columns = (
        Header("title", "Game"), Header("player", "Player"), Header("variant", "Variant"),
        Header("what", "Choice"),
        Header("choice", "First round", "", 2), Header("last", "Last round", "", 2),
    )  # fmt: skip
    apart = runs.with_columns(pl.col("variant").fill_null("")).partition_by("variant", as_dict=True)
    return ReportTable(
        "first-and-last-rounds", "First and last rounds", pl.concat(rows), columns,
        leads=lambda row: lead(apart[(row["variant"],)], row["game"], row["player"]),
    )  # fmt: skip


def _aim(evidence: Evidence, game: str, frame: pl.DataFrame) -> float | None:
    """The best choice, if there is one and it is the same in all configurations drawn."""
    if game not in AIMS:
        return None
    known = parameters_in(evidence.scored(game))
    aims = {AIMS[game](known[key]) for key in frame["configuration"].unique()}
    return aims.pop() if len(aims) == 1 else None


def _reach(line: pl.DataFrame) -> tuple[float, float]:
    """The axis that all panels of a game share: room for every band, and for 0."""
    mean, spread = pl.col("choice"), pl.col("choice.spread").fill_null(0)
    least, most = line.select(
        (mean - spread).min().alias("least"), (mean + spread).max().alias("most")
    ).row(0)
    room = 0.05 * (max(most, 0) - min(least, 0)) or 1.0
    return min(least, 0) - room, max(most, 0) + room


def _panel(line: pl.DataFrame, title: str, aim: float | None, reach: tuple[float, float]) -> Chart:
    spread = pl.col("choice.spread")
    singles = line.select("round", low=pl.col("choice") - spread, high=pl.col("choice") + spread)
    bands = [
        _band(one.drop_nulls())
        for one in (singles, line.select("round", low="choice.low", high="choice.high"))
    ]
    aims = [] if aim is None else [Rule(y=aim)]
    layers: list[Line | Rule] = [*bands, *aims, drawing.line(title, line.to_dicts(), 0)]
    return Chart(title, "", layers, Axis("round", whole=True), Axis(ends=reach))


def _band(ends: pl.DataFrame) -> Line:
    marks = [Mark(at, low, y_ends=(low, high)) for at, low, high in ends.iter_rows()]
    return Line(marks, width=0, dots=False, band=True)
