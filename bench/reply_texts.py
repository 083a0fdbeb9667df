"""Ways to write an answer, and texts around answers, from which replies are composed.

Placeholders: ``{form}`` is the answer, ``{other}`` a different legal answer, and ``{name}`` the
name of the answer's first field.
"""

import json
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeAlias

Fields: TypeAlias = Mapping[str, Any]
"""The fields of an action that are set."""
Writer: TypeAlias = Callable[[Fields], str]

MESSAGES = (
    "Let's settle this now; it is fair to both of us.",
    'You said "take it or leave it", so I did the sums again.',
    "A good deal: 40 for one, 60 for the other {roughly}.",
    "We both gain if we agree today\u2014don't you think?",
    "",
)
"""Messages of actions to which the random strategies give none."""


def numbers_as(convert: Callable[[float], str], fields: Fields) -> dict[str, Any]:
    """Return fields with all their numbers converted to texts."""

    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: change(part) for name, part in value.items()}
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return convert(value) if is_number else value

    return {name: change(value) for name, value in fields.items()}


def words_as(convert: Callable[[str], str], fields: Fields) -> dict[str, Any]:
    """Return fields with converted choices, which are texts of a single word."""
    return {
        name: convert(value) if isinstance(value, str) and value.isalpha() else value
        for name, value in fields.items()
    }


def compact(fields: Fields) -> str:
    """Return fields as JSON on one line."""
    return json.dumps(fields, ensure_ascii=False)


def pretty(fields: Fields) -> str:
    """Return fields as indented JSON."""
    return json.dumps(fields, ensure_ascii=False, indent=2)


def plain_number(value: float) -> str:
    """Return a number without an exponent or a superfluous fraction."""
    return str(int(value)) if value == int(value) else repr(value)


def grouped(value: float) -> str:
    """Return a number with thousands separators."""
    return f"{int(value):,}" if value == int(value) else f"{value:,}"


def commented(fields: Fields) -> str:
    """Return indented JSON with a comment after the first field."""
    line = "// see the reasons above\n"
    text = pretty(fields)
    return (
        text.replace(",\n", f", {line}", 1)
        if len(fields) > 1
        else text.replace("\n}", f" {line}}}")
    )


def curly(fields: Fields) -> str:
    """Return JSON with curly quotation marks."""
    return re.sub(r'"((?:\\.|[^"\\])*)"', "\u201c\\1\u201d", compact(fields))


def python(fields: Fields) -> str:
    """Return fields as a Python dictionary."""
    return repr(dict(fields))


UNITS = {"tokens_contributed": "tokens", "books": "books", "hats": "hats", "balls": "balls"}
"""The units of numbers by field."""


def with_units(fields: Fields) -> str:
    """Return JSON with units behind the numbers."""
    return compact({k: f"{v} {UNITS[k]}" if k in UNITS else v for k, v in fields.items()})


STRICT: dict[str, Writer] = {
    "one line": compact,
    "indented": pretty,
    "without spaces": lambda fields: json.dumps(fields, separators=(",", ":")),
    "ASCII only": lambda fields: json.dumps(fields),
    "reasoning first": lambda fields: compact({"reasoning": "It pays {most}.", **fields}),
    "confidence last": lambda fields: compact({**fields, "confidence": 0.9}),
    "choice in capitals": lambda fields: compact(words_as(str.upper, fields)),
    "choice capitalised": lambda fields: compact(words_as(str.capitalize, fields)),
    "number as text": lambda fields: compact(numbers_as(plain_number, fields)),
    "thousands separators": lambda fields: compact(numbers_as(grouped, fields)),
    "field names capitalised": lambda fields: compact({k.capitalize(): fields[k] for k in fields}),
}
"""Ways to write an answer as valid JSON."""
LOOSE: dict[str, Writer] = {
    "trailing comma": lambda fields: re.sub(r"\}$", ",}", compact(fields)),
    "trailing comma, indented": lambda fields: re.sub(r"\n\}$", ",\n}", pretty(fields)),
    "comment": commented,
    "curly quotation marks": curly,
    "Python dictionary": python,
    "unquoted names": lambda fields: re.sub(r'"(\w+)": ', r"\1: ", compact(fields)),
}
"""Ways to write an answer that resemble JSON and have only one meaning."""
DOLLARS: dict[str, Writer] = {
    "dollar sign": lambda fields: compact(numbers_as(lambda n: f"${grouped(n)}", fields)),
    "unquoted dollar sign": lambda fields: re.sub(
        r'"(\$[\d,.]+)"', r"\1", compact(numbers_as(lambda n: f"${grouped(n)}", fields))
    ),
    "dollars": lambda fields: compact(numbers_as(lambda n: f"{grouped(n)} dollars", fields)),
    "USD": lambda fields: compact(numbers_as(lambda n: f"{plain_number(n)} USD", fields)),
}
"""Ways to write amounts of dollars."""
WRONG_AMOUNTS: dict[str, Writer] = {
    "euros": lambda fields: compact(numbers_as(lambda n: f"\u20ac{plain_number(n)}", fields)),
    "pounds": lambda fields: compact(numbers_as(lambda n: f"{plain_number(n)} GBP", fields)),
    "range": lambda fields: compact(numbers_as(lambda n: f"{plain_number(n)}-{n + 10:g}", fields)),
    "range in words": lambda fields: compact(
        numbers_as(lambda n: f"between {plain_number(n)} and {n + 10:g}", fields)
    ),
    "approximate": lambda fields: compact(numbers_as(lambda n: f"about {plain_number(n)}", fields)),
    "at least": lambda fields: compact(numbers_as(lambda n: f">={plain_number(n)}", fields)),
    "thousands": lambda fields: compact(numbers_as(lambda n: f"{plain_number(n)}k", fields)),
    "percent": lambda fields: compact(numbers_as(lambda n: f"{plain_number(n)}%", fields)),
    "alternatives": lambda fields: compact(
        numbers_as(lambda n: f"{plain_number(n)} or {n + 1:g}", fields)
    ),
    "out of range": lambda fields: compact(numbers_as(lambda n: str(-1 - int(n)), fields)),
}
"""Ways to write numbers that are no answer."""

