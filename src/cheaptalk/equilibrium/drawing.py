"""Drawing the deals of an empirical game again, with replacement."""

from collections.abc import Mapping

import numpy as np

from cheaptalk.equilibrium.cells import Key, Sample
from cheaptalk.equilibrium.empirical import Empirical, listed
from cheaptalk.equilibrium.payoffs import Floats
from cheaptalk.rules import CheaptalkError, counted

DRAWS = 1_000


def resampled(
    game: Empirical, draws: int = DRAWS, *, seed: int = 0, paired: bool | None = None
) -> Floats:
    """Means of all values in all cells, each time over deals drawn anew with replacement.

    One draw of a cell's deals serves all its values. The arguments are those of
    :func:`.bootstrap_equilibrium`.

    Returns:
        Shape (draws, values, rows, columns); the values are payoffs, then measures.

    Raises:
        CheaptalkError: a cell is missing or thin, the game has no samples, or a paired draw left a
            cell without a deal.
        ValueError: fewer than 2 draws are asked for.
    """
    if draws < 2:
        raise ValueError(f"A bootstrap needs at least 2 draws, not {draws}")
    check_samples(game)
    together = shares_deals(game) if paired is None else paired
    draw = _drawn_together if together else _drawn_apart
    return game.assembled([draw(sample, draws, seed, at) for at, sample in enumerate(game.samples)])


def check_samples(game: Empirical) -> None:
    """See that every cell has deals enough to say how uncertain it is.

    Raises:
        CheaptalkError: a cell is missing or thin, or the game has no samples.
    """
    game.check()
    if not game.sampled:
        raise CheaptalkError("These payoffs have no matches behind them that could be drawn again")
    if game.thin:
        raise CheaptalkError(
            f"{counted(len(game.thin), 'cell')} with fewer than 2 deals: {listed(game.thin)}; "
            "play more deals, or leave strategies out"
        )


def shares_deals(game: Empirical) -> bool:
    """Whether in each sample any two cells share half of the smaller one's deals, or more."""
    return game.sampled and all(sample.share_deals for sample in game.samples)


def deals_in_all(game: Empirical) -> tuple[int, int]:
    """How many deals all cells of their sample have, and how many some cell has; 0 of payoffs."""
    if not game.sampled:
        return 0, 0
    cells = [sample.played.sum(axis=0) for sample in game.samples]
    in_all = sum(
        int((found == len(sample.cells)).sum())
        for found, sample in zip(cells, game.samples, strict=True)
    )
    return in_all, sum(int((found > 0).sum()) for found in cells)


def _times(size: int, draws: int, seed: int, *place: int) -> Floats:
    """How often each of some deals is drawn, shape (draws, size); a stream for each place."""
    stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))
    drawn = stream.integers(0, size, (draws, size))
    drawn += size * np.arange(draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=draws * size).reshape(draws, size).astype(float)


def _drawn_apart(sample: Sample, draws: int, seed: int, at: int) -> Mapping[Key, Floats]:
    return {
        key: cell.means(_times(len(cell.deals), draws, seed, at, *key))
        for key, cell in sample.cells.items()
    }


def _drawn_together(sample: Sample, draws: int, seed: int, at: int) -> Mapping[Key, Floats]:
    times = _times(sample.deals, draws, seed, at)
    means = {key: cell.means(times[:, cell.deals]) for key, cell in sample.cells.items()}
    if any(np.isnan(found[:, :2]).any() for found in means.values()):
        raise CheaptalkError(
            "A paired draw left a cell without any of its deals: its cells share too few; "
            "play the same deals in all, or say paired=False"
        )
    return means
