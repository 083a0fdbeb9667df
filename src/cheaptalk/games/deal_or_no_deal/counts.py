"""A parser of the numbers of items that a message states about the current match.

It reads only plain sentences about the pool, or about items that a player takes, has, wants or is
offered: "there are 2 hats", "I take 2 hats", "2 hats for you". It ignores conditions, negations,
questions, quotations and reports of other games or people, because a wrongly parsed claim could
count as a false statement.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from cheaptalk.games.deal_or_no_deal.talk import (
    ALL,
    KIND,
    NUMBER,
    REMEMBERED,
    TAKE,
    number_of,
    plain,
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
