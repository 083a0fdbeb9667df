"""Coverage of cost estimates: ``python -m bench.estimate_coverage [STUDIES]``.

The benchmark plays studies with simulated models, which takes several minutes. The models differ in
their willingness to agree, in the lengths of text and reasoning, in the share of invalid answers,
and in characters per token. The actual costs are compared with the estimate before the run and with
the estimate after the first replies.
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
REASONING_PRICES = Prices(
    {
        "bench": (
            Price(models=("script/*",), input=2.5, output=10, reasons=True, as_of=date(2026, 1, 1)),
        )
    }
)


class Temper(NamedTuple):
    """Output lengths and reliability of a kind of simulated model.

    Attributes:
        aloud: the mean number of tokens of visible reasoning, if the prompt asks or allows it.
        message: the mean number of characters of a message to other players.
        hidden: the mean number of tokens of hidden reasoning.
        spread: the standard deviation of the logarithm of a length.
        illegal: the share of replies without a valid answer.
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
    """A simulated model and its server, with random characters per token.

    Its actions are legal and random, except that it refuses offers with a random probability. Its
    temper determines how much it writes.
    """

    temper: Temper
    draw: np.random.Generator
    stop_after: int | None = None
    calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.density = float(self.draw.uniform(3.4, 4.8))
        shift = self.draw.normal(0, 0.25, 3)  # varies between models of the same kind
        self.patience = float(self.draw.uniform(0, 1))
        self.means = np.exp(shift) * [self.temper.aloud, self.temper.message, self.temper.hidden]

    def hold_out(self, form: AnswerForm) -> str:
        """Return a legal answer; a patient model's answer rejects the offer and keeps talking."""
        text = form.example or "{}"
        if self.draw.random() > self.patience:
            return text
        talks = '"message"' in json.dumps(form.json_schema) and '"price"' not in text
        if talks and "books" in text:
            return '{"message":""}'
        return text.replace('"accept"', '"reject"')

    def length(self, mean: float) -> int:
        """Draw a length from a lognormal distribution with this mean."""
        spread = self.temper.spread
        return round(float(self.draw.lognormal(np.log(mean) - spread**2 / 2, spread)))

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.calls += 1
        aloud, message, hidden = self.means
        text = "x" * 900
        if call.form is not None:
            text = self.hold_out(call.form)
            field = f'"message":"{"w" * min(self.length(message), 4_000)}"'
            text = re.sub('"message":"[^"]*"', field, text)
            if '"reasoning":""' in text:
                thoughts = "x" * round(self.density * self.length(aloud))
                text = text.replace('"reasoning":""', f'"reasoning":"{thoughts}"')
            elif call.form.route == "text" or THOUGHTS.search(call.messages[-1].content):
                text = "x" * round(self.density * self.length(aloud)) + f"\n```json\n{text}\n```"
            if self.draw.random() < self.temper.illegal:
                text = text[: len(text) // 2].replace("{", "")
        reasoning = self.length(hidden) if hidden else 0
        visible = round(len(text) / self.density)
        usage = Usage(
            input_tokens=round(characters(call) / self.density),
            output_tokens=visible + reasoning,
            reasoning_tokens=reasoning,
        )
        return Reply(text=text, model="simulated", usage=usage, seconds=1.0)


class Outcome(NamedTuple):
    """A study's cost and its estimates, in dollars.

    Attributes:
        temper: the name of the model's temper.
        spent: the total cost.
        before: the estimate before the run.
        after: the estimate after the first replies; None if no match was left.
    """

    temper: str
    spent: float
    before: ct.studies.Range
    after: ct.studies.Range | None


def study(number: int, draw: np.random.Generator) -> ct.Study:
    """Return a study of two random games with one of the prompt styles."""
    chosen = draw.choice(len(GAMES), size=2, replace=False)
    style = STYLES[number // len(TEMPERS) % len(STYLES)]
    return ct.studies.parse_study(
        {
            "name": "simulated",
            "seed": number,
            "instances": 12,
            "games": [GAMES[index] for index in chosen],
            "players": {"model": {"model": "script/legal"} | style},
            "pairing": "self",
        },
        "simulated",
    )


def outcome(number: int) -> Outcome:
    """Play a study, and return its cost and its estimates."""
    draw = np.random.default_rng([7, number])
    name = [*TEMPERS][number % len(TEMPERS)]
    temper = TEMPERS[name]
    prices = REASONING_PRICES if temper.hidden else PRICES
    planned = ct.plan(study(number, draw))
    before = ct.studies.estimate(planned, prices).total.dollars
    assert before is not None
    models = Simulated(temper, draw)
    with (
        tempfile.TemporaryDirectory() as folder,
        ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
    ):
        cap = ct.studies.Cap(calls=3 * ENOUGH * len(planned.study.games))
        ct.run(planned, store, models=models, prices=prices, cap=cap, concurrency=4)
        spent = ct.records.study_cost(store, "simulated").dollars
        statuses = store.statuses(match.id for match in planned.matches)
        settled = {id_ for id_, status in statuses.items() if status in ct.studies.SETTLED}
        answered = ct.records.reused_costs(store)
        begun = {id_: seats for id_, seats in answered.items() if id_ not in settled}
        history = usage_histories(store, "simulated", {"script/legal"})
        remaining = ct.studies.estimate(planned, prices, settled, begun, history=history)
        rest = remaining.total.dollars
        ct.run(planned, store, models=models, prices=prices, concurrency=4)
        total = ct.records.study_cost(store, "simulated").dollars
    after = (
        None if rest is None or not remaining.matches else rest.plus(ct.studies.Range(spent, spent))
    )
    return Outcome(name, total, before, after)


def line(name: str, costs: Iterable[tuple[float, ct.studies.Range]]) -> str:
    """Describe how often costs lie within the ends of their estimates, and the median ratios."""
    pairs = list(costs)
    under = sum(spent <= range_.high for spent, range_ in pairs)
    over = sum(spent >= range_.low for spent, range_ in pairs)
    if not pairs:
        return f"{name}: none"
    ratio = median(range_.high / spent for spent, range_ in pairs)
    low = median(range_.low / spent for spent, range_ in pairs)
    return (
        f"{name}: {under} of {len(pairs)} at most the high end, {over} at least the low end; "
        f"high/spent {ratio:.1f}, low/spent {low:.2f} (medians)"
    )


def main(studies: int) -> None:
    """Print the coverage of the estimates for each temper and for all studies."""
    outcomes = [outcome(number) for number in range(studies)]
    for name in [*TEMPERS, "all"]:
        chosen = [study for study in outcomes if name in (study.temper, "all")]
        print(line(f"{name}, before the run", [(study.spent, study.before) for study in chosen]))
        after = [(study.spent, study.after) for study in chosen if study.after is not None]
        print(line(f"{name}, after the first replies", after), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
