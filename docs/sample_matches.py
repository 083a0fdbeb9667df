"""Sample matches for the pages of the games, from the study ``sample-matches.yaml``."""

import html
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import cheaptalk as ct
from cheaptalk.yaml_files import as_yaml

STUDY = Path(__file__).parent / "sample-matches.yaml"


@cache
def sample_matches() -> dict[str, ct.MatchRecord]:
    """Return the match of each game, by the game's name."""
    study = ct.load_study(STUDY)
    with (
        TemporaryDirectory() as folder,
        ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
    ):
        ct.run(study, store)
        return {record.game: record for record in store.records(study.name, bodies=True)}


def match_section(record: ct.MatchRecord) -> Iterator[str]:
    """Yield a match with the observations and answers of all seats."""
    fixed = next(part.fixed for part in ct.load_study(STUDY).games if part.game == record.game)
    parameters = [f"`{name}: {as_yaml(value)}`" for name, value in fixed.items()]
    strategies = [f"`{record.label(seat)}` as {record.rules.called(seat)}" for seat in record.seats]
    yield f"Strategies: {', '.join(strategies)}."
    yield f"Parameters: {', '.join(parameters) or 'the defaults'}."
    yield "The match is from the study [sample-matches.yaml](../../sample-matches.yaml).\n"
    for scene in ct.records.gather_scenes(ct.records.transcript(record)):
        yield f"<p class='who'>{html.escape(scene.head(len(record.seats)))}:</p>"
        yield f"<blockquote>{lines_of(scene.shown)}</blockquote>\n"
        for line in scene.lines:
            if line.answer is not None:
                yield f"**{line.name} answers** <code>{answer_of(line)}</code>\n"
    payoffs = record.payoffs or {}
    amounts = [f"{record.rules.called(seat)} {payoff:,.6g}" for seat, payoff in payoffs.items()]
    yield f"**Payoffs:** {', '.join(amounts)}.\n"


def lines_of(text: str) -> str:
    """Convert a text to HTML, keeping its paragraphs and lines."""
    parts = (html.escape(part).replace("\n", "<br>") for part in text.split("\n\n"))
    return "".join(f"<p>{part}</p>" for part in parts)


def answer_of(line: ct.records.Line) -> str:
    """Return the fields of an answer that are not None, as HTML."""
    fields = {name: value for name, value in (line.answer or {}).items() if value is not None}
    texts = {
        name: value if isinstance(value, str) else as_yaml(value) for name, value in fields.items()
    }
    return html.escape(", ".join(f"{name}: {text}" for name, text in texts.items()))
