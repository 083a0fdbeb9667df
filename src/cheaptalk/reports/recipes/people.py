"""The participants of a study: progress, assignment to treatments, and pay."""

import re
from collections.abc import Iterator

import polars as pl

from cheaptalk.frames import assignment
from cheaptalk.frames import people as frames
from cheaptalk.records.people.queries import currency_of, has_people
from cheaptalk.reports.charts.chart import Axis, Chart
from cheaptalk.reports.charts.kinds import bars, histogram
from cheaptalk.reports.recipes.designs import orders
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Answer, Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable, counts, estimate, texts
from cheaptalk.rules import counted, game_title
from cheaptalk.rules.bounds import COUNT
from cheaptalk.text import capital, fixed, plain

STAGES = {
    "came": "Arrived",
    "consented": "Gave consent",
    "code_word": "Gave the code word",
    "comprehension_first": "Passed comprehension at once",
    "comprehension": "Passed comprehension",
    "began": "Started a game",
    "finished": "Finished a game",
    "quiz": "Passed the quiz",
    "completed": "Completed",
}
"""Titles of the stages of :class:`.Funnel`."""
CHECKS = {
    "code_word": "Code word",
    "comprehension": "Comprehension",
    "quiz": "Quiz",
    "attention": "Attention checks",
}
KINDS = {"base": "Base pay", "bonus": "Bonus"}
UNDER_WAY = "in progress"
PERSON = ("participant",)


def with_people(evidence: Evidence) -> bool:
    """Return whether a study has participants."""
    return has_people(evidence.store, evidence.study)


def funnel(evidence: Evidence) -> frames.Funnel:
    """Return how far participants progressed; raise NoData if the study has none."""
    if not with_people(evidence):
        raise NoData("this study has no participants yet")
    return frames.funnel(evidence.store, evidence.study)


def participants(evidence: Evidence) -> Iterator[Shown]:
    """Show participants' progress by stage and step, how their visits ended, and their checks."""
    stages_by_people = evidence.once(funnel)
    stages = stages_by_people.stages.with_columns(
        title=pl.col("stage").replace(STAGES), share=100 * pl.col("share")
    )
    came, completed = stages["people"][0], stages["people"][-1]
    share = f"{fixed(stages['share'][-1], 0)} %"
    yield Answer(
        f"{counted(came, 'participant')} arrived, and {completed:,} ({share}) completed.",
        f"{completed:,} of {counted(came, 'participant')} completed",
    )
    by_stage = "Participants by stage"
    rows = enumerate(stages.select("title", "people", "share").iter_rows())
    lengths = [
        (row, 0.0, people, f"{title}: {people:,}, {fixed(part, 1)} % of arrivals")
        for row, (title, people, part) in rows
    ]
    axes = Axis("people", zero=True, integer=True), Axis(names=tuple(stages["title"]))
    chart = Chart(by_stage, "", [bars(lengths)], *axes)
    yield Charts("people-by-stage", by_stage, [chart])
    people, part = Header("people", "People", "", 0), Header("share", "Share", "% of all", 1)
    stage_columns = (*texts(title="Stage"), people, part)
    yield ReportTable("people-by-stage", by_stage, stages, stage_columns)
    steps = stages_by_people.steps.with_columns(
        title=pl.col("step").map_elements(_named, pl.String), share=100 * pl.col("share")
    )
    later = counts("people", answered="Answered", under_way="In progress", stopped="Dropped out")
    step_columns = (*texts(title="Step"), people, part, *later)
    yield ReportTable("people-by-step", "Participants by step", steps, step_columns)
    endings = stages_by_people.endings.with_columns(
        title=pl.col("ending").fill_null(UNDER_WAY).map_elements(_named, pl.String),
        share=100 * pl.col("share"),
    )
    ending_columns = (*texts(title="Ending"), people, part)
    yield ReportTable("people-by-ending", "Endings", endings, ending_columns)
    if stages_by_people.checks.height:
        yield checks_table(stages_by_people.checks)


