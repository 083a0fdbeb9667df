"""False statements in headlines: ``python -m bench.headlines [--minutes M] [--progress FILE]``.

The coverage of intervals does not show whether the headline above them is correct. In this
benchmark, players are equal by construction, so every headline that names a winner or a change is
false. The grid varies the number of players, instances and configurations, the design (all players
on the same instances, or each player on separate instances) and the outcome (binary or skewed).
Cells are simulated until the time is up. At most 6 % of a cell's headlines may be false. The same
cells with one leading player give the power.

The data are synthetic, but the headlines come from the code of the pages. A small study is played
for its match frame, whose columns are then filled with simulated outcomes. The benchmark checks the
text of a headline, and that the significance test behind it agrees.

With ``--progress``, results are appended to a file of JSON lines. A second run with the same file
and seed continues where the first run stopped.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import beta, norm

import cheaptalk as ct
from bench.profile_coverage import twice
from bench.rows import Row
from cheaptalk.reports.metagame.page import Played
from cheaptalk.reports.metagame.parts import answer as metagame_answer
from cheaptalk.reports.recipes.comparison import comparison
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.leaderboard import _Board
from cheaptalk.reports.recipes.parts import Answer, NoData
from cheaptalk.reports.study import answers
from cheaptalk.reports.study.factors import factor_results
from cheaptalk.reports.study.scores import GameScores

GAME = "bargaining"
RIVAL = "rival"
LIMIT = 0.06
"""Maximum share of false headlines in a cell."""
ALIKE = 0.5
"""Intraclass correlation: the share of an outcome's variance between instances."""
SPREAD = 0.7
"""Standard deviation of the configurations' means, in standard deviations of an outcome."""
AHEAD = 0.8
"""The leader's lead in power simulations, in standard deviations of an outcome."""
BATCH = 10
SUSPICION = 1.0
"""Weight of a false headline in the allocation of simulations to cells."""
MINUTES = 20.0
DRAWS = 300
"""Bootstrap draws for a leaderboard or a meta-game."""
PLAYERS = (2, 3, 5, 10)
DESIGNS = (
    (2, 1), (3, 1), (5, 1), (10, 1), (50, 1), (1, 5), (2, 5), (3, 5), (10, 5), (1, 20), (2, 20),
    (3, 20), (10, 20), (1, 100), (2, 100), (10, 100), (50, 100),
)  # fmt: skip
"""Instances per configuration, and number of configurations."""
LARGEST = 50_000
"""Maximum number of matches in a study."""
Outcomes = NDArray[np.float64]
KINDS: Mapping[str, Callable[[Outcomes], Outcomes]] = {
    "binary": lambda z: (z > norm.ppf(0.7)).astype(float),
    "skewed": lambda z: norm.cdf(z) ** 6,
}
"""Functions that convert standard normal numbers to outcomes, by name."""


class Cell(NamedTuple):
    """A study design and the headline that is tested with it."""

    headline: str
    players: int
    instances: int
    configurations: int
    paired: bool
    outcome: str
    ahead: float = 0.0

    @property
    def matches(self) -> int:
        pairings = self.players ** (2 if self.headline == "metagame" else 1)
        return pairings * self.instances * self.configurations

    def __str__(self) -> str:
        design = "same instances" if self.paired else "own instances"
        counts = f"{self.players} players, {self.instances} x {self.configurations}"
        return f"{self.headline}, {counts}, {design}, {self.outcome}"


class Statement(NamedTuple):
    """The content of a headline.

    Attributes:
        text: the text.
        named: the player or change that it names, or None if it names neither.
    """

    text: str
    named: str | None


@dataclass(frozen=True, eq=False)
class SimulatedStudy(Evidence):
    """A stored study whose matches are replaced by simulated ones."""

    frame: pl.DataFrame | None = None

    @property
    def frames(self) -> Mapping[str, pl.DataFrame]:
        assert self.frame is not None
        return {GAME: self.frame}


