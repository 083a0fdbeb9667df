"""A leaderboard over studies and games, and the rank changes when a player joins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.unscored import own_end, without_scored
from cheaptalk.records import Store
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import dots, ends
from cheaptalk.reports.recipes.evidence import Evidence, check_players
from cheaptalk.reports.recipes.findings import Findings, findings
from cheaptalk.reports.recipes.margins import Margin, first_answer
from cheaptalk.reports.recipes.means import (
    means,
    over_games,
    ranked_over_games,
    side_by_side,
    with_ranges,
    without_ranges,
)
from cheaptalk.reports.recipes.parts import Answer, Charts, NoData, Recipe, RecipePart
from cheaptalk.reports.recipes.tables import Header, ReportTable, estimate, texts
from cheaptalk.reports.study import comparability
from cheaptalk.reports.study.comparability import OPPONENTS
from cheaptalk.rules import CheaptalkError, WrongValue, counted, game_title, get_game, suggest
from cheaptalk.statistics import INSTANCES, STRATA, StatisticsError
from cheaptalk.statistics.intervals import without_rounding
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.text import fixed

SCORE = "score"
"""The metric of a whole match by which a game scores players that fill all of its seats."""
OVERALL = "overall"
UNIT = "s.d."
EVERY_RANK = 20
"""Number of players up to which the axis shows every rank."""
LIKE = ("game", "configuration", "role")
"""The columns of matches whose payoffs have the same unit."""


def leaderboard(
    store: StoreLike,
    studies: Sequence[StudyLike],
    *,
    games: Sequence[str] = (),
    new: Sequence[str] = (),
    draws: int = 1_000,
    seed: int = 0,
) -> Findings:
    """Rank the players of one or more studies, with ranges of ranks.

    Args:
        studies: at least one study's name; shared matches count once.
        games: the games to include; all by default.
        new: new players; ranks are also computed without them.
        draws: the number of bootstrap draws.
        seed: the seed of the draws.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: a game or player is in none of the studies, or a player's settings differ
            between studies.
        WrongValue: there is no study, or there are too few draws.
    """
    if not studies:
        raise WrongValue("a leaderboard requires at least one study")
    names = list(dict.fromkeys(map(name_of, studies)))
    with Store.opened(store) as opened:
        evidence = [Evidence(opened, name) for name in names]
        check_players(opened, names)
        for kind, requested, available in (
            ("player", new, sorted({label for study in evidence for label in study.labels})),
            ("game", games, sorted({game for study in evidence for game in study.seats})),
        ):
            for name in requested:
                if name not in available:
                    raise CheaptalkError(
                        f"no {kind} {suggest(name, available)} in {', '.join(names)}"
                    )
        board = _Board(tuple(evidence), tuple(games), tuple(new))
        parts = [RecipePart("Standing", "", board.standing)]
        if new or len(names) > 1:
            parts.append(RecipePart("Rank changes", "", board.moves))
        about = f"All games of {', '.join(names)}."
        heading = f"Leaderboard of {', '.join(f'“{name}”' for name in names)}"
        players = tuple(label for study in evidence for label in study.labels)
        recipe = Recipe("leaderboard", "a leaderboard", about, tuple(parts))
        recipe = replace(recipe, heading=heading, players=players)
        return findings(opened, names[-1], recipe, draws=draws, seed=seed)


@dataclass(frozen=True)
class _Board:
    """A leaderboard's data: the studies, their games, and the new players."""

    studies: tuple[Evidence, ...]
    games: tuple[str, ...]
    new: tuple[str, ...]

    def standing(self, evidence: Evidence) -> Iterator[Answer | ReportTable | Charts]:
        """Rank players by how far their payoffs are above or below the average, over all games.

        A player's standing in a match is its payoff minus the mean of all payoffs in the same game,
        configuration and role, in standard deviations of these payoffs. If each player fills all
        seats of its matches and the game has a score for the whole match, the standing is that
        score. A game's standing is the mean over matches, with a 95 % interval clustered by
        instance within configurations. The overall standing is the mean of the games' standings,
        with an interval by Welch and Satterthwaite. A rank is followed by the ranks in 95 % of
        bootstrap draws over instances, and by the ranks that hold for all players simultaneously
        (Mogstad, Romano, Shaikh and Wilhelm 2024). With few instances, the former are too narrow.
        If people play, simultaneous ranks are limited by the number of participants. There is no
        correction for repeated looks at a growing leaderboard.

        Players are ranked if they have matches in all games, configurations and roles, and met the
        same opponents there. The others are listed separately, with their missing matches. If no
        player has all matches, the largest set of comparable players is ranked. If a player never
        varied in a game, there is no overall interval and no range of ranks, because its variation
        is unknown. If a match of a ranked player failed, all players' results on its instance and
        against its opponents are excluded, because matches may be more likely to fail on poor
        instances.
        """
        results = self.rows(self.studies)
        rows, unranked, without, failed, rivals = _compared(results)
        by_game = _by_game(rows)
        board, notes, leads = _ranked(rows, by_game, evidence)
        wide = side_by_side(by_game, "z", "game")
        board = board.join(wide, on="player", how="left", maintain_order="left", validate="1:1")
        games = rows["game"].unique(maintain_order=True).to_list()
        above = f"{fixed(board[OVERALL][0], 2)} standard deviations above the average"
        text, short = first_answer(board, OVERALL, leads, above, 2)
        yield Answer(f"{text}{_failed_text(failed, rows)}{rivals}", short)
        caption = "Whiskers are 95 % intervals." if board[f"{OVERALL}.low"].count() else ""
        yield Charts("leaderboard-overall", "Overall", [_dots(board)], caption)
        certain = bool(board["sure"].count())
        columns = [Header("player", "Player")]
        columns.append(Header("rank", "Rank", "95 % of draws" if certain else "", 0))
        if certain:
            columns.append(Header("sure", "Simultaneous ranks", "95 %"))
            columns.append(Header("first", "Best", "of draws", 2))
        titles = {OVERALL: "Overall"} | {game: game_title(game) for game in games}
        columns += [Header(key, title, UNIT, 3) for key, title in titles.items()]
        remarks = [*(notes if certain else ()), *_unvaried(by_game, board)]
        if without:
            who = "it" if len(without) == 1 else "them"
            remarks.append(
                f"Matches with {', '.join(without)} are excluded because only some of the ranked "
                f"players met {who}."
            )
        yield ReportTable("leaderboard", "Leaderboard", board, columns, notes=tuple(remarks))
        unscored = without_scored(results)
        if unscored or not unranked.is_empty():
            yield _not_ranked(rows, unranked, unscored)

    def moves(self, evidence: Evidence) -> Iterator[ReportTable | Charts]:
        """Show how each player's rank changes from stage to stage of the leaderboard.

        If new players are named, the first stage excludes all of their matches. With several
        studies, each stage adds the matches of the next study. Standings are in standard deviations
        of the matches at that stage, so a new rival can change the standings of the others. Each
        stage ranks only players who met the same opponents.
        """
        stages = list(self.stages())
        if len(stages) < 2:
            raise NoData("without the new players, no match remains to rank the others")
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
        columns = [Header("player", "Player"), *(Header(name, name, "rank", 0) for name in names)]
        caption = (
            "The rank, with the ranks in 95 % of draws if they can be estimated; empty before "
            "the player joined."
        )
        yield ReportTable("moves", "Ranks by stage", wide.sort(order), columns, caption)
        yield Charts("moves", "Ranks by stage", [_slopes(frame, names)])

    def stages(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield each stage of the leaderboard with its name and matches."""
        if self.new:
            rows = self.rows(self.studies)
            seated = rows.filter(pl.col("player").is_in(self.new))["match_id"].unique()
            before = rows.filter(~pl.col("match_id").is_in(seated.implode()))
            if before.drop_nulls("got")["player"].n_unique() > 1:
                yield f"without {', '.join(self.new)}", _compared(before).rows
            yield "with all", _compared(rows).rows
            return
        for upto in range(1, len(self.studies) + 1):
            yield self.studies[upto - 1].study, _compared(self.rows(self.studies[:upto])).rows

    def rows(self, studies: Sequence[Evidence]) -> pl.DataFrame:
        """Return one row per match, role and player, with a null payoff if there is no score."""
        games = dict.fromkeys(game for study in studies for game in study.frames)
        parts = [
            part
            for game in games
            if not self.games or game in self.games
            for part in _of_game(game, studies)
        ]
        rows = pl.concat(parts) if parts else pl.DataFrame({"player": [], "got": []})
        if rows.drop_nulls("got")["player"].n_unique() < 2:
            raise NoData("a leaderboard requires finished matches of at least two players")
        return rows


def _of_game(game: str, studies: Sequence[Evidence]) -> Iterator[pl.DataFrame]:
    frames = [study.frames[game] for study in studies if game in study.frames]
    role_of = {seat: role for study in studies for seat, role in study.seats.get(game, {}).items()}
    matches = pl.concat(frames, how="diagonal_relaxed").unique("match_id", maintain_order=True)
    frame = matches.sort("match_id")  # rounding of sums depends on the order of storing
    players = [f"player_{seat}" for seat in role_of]
    counted = frame.filter(SCORED)
    if counted.is_empty():
        return
    is_self_play = (
        counted.select(pl.concat_list(players).list.drop_nulls().list.n_unique().max()).item() == 1
    )
    value = SCORE if is_self_play and SCORE in get_game(game).metrics else None
    roles = comparability.seats_by_role(role_of, get_game(game).rules.roles)
    for role, role_seats in roles.items():
        pooled = comparability.with_opponents(
            comparability.by_player(
                comparability.with_roles(frame, {role: role_seats}), role, role_seats
            ),
            role,
            roles,
        )
        yield pooled.select(
            pl.lit(game).alias("game"),
            pl.lit(role).alias("role"),
            "match_id",
            *INSTANCES,
            "pairing",
            pl.col(f"player_{role}").alias("player"),
            OPPONENTS,
            pl.when(SCORED).then(value or f"payoff_{role}").cast(pl.Float64).alias("got"),
            own_end(role),
            pl.col(PEOPLE)
            if PEOPLE in pooled.columns
            else pl.lit(None, pl.List(pl.String)).alias(PEOPLE),
        ).drop_nulls("player")


def _standardised(rows: pl.DataFrame) -> pl.DataFrame:
    """Return payoffs in standard deviations from the mean of comparable payoffs."""
    got = pl.col("got")
    spread = without_rounding(got.std(), got.abs().max()).over(LIKE)
    z = pl.when(spread > 0).then((got - got.mean().over(LIKE)) / spread).otherwise(0.0)
    return rows.with_columns(z=z)


def _by_game(rows: pl.DataFrame) -> pl.DataFrame:
    """Return each player's mean standing by game, with rounding errors around 0 removed."""
    by_game = means(rows, ["z"], ["player", "game"], strata=STRATA)
    largest = rows.select(pl.col("z").abs().max())
    return by_game.with_columns(z=without_rounding(pl.col("z"), pl.lit(largest.item())))


def _ranked(
    rows: pl.DataFrame, by_game: pl.DataFrame, evidence: Evidence
) -> tuple[pl.DataFrame, tuple[str, ...], list[Margin]]:
    try:
        ranks, notes, leads = ranked_over_games(rows, "z", STRATA, evidence.draws, evidence.seed)
    except StatisticsError as error:
        raise NoData(f"rank ranges cannot be estimated: {error}; play more instances") from None
    overall = (
        over_games(by_game, "z")
        .drop("games")
        .rename(lambda name: OVERALL + name[1:] if name.startswith("z") else name)
    )
    board = ranks.join(overall, on="player", how="left", maintain_order="left", validate="1:1")
    return (
        without_ranges(board) if _hides_noise(rows) else with_ranges(board, OVERALL),
        tuple(f"Ranks: {note.replace('clusters', 'instances')}." for note in notes),
        leads,
    )


def _hides_noise(rows: pl.DataFrame) -> bool:
    """Return whether a player's payoff never varied, so that its ranks would seem too certain.

    Configurations with one instance show no variation.
    """
    z = pl.col("z")
    spread = without_rounding(z.max() - z.min(), z.abs().max())
    cells = rows.group_by("player", *LIKE, maintain_order=True).agg(
        pl.col("instance").n_unique(), spread=spread
    )
    several = cells.filter(pl.col("instance") > 1)
    games = several.group_by("player", "game", maintain_order=True).agg(pl.col("spread").max())
    return bool((games["spread"] == 0).any())


class _Comparison(NamedTuple):
    """The rows of comparable players, with their standing ``z``, and of others (``apart``).

    ``without`` has the players whose matches are excluded so that the ranked players are
    comparable. ``failed`` counts results excluded because a ranked player's match on the same
    instance and against the same opponents failed. ``rivals`` is the caution of
    :func:`.head_to_head`.
    """

    rows: pl.DataFrame
    apart: pl.DataFrame
    without: list[str]
    failed: int
    rivals: str


def _compared(rows: pl.DataFrame) -> _Comparison:
    """Separate the players who can be ranked from those without comparable matches."""
    counted = rows.drop_nulls("got")
    cells = counted.select("player", *LIKE).unique()
    played = rows.join(cells, on=["player", *LIKE], how="semi")
    players, without = comparability.largest_comparable_set(
        comparability.encounters(played, "player", LIKE, "got")
    )
    if len(players) < 2:
        raise NoData(
            "no player can be ranked: no two players met the same opponents in the same games, "
            "configurations and roles; play the missing matches with cheaptalk run"
        )
    others = pl.col(OPPONENTS).list.set_intersection(without).list.len() > 0
    dropped = counted.filter(others)["match_id"].unique()
    ranked = pl.col("player").is_in(players)
    unranked = _standardised(counted).filter(~ranked)
    comparable = counted.filter(~pl.col("match_id").is_in(dropped.implode()))
    cell = [*LIKE, "instance", OPPONENTS]
    failed = played.filter(ranked & ~others & pl.col("got").is_null()).select(cell).unique()
    finished = comparable.join(failed, on=cell, how="anti", maintain_order="left")
    cell_counts = [
        side.filter(ranked).select(cells.columns).n_unique() for side in (finished, comparable)
    ]
    if cell_counts[0] < cell_counts[1]:
        finished = comparable  # a player would have no match in some cell
    lost = comparable.filter(ranked).height - finished.filter(ranked).height
    rivals = comparability.head_to_head(
        comparability.encounters(comparable.filter(ranked), "player", LIKE, "got")
    )
    return _Comparison(_standardised(finished).filter(ranked), unranked, without, lost, rivals)


def _failed_text(failed: int, rows: pl.DataFrame) -> str:
    if not failed:
        return ""
    return (
        f" {failed:,} of {failed + rows.height:,} results are excluded because a match of a "
        "ranked player on the same instance and against the same opponents failed."
    )


def _not_ranked(
    ranked: pl.DataFrame, unranked: pl.DataFrame, unscored: Mapping[str, str]
) -> ReportTable:
    ranked_cells = set(ranked.select(LIKE).unique().iter_rows())
    rivals = set(ranked[OPPONENTS].explode().drop_nulls())
    standings = over_games(_by_game(unranked), "z")
    lacks = {
        player: _lacking_text(
            sorted(ranked_cells - set(part.select(LIKE).unique().iter_rows())),
            len(ranked_cells),
            sorted(rivals - set(part[OPPONENTS].explode())),
        )
        for (player,), part in unranked.group_by("player", maintain_order=True)
    }
    rows: list[dict[str, object]] = [
        row | {"lacks": lacks[row["player"]]}
        for row in standings.sort("player").iter_rows(named=True)
    ]
    nothing = dict.fromkeys(standings.columns)
    rows += [
        nothing | {"player": player, "lacks": f"any finished match: {ends}"}
        for player, ends in unscored.items()
    ]
    standing = Header("z", "Standing", f"{UNIT}, in its own matches", 3)
    columns = [*texts(player="Player"), standing, *texts(lacks="Missing")]
    frame = pl.DataFrame(rows, schema_overrides=standings.schema, infer_schema_length=None)
    caption = (
        "Players without some matches or opponents of the ranked players. To rank them, add the "
        "missing pairings to a study."
    )
    return ReportTable("not-ranked", "Not ranked", frame, columns, caption)


def _lacking_text(
    cells: Sequence[tuple[str, str, str]], total: int, opponents: Sequence[str]
) -> str:
    if cells:
        games = dict.fromkeys(game for game, _, _ in cells)
        named = ", ".join(map(game_title, games))
        return f"{len(cells)} of {total} combinations of configuration and role in {named}"
    if opponents:
        return f"the opponents {', '.join(opponents)}"
    return "nothing: the player met additional opponents or played other configurations"


def _unvaried(by_game: pl.DataFrame, board: pl.DataFrame) -> Iterator[str]:
    """Yield sentences on players whose constant payoffs prevent an interval over all games."""
    still = by_game.filter(pl.col("z.error").is_null(), pl.col("z.clusters") > 1)
    players: dict[str, list[str]] = {}
    for (player,), part in still.group_by("player", maintain_order=True):
        row = board.filter(player=player)
        if row[f"{OVERALL}.low"].item() is None and by_game.filter(player=player).height > 1:
            games = " and ".join(map(game_title, part["game"]))
            players.setdefault(games, []).append(str(player))
    for games, who in players.items():
        yield (
            f"No interval over all games for {', '.join(who)}: its results never varied in {games}."
        )


def _dots(board: pl.DataFrame) -> Chart:
    rows = board.to_dicts()
    texts = [
        f"{row[OVERALL]:.3f}, rank {row['rank']}{estimate(row, 'rank').within(0, '')}, "
        f"{counted(row[f'{OVERALL}.n'], 'result')}"
        for row in rows
    ]
    return dots("Overall standing", UNIT, board["player"].to_list(), rows, OVERALL, texts)


def _slopes(frame: pl.DataFrame, stages: Sequence[str]) -> Chart:
    layers = [
        Line(
            [
                Mark(
                    row["stage"],
                    row["rank"],
                    f"{player}\n{row['stage']}: rank {row['rank']}",
                    y_ends=ends(row, "rank"),
                )
                for row in part.iter_rows(named=True)
            ],
            str(player),
            index,
        )
        for index, ((player,), part) in enumerate(frame.group_by("player", maintain_order=True))
    ]
    size = frame["player"].n_unique()
    ticks = tuple((float(rank), str(rank)) for rank in range(1, size + 1))
    ranks = Axis("rank", integer=True, turned=True, ticks=ticks if size <= EVERY_RANK else ())
    return Chart("Ranks", "", layers, Axis(names=tuple(stages)), ranks, 80 + 24 * len(layers))
