"""The report of a study, composed of parts on its games, judges and participants."""

from collections.abc import Iterator
from pathlib import Path

from cheaptalk.records import Status, Store
from cheaptalk.records.judgements import judges_of
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.pages import VIEWER
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import findings, write_findings
from cheaptalk.reports.recipes.parts import NoData, Recipe, RecipePart
from cheaptalk.reports.recipes.people import people_part, with_people
from cheaptalk.reports.recipes.tables import Header, ReportTable, counts
from cheaptalk.reports.study.game import game_part, scores_by_game
from cheaptalk.reports.study.judges import judges_part
from cheaptalk.rules import game_title
from cheaptalk.text import capital

NAME = "report"


@reads
def study_recipe(store: StoreLike, study: StudyLike) -> Recipe:
    """Return the recipe of a study's report: its games, judges, participants and an overview.

    Raises:
        StoreError: there is no such study.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    parts = [game_part(game) for game in sorted(Evidence(store, study).seats)]
    if judges_of(store, study):
        parts.append(RecipePart("Judges", "", judges_part))
    parts.append(RecipePart("People", "", people_part, fits=with_people))
    return Recipe(NAME, "report of a study", "", (*parts, GAMES))


@reads
def report(
    store: StoreLike,
    study: StudyLike,
    out: Path | str,
    *,
    as_published: bool = False,
    sample: int = 3,
    viewer: str = VIEWER,
) -> None:
    """Write a study's report as one HTML file that works offline.

    The report covers the current contents of the store; for an unfinished study, the page lists the
    missing and failed matches. The same store gives the same page. An existing file is replaced
    atomically.

    Args:
        out: the file to write.
        as_published: compute metrics as the published systems' code does, where that differs.
        sample: transcripts in the page, for each pairing and status.
        viewer: the address of a viewer, for links to all other transcripts.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: a game is not installed, a metric failed, or the file cannot be written.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    results = findings(store, study, study_recipe(store, study), as_published=as_published)
    write_findings(results, out, sample=sample, viewer=viewer)


def games_played(evidence: Evidence) -> Iterator[ReportTable]:
    """The number of matches of each game, with its configurations and instances."""
    games = evidence.once(scores_by_game)
    if not games:
        raise NoData("no match of this study has started")
    statuses = dict.fromkeys(status for game in games.values() for status in game.statuses)
    rows = [
        {
            "game": name,
            "title": game_title(name),
            "pairings": game.pairings.height,
            "configurations": game.configurations,
            "instances": game.instances,
            "valid": 100 * game.answers["ok"] / game.answers["all"]
            if game.answers["all"] and not evidence.imported
            else None,
        }
        | {status.value: game.counts.get(status.value, 0) for status in statuses}
        for name, game in games.items()
    ]
    valid = [] if evidence.imported else [Header("valid", "Valid at first try", "% of answers", 1)]
    columns = [
        Header("title", "Game"),
        *counts("matches", **{status.value: capital(status.value) for status in statuses}),
        *counts(pairings="Pairings", configurations="Configurations", instances="Instances"),
        *valid,
    ]
    yield ReportTable.of(
        "games",
        "Games",
        rows,
        columns,
        leads=lambda row: Lead(row["game"], {}),
        cells=lambda row, key: Lead(row["game"], {"status": key} if key in set(Status) else {}),
    )


GAMES = RecipePart("Overview", "", games_played, design=True)
