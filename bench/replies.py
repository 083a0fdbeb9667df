"""Generated replies whose meaning is known, for all games and answer formats.

A reply states a legal answer, or must be refused because it does not plainly state one. Replies are
composed at random from ways to write an answer and texts around it (:mod:`.reply_texts`). Counted
are invented moves (any move read that differs from the meaning) and false refusals.

    python -m bench replies         # writes the rows of results.md
    python -m bench.replies text    # prints what is misread in a format: the cause and the reply
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import cheaptalk as ct
from bench import reply_texts as texts
from bench.rows import Row
from cheaptalk.models import AnswerForm, ModelCall, Reply
from cheaptalk.models.http import anthropic, openai
from cheaptalk.models.structured_output import offered
from cheaptalk.rules import Action, Ask, counted, games, strategies
from cheaptalk.styles import CODECS, Unparsable

REPLIES = 1_000
"""Replies per game and format."""


class Sample(NamedTuple):
    """A decision request with two different legal answers."""

    ask: Ask
    action: Action
    other: Action


class Case(NamedTuple):
    """A generated reply.

    Attributes:
        cause: how the reply states the answer, or why it does not.
        reply: the reply, as a client of a provider returns it.
        states: whether the reply states the sample's action.
    """

    cause: str
    reply: Reply
    states: bool


def samples(game: str, random: Random) -> Iterator[Sample]:
    """Yield open requests of matches between random players, with messages added to answers."""
    player = strategies(game)["random"]
    while True:
        match = ct.Match(ct.get_game(game).rules(), {}, seed=str(random.random()))
        while (request := match.request) is not None:
            chances = [request.chance.apart("draw", number) for number in range(9)]
            drawn = [player(request._replace(chance=chance)) for chance in chances]
            action, *others = [spoken(answer, random) for answer in drawn]
            if different := [other for other in others if other != action]:
                yield Sample(request.ask, action, different[0])
            match.step(drawn[0])


def spoken(action: Action, random: Random) -> Action:
    """Return an action with a message, if it has an empty one."""
    if getattr(action, "message", None) != "":
        return action
    return action.model_copy(update={"message": random.choice(texts.MESSAGES)})


def fields(action: Action) -> dict[str, Any]:
    """Return the fields of an action as JSON data, without unset ones."""
    return action.model_dump(mode="json", exclude_none=True)


def has_money(action: Action) -> bool:
    """Return whether an action contains amounts of dollars."""
    return any(field.annotation is float for field in type(action).model_fields.values())


def has_numbers(action: Action) -> bool:
    """Return whether an action contains numbers."""
    return texts.numbers_as(lambda _: "number", fields(action)) != fields(action)


def said(cause: str, text: str, *, states: bool = False, cut_off: bool = False) -> Case:
    """Return a reply that consists of text."""
    return Case(cause, Reply(text=text, finish="length" if cut_off else "stop"), states)


def text_cases(sample: Sample, random: Random) -> Iterator[Case]:
    """Yield replies on the text route: an answer among texts, or texts that make it doubtful."""
    data, other = fields(sample.action), texts.compact(fields(sample.other))
    writers = texts.STRICT | texts.LOOSE | (texts.DOLLARS if has_money(sample.action) else {})
    if texts.UNITS.keys() & data.keys():
        writers = writers | {"unit": texts.with_units}
    cause, writer = random.choice(list(writers.items()))
    yield said(cause, enclosed(writer(data), other, random), states=True)
    is_value = (
        len(type(sample.action).model_fields) == 1 and not {"message", "proposal"} & data.keys()
    )
    if is_value:
        wrapping = random.choice(("{form}", '"{form}"', "**{form}**", "{form}.", "`{form}`\n"))
        yield said("value only", filled(wrapping, str(*data.values())), states=True)
    cause, doubts = random.choice(list(texts.DOUBTFUL.items()))
    doubt = filled(random.choice(doubts), texts.compact(data), other)
    yield said(cause, "\n\n".join((texts.choose(random, texts.REASONS, 0.3), doubt)).strip())
    yield from faulty(sample, random)


def enclosed(form: str, other: str, random: Random) -> str:
    """Return an answer among texts that do not change its meaning."""
    wrapped = filled(random.choice(texts.WRAPPINGS), form)
    if random.random() < 0.1:
        wrapped += f"\n\nTo repeat, my final answer is:\n{form}"
    thought = filled(texts.choose(random, texts.THOUGHTS, 0.15), form, other)
    reasons = texts.choose(random, texts.REASONS, 0.4)
    lead = texts.choose(random, texts.LEADS, 0.5)
    afterword = texts.choose(random, texts.AFTERWORDS, 0.25)
    if lead and not lead.startswith("#") and not wrapped.startswith("```"):
        lead, wrapped = "", f"{lead}{random.choice((' ', chr(10), chr(10) * 2))}{wrapped}"
    return thought + "\n\n".join(part for part in (reasons, lead, wrapped, afterword) if part)


def faulty(sample: Sample, random: Random) -> Iterator[Case]:
    """Yield replies without an answer: wrong numbers, incomplete objects and empty replies."""
    form = texts.compact(fields(sample.action))
    if has_numbers(sample.action):
        cause, writer = random.choice(list(texts.WRONG_AMOUNTS.items()))
        yield said(cause, enclosed(writer(fields(sample.action)), form, random))
    start = texts.choose(random, texts.LEADS, 0.5) + "\n" + form[: random.randrange(1, len(form))]
    yield said("incomplete", start, cut_off=random.random() < 0.5)
    yield said("empty", random.choice(("", " \n", "...", "<think>Fine.</think>", "{}", "[]")))


def filled(text: str, form: str, other: str = "") -> str:
    """Replace the placeholders of a text."""
    return text.replace("{form}", form).replace("{other}", other)


def json_cases(sample: Sample, random: Random) -> Iterator[Case]:
    """Yield replies in a provider's JSON mode: objects with no text around them except fences."""
    cause, writer = random.choice(list(texts.STRICT.items()))
    form, other = writer(fields(sample.action)), texts.compact(fields(sample.other))
    is_wrapped = "anyOf" in sample.ask.schema and random.random() < 0.5
    thought = filled(texts.choose(random, texts.THOUGHTS, 0.1), form, other)
    stated = f'{{"answer": {form}}}' if is_wrapped else form
    wrapping = random.choice(("{form}", "{form}", "\n{form}\n", "```json\n{form}\n```"))
    yield said(cause, thought + filled(wrapping, stated), states=True)
    pairs = ["{form}{other}", "{form}\n{other}", "[{form}, {other}]"]
    pair = random.choice([*pairs, '{"answer": {form}, "answer": {other}}'][: 3 + is_wrapped])
    yield said("contradiction", filled(pair, form, other))
    yield from faulty(sample, random)


