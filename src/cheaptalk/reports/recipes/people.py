"""The people of a study: how far they came, how they were spread, and what they were paid."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from cheaptalk.frames import assignment, dropout
from cheaptalk.frames import people as frames
from cheaptalk.records.people.queries import currency_of, has_people
from cheaptalk.reports.charts.chart import Axis, Chart
from cheaptalk.reports.charts.kinds import bars, histogram
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Answer, Charts, Lacking, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable, estimate
from cheaptalk.rules import counted, game_title
from cheaptalk.rules.bounds import COUNT
from cheaptalk.text import capital, fixed, plain

STAGES = {
    "came": "Came", "consented": "Agreed to take part", "code_word": "Gave the code word",
    "comprehension_first": "Understood at the first try", "comprehension": "Understood at any try",
    "began": "Began a game", "finished": "Finished a game", "quiz": "Passed the quiz",
    "completed": "Completed",
}  # fmt: skip
"""What the stages of :class:`.Funnel` are called."""
CHECKS = {
    "code_word": "Code word", "comprehension": "Comprehension", "quiz": "Quiz",
    "attention": "Prompts",
}  # fmt: skip
KINDS = {"base": "Base pay", "bonus": "Bonus"}
UNDER_WAY = "under way"
PERSON = ("participant",)


def with_people(evidence: Evidence) -> bool:
    """Whether anybody takes part in a study."""
    return has_people(evidence.store, evidence.study)


def funnel(evidence: Evidence) -> dropout.Funnel:
    """How far the people of a study came; see :func:`.frames.dropout.funnel`.

    Raises:
        Lacking: nobody took part.
    """
    if not with_people(evidence):
        raise Lacking("nobody took part in this study yet")
    return dropout.funnel(evidence.store, evidence.study)


def participants(evidence: Evidence) -> Iterator[Shown]:
    """How many people came, how far they came on the path, how their visits ended, and who passed
    which check. All shares are of those who came, those of a check of those who answered it.

    A check counts as passed by those who have all of its questions right, comprehension at any
    try; a quiz, which follows a game, wherever they came to one. Who was asked again and has not
    answered yet has not passed.
    """
    found = evidence.once(funnel)
    stages = found.stages.with_columns(title=pl.col("stage").replace(STAGES), share=_percent())
    came, completed = stages["people"][0], stages["people"][-1]
    share = f"{fixed(stages['share'][-1], 0)} %"
    yield Answer(
        f"{counted(came, 'participant')} came, and {completed:,} ({share}) completed.",
        f"{completed:,} of {counted(came, 'participant')} completed",
    )
    rows = list(stages.select("title", "people", "share").iter_rows())
    lengths = [
        (row, 0.0, people, f"{title}: {people:,}, {fixed(part, 1)} % of those who came")
        for row, (title, people, part) in enumerate(rows)
    ]
    names = tuple(title for title, _, _ in rows)
    chart = Chart("How far people came", "", [bars(lengths)],
                  Axis("people", zero=True, whole=True), Axis(names=names))  # fmt: skip
    yield Charts("people-by-stage", "How far people came", [chart])
    people, part = Header("people", "People", "", 0), Header("share", "Share", "% of all", 1)
    yield ReportTable("people-by-stage", "How far people came", stages,
                      (Header("title", "Stage"), people, part))  # fmt: skip
    steps = found.steps.with_columns(title=pl.col("step").map_elements(_named, pl.String),
                                     share=_percent())  # fmt: skip
    yield ReportTable(
        "people-by-step", "Steps of the path", steps,
        (
            Header("title", "Step"), people, part, Header("answered", "Answered", "people", 0),
            Header("under_way", "There now", "people", 0),
            Header("stopped", "Stopped there", "people", 0),
        ),
    )  # fmt: skip
    endings = found.endings.with_columns(
        title=pl.col("ending").fill_null(UNDER_WAY).map_elements(_named, pl.String),
        share=_percent(),
    )
    yield ReportTable("people-by-ending", "How visits ended", endings,
                      (Header("title", "Ending"), people, part))  # fmt: skip
    if found.checks.height:
        yield checks_table(found.checks)


def checks_table(checks: pl.DataFrame) -> ReportTable:
    """The checks of people's attention; see :class:`.Funnel`."""
    frame = checks.with_columns(title=pl.col("check").replace(CHECKS), failing=_percent("failing"))
    return ReportTable(
        "people-by-check", "Checks", frame,
        (
            Header("title", "Check"), Header("answered", "Answered", "people", 0),
            Header("first", "Passed at first", "people", 0),
            Header("passed", "Passed", "people", 0),
            Header("failed", "Not passed", "people", 0),
            Header("failing", "Not passed", "% of answered", 1),
        ),
    )  # fmt: skip