def checks_table(checks: pl.DataFrame) -> ReportTable:
    """Return a table of the results of attention and comprehension checks."""
    frame = checks.with_columns(
        title=pl.col("check").replace(CHECKS), failing=100 * pl.col("failing")
    )
    columns = (
        *texts(title="Check"),
        *counts("people", answered="Answered", first="Passed at once", passed="Passed"),
        *counts("people", failed="Not passed"),
        Header("failing", "Not passed", "% of answered", 1),
    )
    return ReportTable("people-by-check", "Checks", frame, columns)


def spread(evidence: Evidence) -> Iterator[Shown]:
    """The balance of participants over treatments and their parameters."""
    balance = assignment.balance(evidence.store, evidence.study)
    if balance.treatments.is_empty():
        raise NoData("no participant has been assigned to a game yet")
    numbers = counts("people", assigned="Assigned", finished="Finished", dropped="Dropped out")
    test = balance.tests.row(0, named=True)
    if test["p"] is not None:
        p = Header("p", "p").number(test["p"], 3)
        uneven = test["p"] < 0.05
        verdict = "is significantly unbalanced" if uneven else "shows no significant imbalance"
        yield Answer(
            f"The assignment to {counted(test['cells'], 'treatment')} {verdict} "
            f"(largest difference {test['largest']:.0f}, p "
            f"{p if p.startswith('<') else f'= {p}'}).",
            f"{'unbalanced' if uneven else 'balanced'} assignment",
        )
    treatment, game, settings, of = texts(
        treatment="Treatment", title="Game", settings="Settings", of="Across"
    )
    first, second = (
        texts(parameter="Parameter", level="Level"),
        texts(other="And", other_level="Level"),
    )
    size, cells = counts(treatments="Treatments", cells="Cells")
    p_value = Header("p", "p", "of equal shares", 3)
    largest = Header("largest", "Largest difference", "people", 1)
    for name, title, frame, columns in (
        ("people-by-treatment", "Treatments", balance.treatments, (treatment, game, settings)),
        ("people-by-level", "Levels", balance.levels, (game, *first, size)),
        (
            "people-by-crossing",
            "Combinations of two parameters",
            balance.crossings,
            (game, *first, *second, size),
        ),
    ):
        if frame.height:
            yield ReportTable(name, title, _titled(frame), (*columns, *numbers))
    columns = (game, of, cells, Header("people", "People", "", 0), largest, p_value)
    yield ReportTable("balance", "Balance", _titled(balance.tests), columns)


def currency(evidence: Evidence) -> tuple[str, str]:
    """Return the unit of participants' pay in tables, such as ``EUR``, and its sign."""
    code = currency_of(evidence.store, evidence.study)
    return ("dollars", "$") if code == "USD" else (code, f"{code} ")


def pay(evidence: Evidence) -> pl.DataFrame:
    """Return each paid participant's ``base`` pay, ``bonus`` and ``all``, the sum of both."""
    payments = frames.read_payments(evidence.store, evidence.study).drop_nulls("participant")
    if payments.is_empty():
        raise NoData("no participant has been paid yet")
    return payments.group_by("participant", maintain_order=True).agg(
        (pl.col("cents").sum() / 100).alias("all"),
        *((pl.col("cents").filter(kind=kind).sum() / 100).alias(kind) for kind in KINDS),
    )