@dataclass(frozen=True)
class Simulator:
    """Simulator of studies.

    Attributes:
        store: a store with the studies ``first``, ``second``, and ``elsewhere`` (another seed).
        row: a match frame that supplies the columns that are not simulated.
    """

    store: ct.Store
    row: pl.DataFrame

    def study(self, name: str, frame: pl.DataFrame) -> SimulatedStudy:
        return SimulatedStudy(self.store, name, draws=DRAWS, frame=frame)

    def frame(
        self, labels: list[str], rivals: list[str], configuration: NDArray[np.int64],
        instance: list[str], values: Mapping[str, Outcomes],
    ) -> pl.DataFrame:  # fmt: skip
        """Return a match frame in which each player plays its rival."""
        drawn: dict[str, object] = {
            "match_id": [f"m{at}" for at in range(len(labels))],
            "configuration": [f"c{at}" for at in configuration],
            "instance": instance,
            "pairing": [f"{label} / {rival}" for label, rival in zip(labels, rivals, strict=True)],
            "player_alice": labels,
            "player_bob": rivals,
            **values,
        }
        own = pl.DataFrame(drawn)
        rest = self.row.drop(own.columns).head(1)
        filled = own.with_columns(pl.lit(rest[name][0], rest[name].dtype).alias(name)
                                  for name in rest.columns)  # fmt: skip
        return filled.select(self.row.columns)

    def matches(
        self, cell: Cell, draw: np.random.Generator, studies: int = 1
    ) -> list[pl.DataFrame]:
        """Simulate the match frames of one or more studies of a cell.

        An outcome is the sum of the effects of its configuration, its instance and its match. All
        players share the configuration effects, and in paired designs the instance effects.
        Players are equal, except for the lead of the first player in the last study.
        """
        shape = (studies, cell.players, cell.configurations, cell.instances)
        level = SPREAD * draw.normal(size=(1, 1, cell.configurations, 1))
        common = (1, 1, *shape[2:]) if cell.paired else shape
        of_instance = np.sqrt(ALIKE) * draw.normal(size=(2, *common))
        latent = level + of_instance + np.sqrt(1 - ALIKE) * draw.normal(size=(2, *shape))
        latent[0, -1, 0] += cell.ahead
        value, other = KINDS[cell.outcome](latent)
        player, configuration, instance = np.indices(shape[1:]).reshape(3, -1)
        labels = [f"p{at}" for at in player]
        frames = []
        for study in range(studies):
            own = "" if cell.paired else "{player}."
            names = [
                f"{own.format(player=who)}{study if not cell.paired else ''}{at}"
                for who, at in zip(labels, instance, strict=True)
            ]
            gain = value[study].ravel()
            frames.append(self.frame(
                labels, [RIVAL] * len(labels), configuration, names,
                {"self_gain_alice": gain, "payoff_alice": 100 * gain,
                 "efficiency": other[study].ravel()},
            ))  # fmt: skip
        return frames


def report(simulator: Simulator, cell: Cell, draw: np.random.Generator) -> Statement:
    """Return the report's headline for a simulated study."""
    (frame,) = simulator.matches(cell, draw)
    return report_of(simulator, frame)


def report_of(_: Simulator, frame: pl.DataFrame) -> Statement:
    """Return the report's headline for a match frame."""
    game = GameScores(GAME, frame, {"alice": "alice", "bob": "bob"})
    text = answers.answer(game).text
    best = next(iter(game.players["alice"]["player_alice"]))
    named = best if f"{best} did best as Alice" in text else None
    significant = all(margin.significant for margin in answers.margins(game, "alice"))
    assert significant == (named is not None), text
    return Statement(text, named)


def compare(simulator: Simulator, cell: Cell, draw: np.random.Generator) -> Statement:
    """Return the headline on changes between two studies of the same players."""
    before, after = simulator.matches(cell, draw, studies=2)
    after = after.with_columns(match_id=pl.concat_str(pl.lit("later "), "match_id"))
    first = simulator.study("first", before)
    second = simulator.study("second" if cell.paired else "elsewhere", after)
    (part,) = (part for part in comparison(second, None, [GAME]).parts if not part.design)
    shown = next(iter(part.make(first)))
    assert isinstance(shown, Answer)
    text = shown.text
    changed = any(word in text for word in (" rose by ", " fell by ", "changed, too"))
    of_leader = " of p0 rose by " in text or " of p0 fell by " in text
    return Statement(text, "p0" if of_leader else "some score" if changed else None)


