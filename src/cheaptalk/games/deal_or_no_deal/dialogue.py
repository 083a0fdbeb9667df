"""The state of a dialogue: the current offer, its acceptance, and inconsistencies.

An exact check compares messages and claims with the context. It detects three inconsistencies that
Liao, Tomlin and Klein (2024, figure 8) detect with a language model: impossible counts, false
statements of the speaker's values, and claims that break an agreement.

The check reads only plain sentences about the pool, or about items that a player takes, has, wants
or is offered: "there are 2 hats", "I take 2 hats", "2 hats for you". It ignores conditions,
negations, questions, quotations and reports of other games or people, because a wrongly parsed
claim could count as a false statement. Its rates are therefore lower bounds.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from cheaptalk.games.deal_or_no_deal.contexts import Context, Triple, rest
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS, MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.talk import (
    ALL,
    KIND,
    NUMBER,
    REMEMBERED,
    TAKE,
    accepts,
    kind_of,
    number_of,
    plain,
    read_offer,
    sentences,
    speaks_of_items,
)

QUOTATION = re.compile(r'["“”„«»][^"“”„«»]*["“”„«»]?')
"""A quotation; without a closing mark, the quotation ends with the message."""
SENTENCE = re.compile(r"(?:[^.!?]|\.(?=\d))+[.!?]*")
UNCERTAIN = "|".join(
    (
        # conditions, hypotheses and hedges
        r"if|given|unless|whether|when\w*|suppos\w+|imagin\w+|assum\w+|hypothe\w+|could|might|may|should",
        r"(?:would|'d)(?! (?:(?:really|just) )?(?:like|love|prefer)\b)|wish|hope|dream|example",
        r"maybe|perhaps|possibly|probably|think|thought|believe|guess|doubt|bet",
        # negations and comparisons; "no books" is a count
        rf"not?(?! {KIND}\b)|nor|never|none|neither|\w+n't|cannot|cant|dont|without|instead",
        r"rather|than|as (?:much|many|good|if|though)|equals?|like having",
        # reports
        r"said|says?|saying|told|tells?|claims|claimed|heard|wrote|writes|according|rumou?rs?",
        r"you (?:claim|want|need|think|ask|offer)\w*|rules?",
        # other times, other games and other people
        r"was|were|had|did|used to|last|previous\w*|earlier|before|ago|yesterday|tomorrow|next",
        r"later|once|usually|often|always|sometimes|normally|every|typical\w*|average|another|others?",
        r"elsewhere|home|shops?|stores?|some(?:one|body)|any(?:one|body)|every(?:one|body)|people",
        r"he|she|they|his|her|their|who|whose|which|partners?|friends?|opponents?",
        r"(?<!this )(?<!our )(?:games?|match(?:es)?|rounds?)",
    )
)
"""Words that a plain statement about this match does not contain."""
ELSEWHERE = (
    r"(?:^|[,;:] ?| and | but )(?:in|at|by|during|under|with|for|as|to)"
    r"(?! (?:this|return|exchange|the pool|our pool|me|you|us)\b) "
)
"""An adverbial phrase before a statement, such as "in my dreams, I have 3 hats"."""
UNREAD = re.compile(rf"[?\"]|(?<!\w)'|'(?!\w)|\b(?:{UNCERTAIN})\b|{ELSEWHERE}")
BREAK = re.compile(
    r"[,;:()]| [-\N{EN DASH}\N{EM DASH}] |\b(?:and|but|so|while|then|because|since|plus)\b"
)
"""A separator between the parts of a sentence."""
COUNT = rf"(?P<number>{NUMBER}) (?:more |of the )?(?P<kind>{KIND})"
ITEMS = rf"(?:(?:the |all |exactly |only |just )*{COUNT}|{ALL} {KIND})"
PADDING = r"(?:(?:hi|hello|hey|ok|okay|yes|well|sure|great|please|thanks|thank you|deal|agreed) )*"
WANT = rf"(?:(?:want|need)(?: to {TAKE})?|{TAKE}|accept)"
STATED = "|".join(
    (
        rf"(?:i|we)(?: both| each)?(?:'ll| will| can)? (?:just |really |only )?{WANT}",
        rf"(?:i|we)(?: would|'d) (?:just |really )?(?:like|love|prefer)(?: to {TAKE})?",
        r"(?:i|we)(?:'m| am|'re| are) (?:taking|keeping|asking for|dividing|splitting)",
        r"(?:i|we) (?:ask for|divide|share|split)",
        rf"(?:i propose|i suggest|my offer is)(?: that)?(?: i {TAKE}| you {TAKE})?",
        rf"you(?:'ll| will| can)? {TAKE}|let (?:me|you) {TAKE}|{TAKE}",
        r"i(?:'ll| will| can)? (?:give|leave|offer|let) you(?: take| have| keep)?",
        r"(?:give|leave) me",
        r"there(?: are|'re| is|'s)",
        r"(?:the|our|this) (?:pool|pile|table) (?:has|holds|contains|is|consists of)",
    )
)
"""The beginning of a plain statement, before the items."""
HERE = r"(?:on the table|in (?:the|our) pool|here|available|to (?:share|split|divide)|left)"
CLOSED = (
    r" (?:(?:are|is) )?(?:enough )?(?:to|for) (?:me|you|us)"
    rf"| (?:are|is) (?:{HERE}|mine|yours|enough)"
)
"""The end of a plain statement, after the items."""
AFTER = rf" (?:{HERE}|in (?:total|all|exchange|return|this game)|altogether|please|each|too)"
PART = re.compile(
    rf"{PADDING}(?:in this (?:game|match) )?(?P<stated>(?:{STATED}) )?{ITEMS}"
    rf"(?:(?P<closed>{CLOSED})|{AFTER})?"
)


@lru_cache(maxsize=REMEMBERED)
def stated_counts(message: str) -> tuple[tuple[str, int], ...]:
    """Return the numbers of items that a message plainly states, as pairs of noun and number.

    >>> stated_counts("I take 2 books and 1 hat. If I had 3 hats, I would give you one.")
    (('books', 2), ('hat', 1))
    """
    text = QUOTATION.sub('"', plain(message))
    return tuple(
        claim
        for sentence in SENTENCE.findall(text)
        if not UNREAD.search(sentence)
        for claim in _claims(sentence.rstrip(".!"))
    )


def _claims(sentence: str) -> Iterator[tuple[str, int]]:
    """Yield the items and counts that a sentence plainly states."""
    counts: list[tuple[str, int]] = []
    plainly = False
    phrases = [phrase.strip() for phrase in BREAK.split(sentence)]
    # in "a, and b", the phrase between the two separators is empty; a final "" ends the last list
    for phrase in (*filter(None, phrases), ""):
        match = PART.fullmatch(phrase)
        if match is None or match["stated"]:
            yield from counts if plainly else ()
            counts, plainly = [], False
        if match is None:
            continue
        plainly = plainly or bool(match["stated"] or match["closed"])
        if match["number"]:
            counts.append((match["kind"], number_of(match["number"])))


class Move(NamedTuple):
    """A player's action in its turn."""

    player: str
    action: MessageOrProposal | Proposal

    @property
    def message(self) -> str | None:
        return self.action.message if isinstance(self.action, MessageOrProposal) else None