def tool_cases(sample: Sample, random: Random) -> Iterator[Case]:
    """Yield replies with tool calls, in the formats of OpenAI and Anthropic, with text beside."""
    name, provider = sample.ask.action.__name__, random.choice((openai_reply, anthropic_reply))
    cause, writer = random.choice(list(texts.STRICT.items()))
    form, other = writer(fields(sample.action)), texts.compact(fields(sample.other))
    lead = texts.choose(random, texts.CALL_LEADS, 0.5)
    beside = f"{texts.choose(random, texts.REASONS, 0.3)}\n\n{lead}".strip()
    yield Case(cause, provider(beside, [(name, form)] * random.choice((1, 1, 1, 2))), True)
    yield Case("contradiction", provider(beside, [(name, form), (name, other)]), False)
    yield Case("other tool", provider(beside, [("search", form)]), False)
    cause, doubts = random.choice(list(texts.CALL_DOUBTS.items()))
    doubt = filled(random.choice(doubts), form, other)
    yield Case(cause, provider(doubt, [(name, form)]), False)
    yield Case("no call", provider(beside, []), False)
    start = form[: random.randrange(1, len(form.rstrip("}\n")))]
    yield Case("incomplete", openai_reply(beside, [(name, start)]), False)


def openai_reply(text: str, calls: Sequence[tuple[str, str]]) -> Reply:
    """Return a reply with tool calls in OpenAI's format."""
    listed = [{"function": {"name": name, "arguments": data}} for name, data in calls]
    message = {"content": text or None, "tool_calls": listed}
    return openai.read({"choices": [{"message": message, "finish_reason": "tool_calls"}]})


def anthropic_reply(text: str, calls: Sequence[tuple[str, str]]) -> Reply:
    """Return a reply with tool calls in Anthropic's format."""
    blocks = [{"type": "text", "text": text}] if text else []
    uses = [{"type": "tool_use", "name": name, "input": json.loads(data)} for name, data in calls]
    return anthropic.read({"content": [*blocks, *uses], "stop_reason": "tool_use"})


