"""A leaderboard over any studies and games, and how ranks move when someone joins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.unscored import own_end, without_scored
from cheaptalk.records import Store
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import dots, ends
from cheaptalk.reports.recipes.evidence import Evidence, check_players
from cheaptalk.reports.recipes.findings import Findings, findings
from cheaptalk.reports.recipes.margins import Margin
from cheaptalk.reports.recipes.means import (
    means,
    over_games,
    ranked_over_games,
    side_by_side,
    with_told_ranges,
    without_ranges,
)
from cheaptalk.reports.recipes.parts import Answer, Charts, Lacking, Recipe, RecipePart
from cheaptalk.reports.recipes.standings import first_answer
from cheaptalk.reports.recipes.tables import Header, ReportTable, estimate
from cheaptalk.reports.study.comparability import (
    OPPONENTS,
    encounters,
    head_to_head,
    largest_comparable_set,
    with_opponents,
)
from cheaptalk.reports.study.roles import by_player, places_by_role, with_roles
from cheaptalk.rules import CheaptalkError, counted, game_box, game_title, suggest
from cheaptalk.statistics import DEALS, STRATA, StatisticsError
from cheaptalk.statistics.intervals import without_rounding
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.studies.lookup import Named, Place, name_of
from cheaptalk.text import fixed

SCORE = "score"
"""The measure of a whole table by which a game scores players who sit there alone."""
OVERALL = "overall"
UNIT = "s.d."
EVERY_RANK = 20
"""Players up to whom every rank is written along its axis."""
LIKE = ("game", "configuration", "role")
"""Matches whose payoffs are counted in one unit."""


def leaderboard(
    store: Place,
    studies: Sequence[Named],
    *,
    games: Sequence[str] = (),
    new: Sequence[str] = (),
    draws: int = 1_000,
    seed: int = 0,
) -> Findings:
    """Who stands where over some studies, with ranges of ranks.

    Args:
        store: where the studies are recorded.
        studies: their names, one at least; a match that is in several counts once.
        games: only these; all without.
        new: players whose joining is to be followed: ranks are given without them too.
        draws: of the bootstrap.
        seed: of these.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: a game or player is in none of the studies, or a player has other settings
            in another one.
        ValueError: there is no study, or there are too few draws.
    """
    if not studies:
        raise ValueError("a leaderboard takes one study at least")
    names = list(dict.fromkeys(map(name_of, studies)))
    with Store.opened(store) as opened:
        evidence = [Evidence(opened, name) for name in names]
        check_players(opened, names)
        for what, wanted, known in (
            ("player", new, sorted({label for one in evidence for label in one.labels})),
            ("game", games, sorted({game for one in evidence for game in one.places})),
        ):
            for name in wanted:
                if name not in known:
                    raise CheaptalkError(f"no {what} {suggest(name, known)} in {', '.join(names)}")
        board = _Board(tuple(evidence), tuple(games), tuple(new))
        parts = [RecipePart("Standing", "", board.standing)]
        if new or len(names) > 1:
            parts.append(RecipePart("How ranks moved", "", board.moves))
        recipe = Recipe(
            "leaderboard", "a leaderboard", f"All games of {', '.join(names)}.", tuple(parts),
            heading=f"Leaderboard of {', '.join(f'“{one}”' for one in names)}",
            players=tuple(label for one in evidence for label in one.labels),
        )  # fmt: skip
        return findings(opened, names[-1], recipe, draws=draws, seed=seed)


@dataclass(frozen=True)
class _Board:
    """What is ranked: the studies, the games of them, and the players that are new."""

    studies: tuple[Evidence, ...]
    games: tuple[str, ...]
    new: tuple[str, ...]

    def standing(self, evidence: Evidence) -> Iterator[Answer | ReportTable | Charts]:
        """Players by how far above the average they stand, over all games.

        A player's standing in a match is its payoff less the mean of all payoffs in the same game,
        configuration and role, in standard deviations of these; where all players sit alone at
        their tables and the game has a score of the whole table, it is that score. A game's
        standing is the mean over matches, with a 95 % interval clustered by deal within
        configurations, and overall is the mean of the games' standings, its interval by Welch and
        Satterthwaite from the games' errors. Behind a rank stand the ranks in 95 % of bootstrap
        draws over deals, and those that hold for all players at once (Mogstad, Romano, Shaikh and
        Wilhelm 2024); the former are too sure where there are few deals. If people play, ranks at
        once are no surer than the number of participants allows. Nothing corrects for repeated
        looks at a growing leaderboard.

        Ranked are players who have matches in all games, configurations and roles, and met the same
        opponents there. All others are listed apart, with what they lack. If nobody has all, the
        largest set of comparable players is ranked. If a player never varied in a game, there is no
        interval over all games, and no range of ranks: how much it may vary is not known. If a
        match of a ranked player failed, all players' results on its deal and against its opponents
        are left out, since matches can fail on poor deals.
        """
        every = self.rows(self.studies)
        rows, apart, without, failed, rivals = _compared(every)
        found = _by_game(rows)
        board, notes, leads = _ranked(rows, found, evidence)
        wide = side_by_side(found, "z", "game")
        board = board.join(wide, on="player", how="left", maintain_order="left", validate="1:1")
        games = rows["game"].unique(maintain_order=True).to_list()
        above = f"{fixed(board[OVERALL][0], 2)} standard deviations above the average"
        text, short = first_answer(board, OVERALL, leads, above, 2)
        yield Answer(f"{text}{_failed_text(failed, rows)}{rivals}", short)
        told = "Whiskers are 95 % intervals." if board[f"{OVERALL}.low"].count() else ""
        yield Charts("leaderboard-overall", "Overall", [_dots(board)], told)
        yield ReportTable(
            "leaderboard", "Leaderboard", board,
            (
                Header("player", "Player"),
                *_rank_headers(board),
                Header(OVERALL, "Overall", UNIT, 3),
                *(Header(game, game_title(game), UNIT, 3) for game in games),
            ),
            notes=(
                *(notes if board["sure"].count() else ()), *_unvaried(found, board),
                *_left_out(without),
            ),
        )  # fmt: skip
        unscored = without_scored(every)
        if unscored or not apart.is_empty():
            yield _apart(rows, apart, unscored)

    def moves(self, evidence: Evidence) -> Iterator[ReportTable | Charts]:
        """Each player's rank, stage by stage.

        With new players named, the first stage leaves out all matches in which one of them sat.
        With several studies, each stage adds the next one's matches. Standings are in standard
        deviations of what is there at the stage, so a new rival can move those of old ones. Each
        stage ranks only players who met the same opponents.
        """
        stages = list(self.stages())
        if len(stages) < 2:
            raise Lacking("without the new players no match is left to rank the others by")
        frame = pl.concat(
            _ranked(rows, _by_game(rows), evidence)[0].select(
                pl.lit(name).alias("stage"), "player", "rank", "rank.low", "rank.high"
            )
            for name, rows in stages
        )
        wide = side_by_side(frame, "rank", "stage")
        names = [name for name, _ in stages]
        last = frame.filter(stage=names[-1])["player"].to_list()
        order = pl.col("player").replace_strict(last, range(len(last)), default=len(last))
        yield ReportTable(
            "moves", "Ranks by stage", wide.sort(order),
            (Header("player", "Player"), *(Header(name, name, "rank", 0) for name in names)),
            "The rank, and the ranks in 95 % of draws where these can be told; empty before a "
            "player joined.",
        )  # fmt: skip
        yield Charts("moves", "Ranks by stage", [_slopes(frame, names)])

    def stages(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """The matches at each stage, with its name."""
        if self.new:
            rows = self.rows(self.studies)
            seated = rows.filter(pl.col("player").is_in(self.new))["match"].unique()
            before = rows.filter(~pl.col("match").is_in(seated.implode()))
            if before.drop_nulls("got")["player"].n_unique() > 1:
                yield f"without {', '.join(self.new)}", _compared(before).rows
            yield "with all", _compared(rows).rows
            return
        for upto in range(1, len(self.studies) + 1):
            yield self.studies[upto - 1].study, _compared(self.rows(self.studies[:upto])).rows

    def rows(self, studies: Sequence[Evidence]) -> pl.DataFrame:
        """One row for each match of any status, role and player; ``got`` is null if none counts.

        Raises:
            Lacking: no match counts, or there is one player only.
        """
        games = dict.fromkeys(game for one in studies for game in one.frames)
        parts = [part for game in games if not self.games or game in self.games
                 for part in _of_game(game, studies)]  # fmt: skip
        rows = pl.concat(parts) if parts else pl.DataFrame({"player": [], "got": []})
        if rows.drop_nulls("got")["player"].n_unique() < 2:
            raise Lacking("a leaderboard takes finished matches of two players at least")
        return rows


def _of_game(game: str, studies: Sequence[Evidence]) -> Iterator[pl.DataFrame]:
    """What players got in a game, role by role."""
    frames = [study.frames[game] for study in studies if game in study.frames]
    places = {at: role for one in studies for at, role in one.places.get(game, {}).items()}
    whole = pl.concat(frames, how="diagonal_relaxed").unique("match", maintain_order=True)
    frame = whole.sort("match")  # sums depend on the order, which is that of storing
    seats = [f"player.{place}" for place in places]
    counted = frame.filter(SCORED)
    if counted.is_empty():
        return
    alone = (
        counted.select(pl.concat_list(seats).list.drop_nulls().list.n_unique().max()).item() == 1
    )
    value = SCORE if alone and SCORE in game_box(game).measures else None
    roles = places_by_role(places, game_box(game).rules.roles)
    for role, of in roles.items():
        pooled = with_opponents(by_player(with_roles(frame, {role: of}), role, of), role, roles)
        yield pooled.select(
            pl.lit(game).alias("game"), pl.lit(role).alias("role"), "match", *DEALS, "pairing",
            pl.col(f"player.{role}").alias("player"), OPPONENTS,
            pl.when(SCORED).then(value or f"payoff.{role}").cast(pl.Float64).alias("got"),
            own_end(role),
            pl.col(PEOPLE) if PEOPLE in pooled.columns
            else pl.lit(None, pl.List(pl.String)).alias(PEOPLE),
        ).drop_nulls("player")  # fmt: skip


def _standardised(rows: pl.DataFrame) -> pl.DataFrame:
    """Payoffs in standard deviations from the mean of all that are alike; 0 where all are equal."""
    got = pl.col("got")
    spread = without_rounding(got.std(), got.abs().max()).over(LIKE)
    z = pl.when(spread > 0).then((got - got.mean().over(LIKE)) / spread).otherwise(0.0)
    return rows.with_columns(z=z)


def _by_game(rows: pl.DataFrame) -> pl.DataFrame:
    """How players stand in each game; 0 if the mean is no more than rounding leaves of it."""
    found = means(rows, ["z"], ["player", "game"], strata=STRATA)
    largest = rows.select(pl.col("z").abs().max())
    return found.with_columns(z=without_rounding(pl.col("z"), pl.lit(largest.item())))


def _ranked(
    rows: pl.DataFrame, found: pl.DataFrame, evidence: Evidence
) -> tuple[pl.DataFrame, tuple[str, ...], list[Margin]]:
    """Players by standing over all games; see :func:`.ranked_over_games`."""
    try:
        ranks, notes, leads = ranked_over_games(rows, "z", STRATA, evidence.draws, evidence.seed)
    except StatisticsError as error:
        raise Lacking(f"ranks have no ranges: {error}; play more deals") from None
    overall = over_games(found, "z").drop("games").rename(
        lambda name: OVERALL + name[1:] if name.startswith("z") else name
    )  # fmt: skip
    board = ranks.join(overall, on="player", how="left", maintain_order="left", validate="1:1")
    return (
        without_ranges(board) if _hides_noise(rows) else with_told_ranges(board, OVERALL),
        tuple(f"Ranks: {note.replace('clusters', 'deals')}." for note in notes),
        leads,
    )


def _hides_noise(rows: pl.DataFrame) -> bool:
    """Whether a player never varied within any configuration of a game, so that ranks seem sure.

    Nobody knows how much such a player can vary. Configurations with one deal show no spread.
    """
    z = pl.col("z")
    spread = without_rounding(z.max() - z.min(), z.abs().max())
    cells = rows.group_by("player", *LIKE, maintain_order=True).agg(
        pl.col("deal").n_unique(), spread=spread
    )
    several = cells.filter(pl.col("deal") > 1)
    games = several.group_by("player", "game", maintain_order=True).agg(pl.col("spread").max())
    return bool((games["spread"] == 0).any())


def _rank_headers(board: pl.DataFrame) -> Iterator[Header]:
    """The columns of ranks, those of their ranges where they can be told."""
    yield Header("rank", "Rank", "95 % of draws" if board["sure"].count() else "", 0)
    if board["sure"].count():
        yield Header("sure", "Ranks at once", "95 %")
        yield Header("first", "Best", "of draws", 2)


class _Comparison(NamedTuple):
    """Rows of a leaderboard.

    Attributes:
        rows: of players who are ranked, with their standing ``z``.
        apart: of all others.
        without: players whose matches count for nobody, so that the ranked are comparable.
        failed: how many results are left out, since a ranked player's match on the same deal and
            against the same opponents failed.
        rivals: that players met each other and not themselves; see :func:`.head_to_head`.
    """

    rows: pl.DataFrame
    apart: pl.DataFrame
    without: list[str]
    failed: int
    rivals: str


def _compared(rows: pl.DataFrame) -> _Comparison:
    """Choose the players who can be ranked among each other; see :mod:`.comparability`.

    Raises:
        Lacking: no two are comparable.
    """
    counted = rows.drop_nulls("got")
    cells = counted.select("player", *LIKE).unique()
    played = rows.join(cells, on=["player", *LIKE], how="semi")
    players, without = largest_comparable_set(encounters(played, "player", LIKE, "got"))
    if len(players) < 2:
        raise Lacking(
            "nobody can be ranked: no two players met the same opponents in the same games, "
            "configurations and roles; cheaptalk run plays what studies lack"
        )
    others = pl.col(OPPONENTS).list.set_intersection(without).list.len() > 0
    dropped = counted.filter(others)["match"].unique()
    ranked = pl.col("player").is_in(players)
    apart = _standardised(counted).filter(~ranked)
    kept = counted.filter(~pl.col("match").is_in(dropped.implode()))
    place = [*LIKE, "deal", OPPONENTS]
    failed = played.filter(ranked & ~others & pl.col("got").is_null()).select(place).unique()
    finished = kept.join(failed, on=place, how="anti", maintain_order="left")
    places = [side.filter(ranked).select(cells.columns).n_unique() for side in (finished, kept)]
    if places[0] < places[1]:
        finished = kept  # a player would have no match in some cell
    lost = kept.filter(ranked).height - finished.filter(ranked).height
    rivals = head_to_head(encounters(kept.filter(ranked), "player", LIKE, "got"))
    return _Comparison(_standardised(finished).filter(ranked), apart, without, lost, rivals)


def _failed_text(failed: int, rows: pl.DataFrame) -> str:
    """How many results were left out since others failed, as a sentence after a space."""
    if not failed:
        return ""
    return (
        f" {failed:,} of {failed + rows.height:,} results are left out: on the same deal and "
        "against the same opponents, a match of a ranked player failed."
    )


def _left_out(without: Sequence[str]) -> Iterator[str]:
    """That matches were left out, in a sentence."""
    if without:
        yield (
            f"Matches with {', '.join(without)} are left out: some of the ranked players met "
            f"{'it' if len(without) == 1 else 'them'}, and others did not."
        )


def _apart(ranked: pl.DataFrame, apart: pl.DataFrame, unscored: Mapping[str, str]) -> ReportTable:
    """Those who are not ranked: how they stand in what they played, and what they lack."""
    wanted = set(ranked.select(LIKE).unique().iter_rows())
    rivals = set(ranked[OPPONENTS].explode().drop_nulls())
    found = over_games(_by_game(apart), "z")
    lacks = {
        player: _lacking_text(
            sorted(wanted - set(part.select(LIKE).unique().iter_rows())), len(wanted),
            sorted(rivals - set(part[OPPONENTS].explode())),
        )
        for (player,), part in apart.group_by("player", maintain_order=True)
    }  # fmt: skip
    rows: list[dict[str, object]] = [
        row | {"lacks": lacks[row["player"]]} for row in found.sort("player").iter_rows(named=True)
    ]
    nothing = dict.fromkeys(found.columns)
    rows += [
        nothing | {"player": player, "lacks": f"any finished match: {ends}"}
        for player, ends in unscored.items()
    ]
    return ReportTable(
        "not-ranked", "Not ranked",
        pl.DataFrame(rows, schema_overrides=found.schema, infer_schema_length=None),
        (
            Header("player", "Player"), Header("z", "Standing", f"{UNIT}, in what it played", 3),
            Header("lacks", "Lacks"),
        ),
        "Players who lack matches or opponents that those above have; a study that seats them "
        "there plays them.",
    )  # fmt: skip


def _lacking_text(cells: Sequence[tuple[str, str, str]], of: int, opponents: Sequence[str]) -> str:
    """The games, configurations and roles that a player lacks, or the opponents."""
    if cells:
        games = dict.fromkeys(game for game, _, _ in cells)
        named = ", ".join(map(game_title, games))
        return f"{len(cells)} of {of} combinations of configuration and role, of {named}"
    if opponents:
        return f"the opponents {', '.join(opponents)}"
    return "nothing: it met other opponents besides, or in other configurations"


def _unvaried(found: pl.DataFrame, board: pl.DataFrame) -> Iterator[str]:
    """Who has no interval over all games, since one of them never varied."""
    still = found.filter(pl.col("z.error").is_null(), pl.col("z.clusters") > 1)
    players: dict[str, list[str]] = {}
    for (player,), part in still.group_by("player", maintain_order=True):
        own = board.filter(player=player)
        if own[f"{OVERALL}.low"].item() is None and found.filter(player=player).height > 1:
            games = " and ".join(map(game_title, part["game"]))
            players.setdefault(games, []).append(str(player))
    for games, who in players.items():
        yield f"No interval over all games for {', '.join(who)}: nothing varied in {games}."


def _dots(board: pl.DataFrame) -> Chart:
    rows = board.to_dicts()
    said = [
        f"{row[OVERALL]:.3f}, rank {row['rank']}{estimate(row, 'rank').within(0, '')}, "
        f"{counted(row[f'{OVERALL}.n'], 'result')}"
        for row in rows
    ]
    return dots("Overall standing", UNIT, board["player"].to_list(), rows, OVERALL, said)


def _slopes(frame: pl.DataFrame, stages: Sequence[str]) -> Chart:
    """A line a player from stage to stage, ranks from the top."""
    layers = [
        Line(
            [Mark(row["stage"], row["rank"], f"{player}\n{row['stage']}: rank {row['rank']}",
                  y_ends=ends(row, "rank"))
             for row in part.iter_rows(named=True)],
            str(player), place,
        )
        for place, ((player,), part) in enumerate(frame.group_by("player", maintain_order=True))
    ]  # fmt: skip
    places = frame["player"].n_unique()
    every = tuple((float(rank), str(rank)) for rank in range(1, places + 1))
    ranks = Axis("rank", whole=True, turned=True, ticks=every if places <= EVERY_RANK else ())
    return Chart("Ranks", "", layers, Axis(names=tuple(stages)), ranks, 80 + 24 * len(layers))