class Standing(NamedTuple):
    """The last offered division (player 1's items), its proposer, and whether it was accepted.

    The division is None if no offer could be read, or if a later message about items could not.
    """

    division: Triple | None = None
    proposer: str | None = None
    agreed: bool = False

    def part(self, counts: Triple, player: str) -> Triple | None:
        """Return a player's part of the division."""
        return None if self.division is None else part(self.division, counts, player)


def part(division: Triple, counts: Triple, player: str) -> Triple:
    """Convert player 1's part of a division to a player's part, or vice versa."""
    return division if player == PLAYERS[0] else rest(counts, division)


def standing(counts: Triple, moves: Iterable[Move]) -> Standing:
    """Return the current offer after a sequence of moves.

    An offer is agreed if the partner plainly accepts it, until a player sends another message about
    items.
    """
    table = Standing()
    for move in moves:
        player, text = move.player, move.message
        if text is None:
            continue
        own_part = table.part(counts, player)
        if own_part is not None and player != table.proposer and accepts(text, counts, own_part):
            table = table._replace(agreed=True)
            continue
        claim = read_offer(text, counts)
        if claim is not None:
            repeated = table.agreed and claim == own_part
            table = table if repeated else Standing(part(claim, counts, player), player)
        elif speaks_of_items(text):
            table = Standing()
    return table


VALUED = re.compile(
    rf"\b({KIND}) (?:is|are) (?:each )?worth (?:only |just )?(?!an?\b)({NUMBER}|nothing)\b"
    r"(?![.,/-]\d| (?:or|to \d|more|less|times))"
)
FIRST_PERSON = re.compile(r"\b(?:to|for) me\b|\bmy\b")
SECOND_PERSON = re.compile(r"\b(?:you|your|if)\b")

Fault = Literal["impossible count", "false value", "broken agreement"]


class Inconsistency(NamedTuple):
    """An inconsistency in a player's message or proposal; turns are numbered from 1."""

    turn: int
    player: str
    fault: Fault


def inconsistencies(context: Context, moves: Sequence[Move]) -> Iterator[Inconsistency]:
    """Yield all inconsistencies of a game in order, each kind at most once per turn."""
    table = standing(context.counts, moves)
    for turn, move in enumerate(moves, start=1):
        values = context.values[PLAYERS.index(move.player)]
        if move.message is None:
            due = table.part(context.counts, move.player)
            if table.agreed and move.action.claim != due:
                yield Inconsistency(turn, move.player, "broken agreement")
            continue
        if names_too_many(move.message, context.counts):
            yield Inconsistency(turn, move.player, "impossible count")
        if misstates(move.message, context.counts, values):
            yield Inconsistency(turn, move.player, "false value")


def names_too_many(message: str, counts: Triple) -> bool:
    """Return whether a message plainly states more items of a kind than exist."""
    return any(number > counts[kind_of(noun)] for noun, number in stated_counts(message))


@lru_cache(maxsize=REMEMBERED)
def stated_values(message: str) -> tuple[tuple[str, int], ...]:
    """Return the values that a speaker plainly states as its own, as pairs of noun and points."""
    return tuple(
        (noun, 0 if number == "nothing" else number_of(number))
        for sentence in sentences(message)
        if FIRST_PERSON.search(sentence) and not SECOND_PERSON.search(sentence)
        for noun, number in VALUED.findall(sentence)
    )


def misstates(message: str, counts: Triple, values: Triple) -> bool:
    """Return whether a message misstates a value of the speaker.

    "The books are worth 6" is true if each book is worth 6 or if all books together are worth 6.
    """
    for noun, stated in stated_values(message):
        kind = kind_of(noun)
        total = values[kind] * counts[kind] if noun.endswith("s") else values[kind]
        if stated not in (values[kind], total):
            return True
    return False
