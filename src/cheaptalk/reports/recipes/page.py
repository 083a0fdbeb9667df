"""Writing what a recipe found: one HTML file that needs nothing else."""

from pathlib import Path

import jinja2
from plotly.offline import get_plotlyjs

from cheaptalk.records.browsing import some
from cheaptalk.records.redeals import Standing
from cheaptalk.reports.facts import study_facts
from cheaptalk.reports.pages import PORT, anchor, environment, policy, source, verbatim
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import Findings
from cheaptalk.reports.report import SAVING, SCRIPT, written_whole
from cheaptalk.reports.samples import packed, sampled
from cheaptalk.reports.served import NOBODY
from cheaptalk.rules import Chance


def write_findings(found: Findings, out: Path, *, sample: int = 1, port: int = PORT) -> None:
    """Write a recipe's tables and figures as a page that works offline.

    The same store gives the same page. An existing file is replaced at the end, whole.

    Args:
        found: see :func:`.findings`.
        out: the file to write.
        sample: transcripts in the page, for each pairing and way of ending.
        port: where ``cheaptalk view`` will listen, for links to all other transcripts.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    evidence = found.evidence
    summary = evidence.store.study(evidence.study)
    pages = environment()
    plotly = verbatim(get_plotlyjs() if found.charts else "")
    scripts = (plotly, source(SCRIPT), source(SAVING))
    page = pages.get_template("recipe.html.jinja").stream(
        found=found,
        study=summary,
        facts=study_facts(evidence.store, summary, evidence.frames),
        ids={one.part.title: anchor(one.part.title).lower() for one in found.parts},
        NOBODY=NOBODY,
        sample=sample,
        transcripts=_transcripts(evidence, sample, pages),
        viewer=f"http://127.0.0.1:{port}",
        scripts=scripts,
        policy=policy(*scripts),
    )
    page.enable_buffering(100)
    with written_whole(out) as file:
        file.writelines(page)


def _transcripts(evidence: Evidence, sample: int, pages: jinja2.Environment) -> str:
    chosen = sampled(evidence.frames, sample, Chance(evidence.study))
    template = pages.get_template("match.html.jinja")
    records = some(evidence.store, evidence.study, chosen)
    return packed(records, template, Standing(evidence.store, evidence.study))