WRAPPINGS = (
    "{form}",
    "{form}",
    "{form}\n",
    "```json\n{form}\n```",
    "```\n{form}\n```",
    "```JSON\n{form}\n```",
    "**{form}**",
    "`{form}`",
    "<answer>{form}</answer>",
    "<answer>\n{form}\n</answer>",
    '<answer type="json">\n{form}\n</answer>',
    '<response format="json" id="1">{form}</response>',
)
LEADS = (
    "Here is my answer:",
    "My answer:",
    "**Answer:**",
    "Final answer:",
    "### Final answer",
    "**My decision**:",
    "Sure! Here is the JSON object:",
    "Here's my response in JSON format:",
    "Based on this analysis, my answer is:",
    "So my final move is:",
    "After considering everything, here is my choice:",
    "Given these numbers, I will go with the following answer:",
    "I have thought about it carefully. My answer is as follows:",
    "Therefore, my answer is:",
    "Decision:",
    "**Final Answer**:",
    "Answer (JSON):",
    "JSON:",
    "Here you go:",
    "I respond with:",
    "Therefore, I choose:",
    "I've decided on the following:",
    "With that in mind, here's what I'll do:",
    "Taking all of this into account, here is my decision:",
    "The JSON response is:",
    "My answer in the requested format:",
    "Alright, here's my answer:",
    "I'll answer with:",
    "The move I settle on:",
    "I'm going with this:",
    "Final JSON:",
    "My reply to this turn:",
    "Here is what I propose:",
    "**Final response**",
    "Thus, I submit:",
    "This is my answer:",
    "In conclusion, my choice is:",
    "Below is my decision in JSON:",
    "Okay, final answer:",
    "Let me state my decision clearly:",
    "My output:",
    "Answer below:",
    "My offer is below:",
    "I would like to submit the following answer:",
    "Here's the final JSON answer:",
    "Response:",
    "So, here is my plan for this round:",
    "After weighing all factors, I select:",
    "Decision for round 3:",
    "Here is my answer in valid JSON:",
    "Ok. My choice:",
    "I have made my decision:",
    "The answer I give is:",
    "Based on the above, the best move is:",
    "Final decision:",
    "Output:",
)
"""Announcements of an answer."""
REASONS = (
    "The other side gains from a quick agreement, and so do I.",
    "Waiting costs both of us, because the pie shrinks every round.",
    "Let me think step by step.\n\n1. My opponent moved last time.\n2. A mean choice is safest.",
    "**Analysis**\n- The stakes are moderate.\n- The risk is small.\n",
    "My expected gain is 0.5 * 80 = 40. The alternative is worth about 35, so it is worse.",
    "A player who asks for too much risks everything. The middle way is better.",
    "In the last round, the outcome was close to what theory predicts.",
    "If I were too greedy, the other player might walk away. That would hurt us both.",
    "I think the best strategy is to aim for the middle.",
    "My goal is to maximize my payoff over all rounds, so I want to be careful here.",
    "Okay, so this is the first round and I don't know much about the others yet.",
    "To decide, I compare two things: what I get now, and what I can expect later.",
    "Patience could pay. On the other hand, time is short. Overall, certainty is worth more to me.",
    "Since nobody knows what comes next, a cautious approach is wise.",
    "We have plenty of rounds, so I can afford to be bold now.",
    "Game theory suggests that the equilibrium is close to zero.",
    "Considering fairness and efficiency, I lean to a compromise.",
    "1) Look ahead. 2) Reason back. 3) Pick the best option.",
    "The expected value of waiting is 12.5, which is less than what I get today.",
    "They seem cooperative, which makes me optimistic.",
    "My previous choices worked out well.",
    "Everyone benefits if the group cooperates.",
    "Let's analyze this. There are two choices. The first is safe and the second is risky.",
    "I need to balance my own profit with fairness.",
    "Past rounds show an average near 20, thus the target is near 13.",
    "#### Thoughts\nThe value of the item to me is moderate.",
    "My valuation is high, so I can bid boldly and still earn a profit.",
    "It is better to secure something than to get nothing at all.",
    "We know the discount is 10% per round.",
)
"""Reasoning before an answer, which does not state another one."""
THOUGHTS = (
    "<think>\nHmm, maybe {other}? No, that is worse.\n</think>\n\n",
    "<thinking>Other options exist, but this one dominates.</thinking>\n",
    "[THINK]Let me see: {other} would be wrong.[/THINK]",
)
AFTERWORDS = (
    "This maximises my expected payoff given what I know.",
    "This is a balanced choice that protects me against losses.",
    "I chose this because it gives both of us a fair share of the gains.",
    "**Explanation:** The numbers favour a moderate choice.",
    "Reasoning: the expected value is higher than that of the alternatives.",
    "Thank you for the game.",
    "Let me know if you need anything else!",
    "I believe this is the best choice in this situation.",
    "Both of us are better off with this than without an agreement.",
    "With this, I keep a good balance between risk and reward.",
    "Good luck to everyone!",
    "I think this gives me the best chance.",
    "*Note: this keeps some reserve for later rounds.*",
    "Rationale: small risks, good reward.",
    "Looking forward to the next round!",
    "My reasoning is that quick agreements save time.",
    "This choice balances risk and reward.",
    "By doing so, I maximize my long-term gain.",
    "I picked this to keep my options safe.",
    "Justification: it is the dominant strategy.",
    "Best regards",
    "This is a strong move because it secures a profit.",
)