def leaderboard(simulator: Simulator, cell: Cell, draw: np.random.Generator) -> Statement:
    """Return the leaderboard's headline for a simulated study."""
    (frame,) = simulator.matches(cell, draw)
    return standing_of(simulator, frame)


def standing_of(simulator: Simulator, frame: pl.DataFrame) -> Statement:
    """Return the leaderboard's headline for a match frame."""
    study = simulator.study("first", frame)
    try:
        shown = next(iter(_Board((study,), (), ()).standing(study)))
    except NoData as lacking:
        return Statement(str(lacking), None)
    assert isinstance(shown, Answer)
    sure = " is first, " in shown.text and "cannot be" not in shown.text
    return Statement(shown.text, shown.text.partition(",")[0] if sure else None)


def metagame(simulator: Simulator, cell: Cell, draw: np.random.Generator) -> Statement:
    """Return the meta-game's headline for a study in which all ordered pairs of players meet."""
    shape = (cell.players, cell.players, cell.configurations, cell.instances)
    level = SPREAD * draw.normal(size=(cell.configurations, 1))
    common = (1, 1, *shape[2:]) if cell.paired else shape
    of_instance = np.sqrt(ALIKE) * draw.normal(size=(2, *common))
    latent = level + of_instance + np.sqrt(1 - ALIKE) * draw.normal(size=(2, *shape))
    latent[0, 0] += cell.ahead
    latent[1, :, 0] += cell.ahead
    alice, bob = KINDS[cell.outcome](latent) / 2
    first, second, configuration, instance = np.indices(shape).reshape(4, -1)
    pairs = list(zip(first, second, strict=True))
    frame = simulator.frame(
        [f"p{at}" for at in first], [f"p{at}" for at in second], configuration,
        [str(at) if cell.paired else f"{pair}.{at}"
         for pair, at in zip(pairs, instance, strict=True)],
        {"self_gain_alice": alice.ravel(), "self_gain_bob": bob.ravel(),
         "payoff_alice": 100 * alice.ravel(), "payoff_bob": 100 * bob.ravel()},
    )  # fmt: skip
    (selected,) = Played(simulator.store, "first", {GAME: frame}).games()
    try:
        analysis = ct.equilibrium.analyse(selected, draws=DRAWS)
    except ct.CheaptalkError as error:
        return Statement(str(error), None)
    text = metagame_answer(analysis).text
    if not text.startswith("At ") or "uncertain" in text:
        return Statement(text, None)
    shares = dict(zip(analysis.labels, analysis.against("mixture"), strict=True))
    beyond = [label for label, share in shares.items() if (share.low or 0.0) > 1 / cell.players]
    sure = beyond or [label for label in shares if f"everyone chooses {label}" in text]
    return Statement(text, " and ".join(sure) or None)


def factors(simulator: Simulator, cell: Cell, draw: np.random.Generator) -> Statement:
    """Return the sentences on the effects of players' factors.

    With up to three players, each is a different model. With more players, each model appears with
    two prompt templates: players 0 and 1 are the first model.
    """
    (frame,) = simulator.matches(cell, draw)
    two_factors = cell.players > 3
    levels = {
        f"p{at}": {"model": f"m{at // 2}", "template": f"t{at % 2}"}
        if two_factors
        else {"model": f"m{at}"}
        for at in range(cell.players)
    }
    game = GameScores(GAME, frame, {"alice": "alice", "bob": "bob"})
    shown = next(iter(factor_results(game, levels)))
    assert isinstance(shown, Answer)
    named = any(verb in shown.text for verb in (" raised ", " lowered ", " changed "))
    return Statement(shown.text, "p0" if named else None)


HEADLINES: Mapping[str, Callable[[Simulator, Cell, np.random.Generator], Statement]] = {
    "report": report,
    "factors": factors,
    "compare": compare,
    "leaderboard": leaderboard,
    "metagame": metagame,
}