def spread(evidence: Evidence) -> Iterator[Shown]:
    """How evenly people were spread over treatments, and over what these vary."""
    found = assignment.balance(evidence.store, evidence.study)
    if found.treatments.is_empty():
        raise Lacking("nobody was assigned to a game yet")
    numbers = (
        Header("assigned", "Assigned", "people", 0), Header("finished", "Finished", "people", 0),
        Header("dropped", "Dropped out", "people", 0),
    )  # fmt: skip
    whole = found.tests.row(0, named=True)
    if whole["p"] is not None:
        p = Header("p", "p").number(whole["p"], 3)
        uneven = "unevenly" if whole["p"] < 0.05 else "as evenly as chance has it"
        yield Answer(
            f"People were spread {uneven} over {counted(whole['cells'], 'treatment')} (largest "
            f"difference {whole['largest']:.0f}, p {p if p.startswith('<') else f'= {p}'}).",
            f"spread {uneven}",
        )
    game = Header("title", "Game")
    yield ReportTable("people-by-treatment", "Treatments", _titled(found.treatments),
                      (Header("treatment", "Treatment"), game, Header("settings", "Settings"),
                       *numbers))  # fmt: skip
    level, size = Header("level", "Level"), Header("treatments", "Treatments", "", 0)
    if found.levels.height:
        yield ReportTable(
            "people-by-level", "Levels", _titled(found.levels),
            (game, Header("parameter", "Parameter"), level, size, *numbers),
        )  # fmt: skip
    if found.crossings.height:
        yield ReportTable(
            "people-by-crossing", "Crossings of two parameters", _titled(found.crossings),
            (
                game, Header("parameter", "Parameter"), level, Header("other", "And"),
                Header("other_level", "Level"), size, *numbers,
            ),
        )  # fmt: skip
    yield ReportTable(
        "balance", "How even that is", _titled(found.tests),
        (
            game, Header("of", "Over"), Header("cells", "Cells", "", 0),
            Header("people", "People", "", 0),
            Header("largest", "Largest difference", "people", 1), Header("p", "p", "of even", 3),
        ),
    )  # fmt: skip


class Currency(NamedTuple):
    """In what people are paid.

    Attributes:
        unit: as tables have it, such as ``dollars`` or ``EUR``.
        sign: before an amount.
    """

    unit: str
    sign: str


def currency(evidence: Evidence) -> Currency:
    """In what the people of a study are paid."""
    code = currency_of(evidence.store, evidence.study)
    return Currency("dollars", "$") if code == "USD" else Currency(code, f"{code} ")


def pay(evidence: Evidence) -> pl.DataFrame:
    """What each person is paid: ``participant``, ``base``, ``bonus`` and ``all`` (both), in the
    study's currency. Who is paid nothing has no row.

    Raises:
        Lacking: nobody is paid.
    """
    found = frames.payments(evidence.store, evidence.study).drop_nulls("participant")
    if found.is_empty():
        raise Lacking("nobody who took part is paid yet")
    return found.group_by("participant", maintain_order=True).agg(
        (pl.col("cents").sum() / 100).alias("all"),
        *((pl.col("cents").filter(kind=kind).sum() / 100).alias(kind) for kind in KINDS),
    )


def paid(evidence: Evidence) -> Iterator[Shown]:
    """What people are paid, base and bonus, over all who are paid anything."""
    people = evidence.once(pay)
    every = frames.payments(evidence.store, evidence.study)
    told = {"all": "In all"} | KINDS
    whole = means(people.with_columns(one=pl.lit("")), list(told), ["one"], cluster=PERSON,
                  bounds=dict.fromkeys(told, COUNT))  # fmt: skip
    unit, sign = currency(evidence)
    yield _mean_pay(whole, sign)
    chart = histogram("Pay by person", people["all"].to_list(), f"pay, {unit}", "people")
    yield Charts("pay", "Pay by person", [chart])
    rows = []
    for key, title in told.items():
        own = every if key == "all" else every.filter(kind=key)
        cells = {name.replace(key, "mean", 1): whole[name][0] for name in whole.columns
                 if name == key or name.startswith(f"{key}.")}  # fmt: skip
        rows.append(
            {"title": title, "people": people.filter(pl.col(key) > 0).height}
            | cells
            | {"total": own["cents"].sum() / 100,
               "out": own.filter("paid_out")["cents"].sum() / 100}
        )  # fmt: skip
    yield ReportTable(
        "pay", "Pay", pl.DataFrame(rows, infer_schema_length=None),
        (
            Header("title", "Pay"), Header("people", "People with it", "", 0),
            Header("mean", "Mean", unit, 2), Header("total", "Total", unit, 2),
            Header("out", "Paid out", unit, 2),
        ),
        counts=("person", "person"),
    )  # fmt: skip


def _mean_pay(whole: pl.DataFrame, sign: str) -> Answer:
    mean = estimate(whole.row(0, named=True), "all")
    paid, number = counted(mean.n or 0, "participant"), fixed(mean.value or 0.0, 2)
    return Answer(
        f"{paid} earned {sign}{number} on average{mean.within(2)}.",
        f"{sign}{number} each on average",
    )


def people_part(evidence: Evidence) -> Iterator[Shown]:
    """The people who took part: how far they came, how they were spread over treatments, and what
    they are paid.

    Shares are of those who came, those of a check of those who answered it. A check is passed by
    those who have all of its questions right, comprehension at any try; a quiz, which follows a
    game, wherever they came to one. Who was asked again and has not answered yet has not passed.

    Who was assigned to a treatment several times counts once there. People drop out who neither
    finished a game there nor are under way. p is of a chi-square test that people are spread evenly
    over treatments, so that a level that twice as many treatments have is to have twice as many
    people. It takes people as independent; where they are assigned in groups it is too small. The
    largest difference is between two treatments, levels or crossings, in people for each treatment.

    Intervals of pay are at 95 %, with each person as one cluster. Pay of people whose data are
    deleted is in the total alone.
    """
    for part in (participants, spread, paid):
        try:
            yield from part(evidence)
        except Lacking:
            continue


def _percent(key: str = "share") -> pl.Expr:
    return 100 * pl.col(key)


def _named(name: str) -> str:
    return capital(plain(name))


def _titled(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with the game's name as people read it; none of a row about all games."""
    return frame.with_columns(
        title=pl.col("game").map_elements(lambda name: game_title(name) if name else "all",
                                          pl.String)
    )  # fmt: skip