DOUBTFUL = {
    "contradiction": (
        "{form}\n{other}",
        "{form}\n\nor\n\n{other}",
        "```json\n{form}\n```\n```json\n{other}\n```",
        "My answer: {form}\n\nOn reflection, my answer is:\n{other}",
        "[{form}, {other}]",
        "{form}\n\nCorrection:\n{other}",
        "Option A:\n{form}\nOption B:\n{other}",
        "First {form}, then {other}",
        "{form}\n---\n{other}",
        "{form}\n\nEdit: {other}",
        "{form} / {other}",
        "1. {form}\n2. {other}",
        "{form}\nAlternatively:\n{other}",
    ),
    "hedge": (
        "Maybe {form}",
        "I am not sure yet. Perhaps:\n{form}",
        "I might answer:\n{form}",
        "One possibility is:\n{form}",
        "{form}\n\nBut I am not certain about this.",
        "{form}\n\nI could still change this.",
        "I am leaning towards this one:\n{form}",
        "Possibly {form}",
        "It could be that the best answer is:\n{form}",
        "Let's say\n{form}\nfor now, I'll decide later.",
        "{form}\n\nHowever, I have doubts.",
        "{form} (not final)",
        "A tentative answer:\n{form}",
        "My gut feeling says\n{form}\nbut who knows.",
        "Leaning towards:\n{form}",
        "{form}\n\nI am still thinking about it.",
        "Could be {form}",
        "Something like:\n{form}",
        "{form}\n\nTo be confirmed.",
    ),
    "question": (
        "Should I answer {form}?",
        "Is this the right answer?\n{form}",
        "{form}\n\nDoes that sound right?",
        "{form}\nWhat do you think?",
        "Would you agree to\n{form}\n?",
        "Could I reply with {form}",
        "What about this?\n{form}",
        "{form}\n\nOr is there something better?",
        "How would you react to:\n{form}",
        "{form}?",
        "Is {form} allowed?",
        "{form}\n\nOk?",
        "Which is better, {form} or something else?",
    ),
    "negation": (
        "I would not answer {form}",
        "I would never answer:\n{form}",
        "This is not my answer:\n{form}",
        "{form}\n\nThis is not my answer.",
        "{form}\n\nI won't do that.",
        "{form}\n\nI am against this.",
        "{form}\n\nThis option costs too much, so I skip it.",
        "I refuse to give this answer:\n{form}",
        "Anything except:\n{form}",
        "It would be foolish to answer:\n{form}",
        "There is no way I say\n{form}",
        "{form}\n\nNever!",
        "By no means:\n{form}",
        "Do not read this as my answer:\n{form}",
        "{form}\nis what I reject.",
        "I do not choose:\n{form}",
        "Nobody should answer:\n{form}",
        "{form}\n\nThat would be stupid.",
        "Under no circumstances:\n{form}",
        "{form}\n\nI disagree with this.",
        "The wrong answer is:\n{form}",
    ),
    "quotation": (
        'The other player said: "{form}"',
        "Bob's last answer was:\n{form}",
        "My opponent offered\n{form}",
        "> {form}\n\nI have to reply to this.",
        "The other player wrote:\n```json\n{form}\n```\nI have to think about that.",
        "You asked for something like {form} from me.",
        "In the previous round I answered:\n{form}",
        "{form}\n\nThis was the proposal of the other player.",
        "{form}\n\nThis was a fair offer by the seller.",
        "The other player made an offer.\n{form}\nThis is a low offer for me.",
        "Bob has moved.\n\n{form}\n\nThis gives him more than half.",
        "Alice proposed the following:\n{form}",
        "According to the rules, one may write\n{form}",
        "As you wrote:\n{form}\nI chose this quote from your message.",
        "The log shows:\n{form}",
        "Their answer:\n{form}",
        "{form}\n- Bob",
        "The seller's offer is:\n{form}",
        "You want me to say:\n{form}",
        "{form}\n\nis what the other player sent.",
        "I received this message:\n{form}",
        "Player 2: {form}",
        "The last move was:\n{form}",
    ),
    "condition": (
        "If the other player were generous, I would answer:\n{form}",
        "{form}\n\nThis only holds if you agree to my terms.",
        "{form}\n\nI accept this with a better price.",
        "{form}\n\nI pay this in exchange for trust.",
        "Given a guarantee, my answer is:\n{form}",
        "Unless something changes:\n{form}",
        "{form}\n\nbut only when the other player does the same.",
        "Provided that everybody else does so too, my answer is:\n{form}",
        "Should you lower the price, I answer:\n{form}",
        "{form}\n\nDepends on what you do.",
        "As long as you are honest:\n{form}",
        "{form} in case you agree",
        "Once you accept, here is my answer:\n{form}",
        "When you agree to share, I answer:\n{form}",
        "{form}\n\nSubject to your approval.",
        "In case of peace:\n{form}",
        "{form}\n\nThis is valid only if Bob agrees.",
        "Only after your promise:\n{form}",
    ),
    "draft": (
        "For example:\n{form}",
        "The format is:\n{form}",
        "A template:\n```json\n{form}\n```\nI will fill it in later.",
        "Draft:\n{form}",
        "{form}\n\nThis is only an example.",
        "Sample output:\n{form}",
        "{form}\n\n(placeholder)",
        "To show the syntax:\n{form}",
        "```json\n// template\n{form}\n```",
        "An answer could look like this:\n{form}",
        "Expected format:\n{form}",
        "{form}\n\nReplace the values as needed.",
        "My notes:\n{form}",
        "Schema example: {form}",
        "Test:\n{form}",
        "Suppose the answer were\n{form}",
    ),
    "program": (
        "answer = {form}\nprint(answer)",
        "```python\ndef answer():\n    return {form}\n```",
        "print({form})",
        "$ curl -d '{form}' localhost",
        "const x = {form};",
        "send({form});",
        "json.dumps({form})",
        "let reply = {form}\nreturn reply",
        "```python\nreply = {form}\n```",
        "return {form}",
        "x = {form}",
        "curl -X POST -d '{form}'",
        "submit({form})",
        '{"role": "user", "content": {form}}',
    ),
    "retraction": (
        "{form}\n\nWait, that is wrong.",
        "{form}\n\nActually, no.",
        "{form}\n\nSorry, I take that back.",
        "{form}\n\nScratch that, let me think again.",
        "{form}\n\nHmm, no.",
        "{form}\n\nOn second thought, something else is better.",
        "{form}\n\nForget that.",
        "{form}\n\nOops.",
        "{form}\n\nLet me redo this.",
        "{form}\n\nStrike that.",
        "{form}\n\nI have changed my mind.",
        "{form}\n\nNo, better not.",
        "{form}\n\nPlease disregard.",
        "{form}\n\nThat was a mistake.",
        "{form}\n\nI will reconsider.",
    ),
}
"""Texts that do not state plainly that ``{form}`` is the answer, by reason."""