def grid(headlines: list[str], largest: int = LARGEST) -> list[Cell]:
    """Return the cells with at most ``largest`` matches, by size; those with a leader come last."""
    cells = [
        Cell(headline, players, instances, configurations, paired, outcome, ahead)
        for headline in headlines
        for players, (instances, configurations) in product(PLAYERS, DESIGNS)
        for paired, outcome, ahead in product((True, False), KINDS, (0.0, AHEAD))
    ]
    chosen = [cell for cell in cells if cell.matches <= largest]
    return sorted(chosen, key=lambda cell: (cell.ahead > 0, cell.matches))


class Count(NamedTuple):
    """Counts of a cell's headlines.

    Attributes:
        studies: the number of simulated studies.
        named: the number of headlines that name a player or a change.
        leader: the number of headlines that name the first player.
    """

    studies: int = 0
    named: int = 0
    leader: int = 0

    def __add__(self, other: object) -> "Count":
        assert isinstance(other, Count)
        return Count(*(a + b for a, b in zip(self, other, strict=True)))


def limits(part: int, total: int) -> tuple[float, float]:
    """Return the exact 95 % confidence interval of a share (Clopper and Pearson 1934)."""
    low = float(beta.ppf(0.025, part, total - part + 1)) if part else 0.0
    high = float(beta.ppf(0.975, part + 1, total - part)) if part < total else 1.0
    return low, high


@contextmanager
def simulator() -> Iterator[Simulator]:
    """Provide a simulator with a temporary store of three small studies."""
    fixed = {"game": GAME, "fixed": {"money": 100}}
    with (
        TemporaryDirectory() as folder,
        ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
    ):
        for name, seed in (("first", 0), ("second", 0), ("elsewhere", 1)):
            ct.run(ct.Study(
                name=name, seed=seed, games=[fixed], pairing=[["p0", RIVAL]],
                players={"p0": "equal_split", RIVAL: "boulware"},
            ), store)  # fmt: skip
        yield Simulator(store, ct.frames.read_matches(store, "first")[GAME])


def simulated(
    cells: list[Cell], minutes: float, seed: int, progress: Path | None = None
) -> dict[Cell, Count]:
    """Simulate cells in batches until the time is up.

    Args:
        cells: the cells to simulate.
        minutes: the time limit.
        seed: the random seed.
        progress: a file of JSON lines to continue from and to append to.

    Returns:
        The counts of every cell that was simulated, including those in ``progress``.
    """
    counts: defaultdict[Cell, Count] = defaultdict(Count)
    if progress is not None and progress.exists():
        for line in progress.read_text().splitlines():
            cell, count = json.loads(line)
            counts[Cell(*cell)] += Count(*count)
    end = time.monotonic() + 60 * minutes
    with simulator() as drawing:
        while cells and time.monotonic() < end:
            cell = min(cells, key=lambda cell: _priority(cell, counts[cell]))
            batch, start = Count(), counts[cell].studies
            for number in range(start, start + BATCH):
                key = [seed, number, *json.dumps(cell).encode()]
                statement = HEADLINES[cell.headline](drawing, cell, np.random.default_rng(key))
                batch += Count(1, statement.named is not None, statement.named == "p0")
            counts[cell] += batch
            if progress is not None:
                with progress.open("a") as file:
                    file.write(json.dumps([cell, batch]) + "\n")
    return {cell: counts[cell] for cell in cells if counts[cell].studies}


def _priority(cell: Cell, count: Count) -> tuple[float, bool, int]:
    """Return a cell's sort key; the cell with the smallest key is simulated next.

    The key is the number of studies, discounted for false headlines. Most time thereby goes to
    cells that may exceed the limit.
    """
    false = 0 if cell.ahead else count.named
    return count.studies / (1 + SUSPICION * false), cell.ahead > 0, cell.matches


def by_size(counts: Mapping[Cell, Count]) -> dict[str, Count]:
    """Pool the counts of cells with equal players by headline, instances and configurations."""
    pooled: defaultdict[str, Count] = defaultdict(Count)
    for cell, count in counts.items():
        if not cell.ahead:
            name = f"{cell.headline}, {cell.instances} instances x {cell.configurations}"
            pooled[name] += count
    return dict(sorted(pooled.items()))


