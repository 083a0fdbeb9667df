"""A match of every game for its page, played by the study ``sample-matches.yaml``."""

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
    """The match of each game, by the game's name."""
    study = ct.load_study(STUDY)
    with (
        TemporaryDirectory() as folder,
        ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
    ):
        ct.run(study, store)
        return {record.game: record for record in store.records(study.name, bodies=True)}


def match_section(record: ct.MatchRecord) -> Iterator[str]:
    """A match as all seats lived through it: who sat where, what they read, what they answered."""
    fixed = next(part.fixed for part in ct.load_study(STUDY).games if part.game == record.game)
    told = [f"{name}: {as_yaml(value)}" for name, value in fixed.items()]
    by = [f"{record.rules.called(place)} by `{record.label(place)}`" for place in record.seats]
    yield f"Played by strategies of the game: {', '.join(by)}."
    yield f"Parameters: {', '.join(f'`{one}`' for one in told) or 'the defaults'}."
    yield "It is of the study [sample-matches.yaml](../../sample-matches.yaml).\n"
    for scene in ct.records.gathered(ct.records.transcript(record)):
        yield f"<p class='who'>{html.escape(scene.head(len(record.seats)))}:</p>"
        yield f"<blockquote>{lines_of(scene.shown)}</blockquote>\n"
        for line in scene.lines:
            if line.answer is not None:
                yield f"**{line.name} answers** <code>{answer_of(line)}</code>\n"
    payoffs = record.payoffs or {}
    gained = [f"{record.rules.called(place)} {gain:,.6g}" for place, gain in payoffs.items()]
    yield f"**Payoffs:** {', '.join(gained)}.\n"


def lines_of(text: str) -> str:
    """A text in HTML, a paragraph for each of its own, its lines kept."""
    parts = (html.escape(part).replace("\n", "<br>") for part in text.split("\n\n"))
    return "".join(f"<p>{part}</p>" for part in parts)


def answer_of(line: ct.records.Line) -> str:
    """The fields of an answer that say something, in HTML."""
    said = {name: value for name, value in (line.answer or {}).items() if value is not None}
    plain = {name: of if isinstance(of, str) else as_yaml(of) for name, of in said.items()}
    return html.escape(", ".join(f"{name}: {of}" for name, of in plain.items()))
