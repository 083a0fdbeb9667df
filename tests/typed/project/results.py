"""Results: matches, transcripts, data frames, reports, judges, labels, metagames."""

import asyncio
from pathlib import Path

import polars as pl

import cheaptalk as ct


def find_matches(path: Path) -> dict[str, dict[str, float] | None]:
    with ct.Store.open(path) as store:
        matches = ct.records.find_matches(
            store,
            "mine",
            games=["bargaining"],
            seats={"alice": "fair"},
            states=["finished"],
            where=["payoff_alice>10"],
            sort="finished",
            reverse=True,
        )
        return {match.id: match.payoffs for match in matches}


def read_transcript(path: Path, match: str) -> list[str]:
    with ct.Store.open(path) as store:
        record = store.find(match)
        view: ct.records.SeatView = ct.records.seat_view(record, record.rules.actors[0].name)
        print(view.player, view.payoff, record.table().outcome)
        return [line.text for line in ct.records.transcript(record)]


def read_frames(path: Path) -> pl.DataFrame:
    all_ = ct.frames.read_matches(path, "mine")
    frame: pl.DataFrame = all_["bargaining"]
    fit = ct.statistics.ols(
        frame, "self_gain_alice", ["pairing"], reference={"pairing": "fair / firm"}
    )
    print(fit, list(all_))
    return frame


def write_report(path: Path, out: Path) -> dict[str, str]:
    with ct.Store.open(path) as store:
        report = ct.reports.findings(store, "mine", ct.reports.study_recipe(store, "mine"))
        ct.reports.write_findings(report, out / "report.html")
        tables: list[Path] = ct.reports.write_tables(report.tables, out)
        figures: list[Path] = ct.reports.write_figures(report.charts, out)
        change = ct.reports.compare(store, "mine", "other")
        ranks = ct.reports.leaderboard(store, ["mine", "other"], draws=100)
        print(tables, figures, ct.reports.RECIPES["glee"].title, change.lacking, ranks.tables)
        return dict(report.answers)


def write_metagame(path: Path, out: Path) -> list[str]:
    played = ct.reports.Played.of(path, "mine")
    analyses = [ct.equilibrium.analyse(game, draws=100) for game in played.games()]
    ct.reports.metagame_report("mine", analyses, out / "metagame.html", played=played)
    ct.equilibrium.write_payoffs(analyses[0].table, out / "game.nfg")
    table: ct.equilibrium.PayoffTable = ct.equilibrium.read_payoffs(out / "game.nfg")
    seats = ct.equilibrium.analyse_seats(played.games()[0], draws=100)
    print(seats, ct.equilibrium.bimatrix_equilibria(table.a, table.b).profiles[0].regrets)
    return list(table.rows)


async def run_judge(path: Path) -> ct.judges.Judging:
    judge = ct.judges.judge_of("hallucination", {"model": "openai/gpt-4o", "temperature": 0})
    print(ct.judges.estimate_judging(path, "mine", judge).amounts.line)
    ct.judge(path, "mine", judge, sample=5, budget=ct.studies.Cap(dollars=1))
    return await asyncio.wait_for(ct.judges.judge_async(path, "mine", judge), timeout=60)


def label_sheet(path: Path, sheet: Path) -> int:
    with ct.Store.open(path) as store:
        items: int = ct.judges.write_sheet(store, "mine", "promises", sheet, sample=10)
        taken: ct.judges.Labels = ct.judges.import_labels(store, "mine", "promises", sheet, by="me")
    verdicts: pl.DataFrame = ct.judges.verdict_frame(path, "mine")
    return items + taken.taken + verdicts.height