def profile_pairs(minutes: float, seed: int = 0) -> Count:
    """Profile the same player twice until the time is up; count the pairs that show a change."""
    end, count = time.monotonic() + 60 * minutes, Count()
    while time.monotonic() < end:
        (percent,) = twice(1, seed + count.studies)
        count += Count(1, percent > 0)
    return count


def rows(
    minutes: float = MINUTES, profiles: float = MINUTES / 2, progress: Path | None = None
) -> Iterator[Row]:
    """Yield each headline's worst cell, its overall error rate and power, and profile changes.

    Args:
        minutes: the time limit for all headlines except those of profiles.
        profiles: the time limit for profiles, in minutes.
        progress: as in :func:`simulated`.
    """
    counts = simulated(grid([*HEADLINES]), minutes, 0, progress)
    for headline in HEADLINES:
        own = {cell: count for cell, count in counts.items() if cell.headline == headline}
        null = {cell: count for cell, count in own.items() if not cell.ahead}
        if not null:
            continue
        worst = max(null, key=lambda cell: limits(null[cell].named, null[cell].studies)[0])
        count = null[worst]
        low, high = limits(count.named, count.studies)
        yield Row(
            f"{headline}: false headlines in the worst of {len(null)} cells with equal players",
            100 * count.named / count.studies, "%", ("<=", 100 * LIMIT),
            f"{worst}; {count.studies} studies, 95 % CI {100 * low:.1f} to {100 * high:.1f}",
        )  # fmt: skip
        total = sum(null.values(), Count())
        yield Row(f"{headline}: false headlines over all cells", 100 * total.named / total.studies,
                  "%", ("<=", 100 * LIMIT), f"{total.studies:,} studies")  # fmt: skip
        ahead = sum((count for cell, count in own.items() if cell.ahead), Count())
        if ahead.studies:
            yield Row(
                f"{headline}: headlines that name the leader",
                100 * ahead.leader / ahead.studies, "%", None,
                f"one player {AHEAD} standard deviations ahead, {ahead.studies:,} studies",
            )  # fmt: skip
    pairs = profile_pairs(profiles)
    if not pairs.studies:
        return
    low, high = limits(pairs.named, pairs.studies)
    yield Row(
        "profile: pairs of profiles of the same player that show a change",
        100 * pairs.named / pairs.studies, "%", ("<=", 100 * LIMIT),
        f"{pairs.studies} pairs, 95 % CI {100 * low:.1f} to {100 * high:.1f}",
    )  # fmt: skip


def main() -> None:
    """Print the false headlines of every cell with a confidence interval, worst first."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--progress", type=Path)
    parser.add_argument("--only", nargs="*", choices=HEADLINES, default=[*HEADLINES])
    parser.add_argument(
        "--profiles", type=float, default=0.0, help="time limit for profiles, in minutes"
    )
    parser.add_argument(
        "--largest", type=int, default=LARGEST, help="maximum number of matches in a study"
    )
    options = parser.parse_args()
    cells = grid(options.only, options.largest)
    counts = simulated(cells, options.minutes, options.seed, options.progress)
    null = {cell: count for cell, count in counts.items() if not cell.ahead}
    for cell in sorted(null, key=lambda cell: -null[cell].named / null[cell].studies):
        line(str(cell), null[cell].named, null[cell].studies)
    print()
    for name, count in by_size(counts).items():
        line(name, count.named, count.studies)
    print()
    for cell, count in counts.items():
        if cell.ahead:
            print(f"{cell!s:70} power {count.leader / count.studies:6.1%} of {count.studies}")
    if options.profiles:
        pairs = profile_pairs(options.profiles, options.seed)
        line("profile, pairs of the same player", pairs.named, pairs.studies)


def line(name: str, part: int, total: int) -> None:
    """Print a share of false headlines and whether it exceeds the limit."""
    low, high = limits(part, total)
    verdict = "TOO MANY" if low > LIMIT else "" if part / total <= LIMIT else "above limit"
    print(f"{name:70} {part / total:6.1%} ({low:.1%} to {high:.1%}, {total}) {verdict}", flush=True)


if __name__ == "__main__":
    main()