CALL_LEADS = (
    "I'll submit my answer now.",
    "Let me answer with the tool.",
    "I will use the tool to submit my decision.",
    "Submitting my answer.",
    "Here is my answer:",
    "My choice is made.",
)
"""Texts beside a tool call."""
CALL_DOUBTS = {
    "hedge": ("I am not sure yet. Perhaps:", "One possibility is:", "Maybe this one?"),
    "negation": ("I would never answer:", "This is not my answer:"),
    "draft": ("For example:", "This only tests the tool:"),
    "quotation": ("My opponent offered", "Bob's last answer was:"),
    "condition": ("If the other player were generous, I would answer:",),
    "question": ("Is this the right answer?", "Should I answer this?"),
    "contradiction": ("My answer is {other}", "I answer:\n{other}"),
}
"""Texts beside a tool call that make it doubtful, by reason."""

TAGGED_LEADS = ("", "", "\n", "  ", "<think>One way is (9 books, 9 hats, 9 balls).</think>\n")
TAGGED: dict[str, str] = {
    "plain": "[propose] ({books} books, {hats} hats, {balls} balls)",
    "capitals": "[PROPOSE] ({books} Books, {hats} Hats, {balls} Balls)",
    "sentence": "[Propose] {books} books, {hats} hats and {balls} balls.",
    "first person": "[propose] I take {books} books, {hats} hats and {balls} balls.",
    "labels": "[propose] (books: {books}, hats: {hats}, balls: {balls})",
    "singular": "[propose] ({books} book, {hats} hat, {balls} ball)",
    "lines": "[propose]\n- {books} books\n- {hats} hats\n- {balls} balls",
    "bold": "[propose] **{books} books, {hats} hats, {balls} balls**",
    "times": "[propose] ({books} x books, {hats} x hats, {balls} x balls)",
    "afterword": "[propose] ({books} books, {hats} hats, {balls} balls)\nThis is what we agreed.",
    "no brackets": "[propose] {books} books, {hats} hats, {balls} balls",
}
"""Ways to write a proposal as tagged text."""
CLAIM = "{books} books, {hats} hats, {balls} balls"
TAGGED_DOUBTS = {
    "hedge": (f"[propose] maybe {CLAIM}", f"[propose] I am not sure, perhaps ({CLAIM})"),
    "question": (f"[propose] {CLAIM}?", f"[propose] ({CLAIM})\nIs that all right?"),
    "negation": (
        f"[propose] I would not take ({CLAIM})",
        f"[propose] never ({CLAIM})",
        f"[propose] ({CLAIM})\nNo, that is not my proposal.",
    ),
    "condition": (
        f"[propose] if you agree, {CLAIM}",
        f"[propose] ({CLAIM}) unless you want more",
        f"[propose] ({CLAIM})\nThis only holds if you agree.",
    ),
    "quotation": (f"[propose] you said you want {CLAIM}", f'[propose] You get "{CLAIM}"'),
    "contradiction": (
        f"[propose] ({CLAIM})\n[propose] (9 books, 9 hats, 9 balls)",
        f"[message] Hello.\n[propose] ({CLAIM})",
        f"[propose] ({CLAIM}) or (9 books, 9 hats, 9 balls)",
        f"[propose] ({CLAIM})\n[message] No, wait.",
    ),
    "retraction": (f"[propose] ({CLAIM})\nWait, that is wrong.",),
    "range": ("[propose] ({books}-9 books, {hats} hats, {balls} balls)",),
    "approximate": ("[propose] ({books}+ books, {hats} hats, {balls} balls)",),
    "out of range": ("[propose] (-1 books, {hats} hats, {balls} balls)",),
    "incomplete": ("[propose] ({books} books, {hats} hats", "[prop", "[propose]"),
    "without tag": ("{books} books, {hats} hats, {balls} balls", "Hello."),
}
"""Tagged texts that do not state a proposal plainly, by reason."""


def choose(random: Random, texts: tuple[str, ...], share: float) -> str:
    """Return one of the texts with a certain probability, else an empty text."""
    return random.choice(texts) if random.random() < share else ""
