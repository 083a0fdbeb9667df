"""How often what a study takes lies under its estimate: ``python -m bench.estimate_coverage``.

Plays studies (minutes) with simulated models, which differ in patience, in how much they write and
reason, in how often their answers are not legal and in how their servers count; sets the dollars
spent against the high end of the estimate before the run, and of that after the first replies.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import cheaptalk as ct
from cheaptalk.models import AnswerForm, ModelCall, Reply, Usage
from cheaptalk.models.prices import Price, Prices
from cheaptalk.models.usage import characters
from cheaptalk.studies.estimates.rehearsal import THOUGHTS
from cheaptalk.studies.estimates.usage_history import ENOUGH, usage_histories

STUDIES = 100
PRICES = Prices(
    {"bench": (Price(models=("script/*",), input=2.5, output=10, as_of=date(2026, 1, 1)),)}
)
THINKS = Prices(
    {
        "bench": (
            Price(models=("script/*",), input=2.5, output=10, reasons=True, as_of=date(2026, 1, 1)),
        )
    }
)


class Temper(NamedTuple):
    """How a simulated model writes: means of its own draws, in tokens, and their spread in logs.

    Attributes:
        aloud: tokens of thoughts in words, where a question asks for them or leaves room.
        message: characters of a message to others.
        hidden: tokens of reasoning that does not come back.
        spread: standard deviation of the logarithm of a length.
        illegal: share of replies that are no answer.
    """

    aloud: float
    message: float
    hidden: float
    spread: float
    illegal: float


TEMPERS = {
    "terse": Temper(40, 60, 0, 0.4, 0.01),
    "verbose": Temper(700, 500, 0, 0.5, 0.05),
    "reasoning": Temper(60, 200, 1_500, 0.8, 0.02),
    "heavy tail": Temper(250, 250, 0, 1.3, 0.03),
    "clumsy": Temper(150, 150, 0, 0.6, 0.2),
}
GAMES: list[dict[str, Any]] = [
    {"game": "bargaining", "fixed": {"horizon": 12, "messages": True}},
    {"game": "negotiation", "fixed": {"messages": True}},
    {"game": "deal_or_no_deal"},
    {"game": "item_bargaining", "fixed": {"quantities": [7, 4, 1], "rounds": 3}},
    {"game": "guess_the_average"},
    {"game": "persuasion", "fixed": {"horizon": 5}},
]
STYLES: list[dict[str, Any]] = [
    {},
    {"chain_of_thought": "step_by_step"},
    {"answers": "text"},
    {"chain_of_thought": "first", "past_answers": "verbatim"},
    {"history": "summary"},
]


@dataclass
class Simulated:
    """A model of some temper behind a server that counts so many characters to a token.

    What it plays is legal and random, but for the patience with which it holds out; its temper
    decides how much it writes around that.
    """

    temper: Temper
    draw: np.random.Generator
    stop_after: int | None = None
    calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.density = float(self.draw.uniform(3.4, 4.8))
        shift = self.draw.normal(0, 0.25, 3)  # one model differs from the next of its kind
        self.patience = float(self.draw.uniform(0, 1))
        self.means = np.exp(shift) * [self.temper.aloud, self.temper.message, self.temper.hidden]

    def hold_out(self, form: AnswerForm) -> str:
        """A legal answer, which accepts nothing and goes on talking where the model is patient."""
        text = form.example or "{}"
        if self.draw.random() > self.patience:
            return text
        talks = '"message"' in json.dumps(form.json_schema) and '"price"' not in text
        if talks and "books" in text:
            return '{"message":""}'
        return text.replace('"accept"', '"reject"')

    def length(self, mean: float) -> int:
        """A length with this mean."""
        spread = self.temper.spread
        return round(float(self.draw.lognormal(np.log(mean) - spread**2 / 2, spread)))

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.calls += 1
        aloud, message, hidden = self.means
        text = "x" * 900
        if call.form is not None:
            text = self.hold_out(call.form)
            words = f'"message":"{"w" * min(self.length(message), 4_000)}"'
            text = re.sub('"message":"[^"]*"', words, text)
            if '"reasoning":""' in text:
                thoughts = "x" * round(self.density * self.length(aloud))
                text = text.replace('"reasoning":""', f'"reasoning":"{thoughts}"')
            elif call.form.route == "text" or THOUGHTS.search(call.messages[-1].content):
                text = "x" * round(self.density * self.length(aloud)) + f"\n```json\n{text}\n```"
            if self.draw.random() < self.temper.illegal:
                text = text[: len(text) // 2].replace("{", "")
        secret = self.length(hidden) if hidden else 0
        said = round(len(text) / self.density)
        usage = Usage(
            input_tokens=round(characters(call) / self.density),
            output_tokens=said + secret,
            reasoning_tokens=secret,
        )
        return Reply(text=text, model="simulated", usage=usage, seconds=1.0)


class Outcome(NamedTuple):
    """What became of one study: dollars spent, as a share of the ends that were announced."""

    temper: str
    spent: float
    before: ct.studies.Range
    after: ct.studies.Range | None


def study(number: int, draw: np.random.Generator) -> ct.Study:
    """A study of some of the games in one of the styles."""
    chosen = draw.choice(len(GAMES), size=2, replace=False)
    style = STYLES[number // len(TEMPERS) % len(STYLES)]
    return ct.studies.parse_study(
        {
            "name": "simulated",
            "seed": number,
            "instances": 12,
            "games": [GAMES[place] for place in chosen],
            "players": {"model": {"model": "script/legal"} | style},
            "pairing": "self",
        },
        "simulated",
    )


def outcome(number: int) -> Outcome:
    """Play one study, and hold what it took against what was foretold."""
    draw = np.random.default_rng([7, number])
    name = [*TEMPERS][number % len(TEMPERS)]
    temper = TEMPERS[name]
    prices = THINKS if temper.hidden else PRICES
    planned = ct.plan(study(number, draw))
    before = ct.studies.estimate(planned, prices).total.dollars
    assert before is not None
    models = Simulated(temper, draw)
    with (
        tempfile.TemporaryDirectory() as folder,
        ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
    ):
        first = ct.studies.Cap(calls=3 * ENOUGH * len(planned.study.games))
        ct.run(planned, store, models=models, prices=prices, cap=first, concurrency=4)
        spent = ct.records.study_cost(store, "simulated").dollars
        known = store.statuses(match.id for match in planned.matches)
        settled = {id_ for id_, one in known.items() if one in ct.studies.SETTLED}
        answered = ct.records.answered(store)
        begun = {id_: seats for id_, seats in answered.items() if id_ not in settled}
        seen = usage_histories(store, "simulated", {"script/legal"})
        left = ct.studies.estimate(planned, prices, settled, begun, history=seen)
        rest = left.total.dollars
        ct.run(planned, store, models=models, prices=prices, concurrency=4)
        taken = ct.records.study_cost(store, "simulated").dollars
    after = None if rest is None or not left.matches else rest.plus(ct.studies.Range(spent, spent))
    return Outcome(name, taken, before, after)


def line(name: str, found: Iterable[tuple[float, ct.studies.Range]]) -> str:
    """How many of some amounts lie under the high end, and how far that is above them."""
    pairs = list(found)
    under = sum(spent <= range_.high for spent, range_ in pairs)
    over = sum(spent >= range_.low for spent, range_ in pairs)
    if not pairs:
        return f"{name}: none"
    ratio = median(range_.high / spent for spent, range_ in pairs)
    low = median(range_.low / spent for spent, range_ in pairs)
    return (
        f"{name}: {under} of {len(pairs)} at most the high end, {over} at least the low one; "
        f"high/spent {ratio:.1f}, low/spent {low:.2f} (medians)"
    )


def main(studies: int) -> None:
    """Print the coverage for each temper, and for all."""
    found = [outcome(number) for number in range(studies)]
    for name in [*TEMPERS, "all"]:
        ours = [one for one in found if name in (one.temper, "all")]
        print(line(f"{name}, before the run", [(one.spent, one.before) for one in ours]))
        after = [(one.spent, one.after) for one in ours if one.after is not None]
        print(line(f"{name}, after first replies", after), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