def paid(evidence: Evidence) -> Iterator[Shown]:
    """Show the base and bonus pay of all participants with any pay."""
    people = evidence.once(pay)
    payments = frames.read_payments(evidence.store, evidence.study)
    titles = {"all": "Total"} | KINDS
    everyone, bounds = people.with_columns(one=pl.lit("")), dict.fromkeys(titles, COUNT)
    mean_pay = means(everyone, list(titles), ["one"], cluster=PERSON, bounds=bounds)
    unit, sign = currency(evidence)
    yield _mean_pay(mean_pay, sign)
    chart = histogram("Pay per participant", people["all"].to_list(), f"pay, {unit}", "people")
    yield Charts("pay", "Pay per participant", [chart])
    rows = []
    for key, title in titles.items():
        selected = payments if key == "all" else payments.filter(kind=key)
        cents, own = selected["cents"], re.compile(rf"^{key}(?=$|\.)")
        row = {"title": title, "people": people.filter(pl.col(key) > 0).height}
        row |= {
            own.sub("mean", name): mean_pay[name][0] for name in mean_pay.columns if own.match(name)
        }
        paid_out = selected.filter("paid_out")["cents"]
        rows.append(row | {"total": cents.sum() / 100, "out": paid_out.sum() / 100})
    frame, units = pl.DataFrame(rows, infer_schema_length=None), ("person", "person")
    numbers = [
        Header(key, title, unit, 2)
        for key, title in {"mean": "Mean", "total": "Total", "out": "Paid out"}.items()
    ]
    columns = (*texts(title="Pay"), *counts(people="Recipients"), *numbers)
    yield ReportTable("pay", "Pay", frame, columns, counts=units)


def _mean_pay(mean_pay: pl.DataFrame, sign: str) -> Answer:
    mean = estimate(mean_pay.row(0, named=True), "all")
    paid, number = counted(mean.n or 0, "participant"), fixed(mean.value or 0.0, 2)
    return Answer(
        f"{paid} earned {sign}{number} on average{mean.within(2)}.",
        f"{sign}{number} each on average",
    )


def corrected(evidence: Evidence) -> Iterator[Shown]:
    """List the texts that were corrected while participants took part."""
    rows = frames.read_corrections(evidence.store, evidence.study)
    if rows.is_empty():
        raise NoData("no text has been corrected")
    versions = rows["version"].n_unique()
    yield Answer(
        f"{counted(versions, 'correction')} changed {counted(rows.height, 'text')} during the "
        "study; each response has the version of its texts.",
        f"{counted(versions, 'correction')} of texts",
    )
    made = pl.col("made_at").dt.strftime("%Y-%m-%d %H:%M")
    columns = texts(
        version="Version", made_at="Time (UTC)", text="Text", before="Before", after="After",
        reason="Reason",
    )  # fmt: skip
    frame = rows.with_columns(made, pl.col("version").cast(pl.String))
    yield ReportTable("corrections", "Corrected texts", frame, columns)


def people_part(evidence: Evidence) -> Iterator[Shown]:
    """Show participants' progress, their assignment to treatments, its order, and their pay.

    Shares are of all arrivals; shares of a check are of the participants who answered it. A
    participant passes a check by answering all of its questions correctly: comprehension at any
    try, a quiz after any game. Pending answers after a retry don't count as passed.

    A participant who was assigned to a treatment several times counts once in it. Participants
    dropped out if they neither finished a game in their treatment nor are still playing. p is from
    a chi-square test that participants are spread evenly over treatments; a level that occurs in
    twice as many treatments should have twice as many participants. The test assumes that
    participants are independent, so p is too small if they are assigned in groups. The largest
    difference is between two treatments, levels or combinations, in participants per treatment.

    In designs with several treatments per participant, 95 % intervals of payoffs by treatment and
    position have each matching group as one cluster or, without matching groups, each participant.
    The effects of treatment and position are estimated together, by ordinary least squares.

    95 % intervals of pay have each participant as one cluster. The pay of participants whose data
    were deleted counts only in the total.
    """
    for part in (participants, spread, orders, paid, corrected):
        try:
            yield from part(evidence)
        except NoData:
            continue


def _named(name: str) -> str:
    return capital(plain(name))


def _titled(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a column with the title of each row's game, or "all" for rows about all games."""
    return frame.with_columns(
        title=pl.col("game").map_elements(
            lambda name: game_title(name) if name else "all", pl.String
        )
    )