def tagged_cases(sample: Sample, random: Random) -> Iterator[Case]:
    """Yield replies as tagged text; messages state an answer too."""
    values, lead = fields(sample.action), random.choice(texts.TAGGED_LEADS)
    if "message" in values:
        message = f"{lead}[message] {values['message']}"
        yield said("message", message, states=True)
        yield said("incomplete", message, cut_off=True)
        yield said("contradiction", f"{message}\n[message] No.")
        return
    cause, form = random.choice(list(texts.TAGGED.items()))
    yield said(cause, lead + form.format(**values), states=True)
    for cause, doubts in texts.TAGGED_DOUBTS.items():
        yield said(cause, random.choice(doubts).format(**values))


CASES = {"text": text_cases, "json": json_cases, "tool": tool_cases, "tagged": tagged_cases}
"""Generators of replies by answer format: the routes ``text``, ``schema`` and ``tool``, and the
codec ``tagged``."""


def read(case: Case, sample: Sample, form: str) -> Action | None:
    """Return the action that is read from a reply; None if the reply is refused."""
    route = {"json": "schema", "tool": "tool"}.get(form, "text")
    answer = AnswerForm(name=sample.ask.action.__name__, json_schema=sample.ask.schema)
    call = ModelCall(model="script/legal", messages=(), form=answer)
    reply = offered(case.reply.model_copy(update={"route": route}), call)
    try:
        codec = CODECS["tagged" if form == "tagged" else "json"]
        return codec.read(reply.text or "", sample.ask, cut_off=reply.truncated)
    except Unparsable:
        return None


class Count(NamedTuple):
    """The replies of a game or a format, and the replies of these that were misread.

    Attributes:
        stated: replies that state an answer.
        doubtful: replies that must be refused.
        refused: causes and texts of refused replies that state an answer.
        invented: causes and texts of replies from which a wrong action was read.
    """

    stated: int
    doubtful: int
    refused: list[tuple[str, str]]
    invented: list[tuple[str, str]]

    def __add__(self, other: "Count") -> "Count":  # type: ignore[override]
        stated, doubtful = self.stated + other.stated, self.doubtful + other.doubtful
        return Count(stated, doubtful, self.refused + other.refused, self.invented + other.invented)


def count(game: str, form: str) -> Count:
    """Read generated replies of a game and a format."""
    random = Random(f"{game} {form}")  # noqa: S311 - no secret
    total = Count(0, 0, [], [])
    for sample in samples(game, random):
        for case in CASES[form](sample, random):
            action, label = (
                read(case, sample, form),
                (f"{game}: {case.cause}", case.reply.text or ""),
            )
            is_wrong = action is not None and not (case.states and action == sample.action)
            lists = [label] * (case.states and action is None), [label] * is_wrong
            total += Count(int(case.states), int(not case.states), *lists)
        if total.stated + total.doubtful >= REPLIES:
            break
    return total


def games_of(form: str) -> Sequence[str]:
    """Return the games with an answer format."""
    return ["deal_or_no_deal"] if form == "tagged" else list(games())


def rows() -> Iterator[Row]:
    """Count invented moves and false refusals per answer format, over all its games."""
    for form in CASES:
        counts = {game: count(game, form) for game in games_of(form)}
        total = sum(counts.values(), start=Count(0, 0, [], []))
        shares = {game: len(part.refused) / part.stated for game, part in counts.items()}
        worst = max(shares, key=lambda game: shares[game])
        note = f"{total.stated + total.doubtful:,} replies in {counted(len(counts), 'game')}"
        yield Row(f"{form}: invented moves", len(total.invented), "", ("<=", 0), note)
        note = f"{total.stated:,} answers"
        if shares[worst]:
            note += f"; worst game: {worst}, {shares[worst]:.1%}"
        share = 100 * len(total.refused) / total.stated
        yield Row(f"{form}: false refusals", share, "%", ("<=", 2), note)


if __name__ == "__main__":
    for form_name in sys.argv[1:]:
        both = sum((count(game, form_name) for game in games_of(form_name)), Count(0, 0, [], []))
        for title, labels in (("INVENTED", both.invented), ("REFUSED", both.refused)):
            causes = Counter(cause for cause, _ in labels)
            print(form_name, title, len(labels), causes.most_common())
            for cause, reply in labels:
                print(f"--- {title} {cause}\n{reply}")
