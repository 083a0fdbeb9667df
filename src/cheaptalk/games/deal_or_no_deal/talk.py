"""Messages about divisions: the sentences of scripted negotiators, and an exact parser.

The parser ignores a sentence that does not completely fit its patterns, for example because of an
alternative, a condition or a number without an item.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from cheaptalk.games.deal_or_no_deal.contexts import KINDS, Triple, rest

REMEMBERED = 4_096
"""Size of the caches of messages; negotiators read all messages again in every turn."""
COUNTED = "zero one two three four five six seven eight nine ten"
NUMBERS = {"no": 0, "a": 1, "an": 1} | {word: n for n, word in enumerate(COUNTED.split())}
KIND = r"(?:book|hat|(?:basket)?ball)s?"
NUMBER = rf"(?:\d+|{'|'.join(NUMBERS)})"
ALL = r"(?:all of the|all the|all|both the|both|the)"
REST = r"(?:(?:all )?the rest|everything else|everything|all else)"
ITEM = rf"(?:(?:(?:the )?{NUMBER} |{ALL} )?{KIND}|{REST})\b"
LIST = rf"{ITEM}(?:(?:, and |,? and |, | plus ){ITEM})*"
TAKE = r"(?:take|have|get|keep|receive|claim)"
WANT = rf"(?:(?:just |really )?(?:want|need|like|love)(?: to {TAKE})?|{TAKE})"
WILL = r"(?:'ll|'d| will| would| can| could)?"
CLAUSE = re.compile(
    rf"\b(?:(?P<me>i{WILL} {WANT}|(?:can|could|may) i {TAKE}|(?:give|leave) me|let me {TAKE})"
    rf"|(?P<you>(?:can )?you{WILL} {TAKE}|i{WILL} (?:give|leave|let) you(?: {TAKE})?))"
    rf" (?P<list>{LIST})|\b(?P<loose>{LIST}) (?:to|for) (?P<whom>me|you)\b"
)
"""A part of an offer: the items for one player."""
PADDING = re.compile(
    r"(?:[\s,;:!-]|\b(?:and|so|then|if|while|how about|what about|hi|hello|hey|please|thanks"
    r"|thank you|well|i propose|i suggest|i offer|let's say|my offer is|ok|okay|yes|deal|agreed"
    r"|great|perfect|sounds good|that works|in return)\b)*"
)
"""Text around the parts of an offer that does not change the meaning of the offer."""
ACCEPTING = re.compile(
    r"(?:(?:ok|okay|yes|great|perfect|well)\b[\s,.!:]*)*"
    r"(?:(?:it's a |we have a |that's a )?deal|agreed|accepted|i (?:agree|accept)|yes|ok|okay|sure"
    r"|sounds (?:good|fine|great)|that works|fine|perfect|great)\b"
)
DOUBTING = re.compile(r"\b(?:no|not|but|however|unless|instead|if|\w+n't|cant|wont|dont)\b|\?")


def say_bundle(bundle: Triple) -> str:
    """Return a bundle in words.

    >>> say_bundle((1, 2, 0))
    '1 book, 2 hats and 0 balls'
    """
    books, hats, balls = (
        f"{number} {kind if number != 1 else kind[:-1]}"
        for number, kind in zip(bundle, KINDS, strict=True)
    )
    return f"{books}, {hats} and {balls}"


@lru_cache(maxsize=REMEMBERED)
def say_offer(counts: Triple, claim: Triple) -> str:
    """Return a sentence that offers a division, given the items for the speaker."""
    return f"I take {say_bundle(claim)}, and you take {say_bundle(rest(counts, claim))}."


def say_values(values: Triple) -> str:
    """Return a sentence that states the given values as the speaker's own.

    >>> say_values((1, 0, 3))
    'A book is worth 1 to me, a hat is worth 0 to me and a ball is worth 3 to me.'
    """
    book, hat, ball = (
        f"a {kind[:-1]} is worth {value} to me" for value, kind in zip(values, KINDS, strict=True)
    )
    return f"A{book[1:]}, {hat} and {ball}."


def plain(text: str) -> str:
    """Normalise case, quotes and spaces of a message."""
    straight = re.sub("[`\N{RIGHT SINGLE QUOTATION MARK}]", "'", text.lower())
    return re.sub(r" (?=[,.;:!?])", "", re.sub(r"\s+", " ", straight)).strip()


def sentences(text: str) -> list[str]:
    """Return the normalised sentences of a message."""
    return [sentence for sentence in re.split(r"[.!?]+(?!\d)", plain(text)) if sentence.strip()]


def kind_of(word: str) -> int:
    """Return the index in :data:`KINDS` of the kind of item that a word names."""
    stems = ("book", "hat", "ball")
    return stems.index(word.removeprefix("basket").removesuffix("s"))


def number_of(word: str) -> int:
    """Return the number that digits or a word denote."""
    return NUMBERS[word] if word in NUMBERS else int(word)


@lru_cache(maxsize=REMEMBERED)
def read_offer(text: str, counts: Triple) -> Triple | None:
    """Return the speaker's part of the only division that a message offers.

    If the offer names only one player's items, the rest goes to the other player. The result is
    None if the message has no offer, several offers, or an offer that is unclear or does not fit
    the pool.

    >>> read_offer("I'd like the balls and 1 hat, you can have the rest.", (2, 3, 1))
    (0, 1, 1)
    >>> read_offer("I need both books or all the hats.", (2, 3, 1)) is None
    True
    """
    offers = {_division(sentence, counts) for sentence in sentences(text) if _of_items(sentence)}
    return offers.pop() if len(offers) == 1 else None


@lru_cache(maxsize=REMEMBERED)
def speaks_of_items(text: str) -> bool:
    """Return whether a message mentions items other than in statements of their values."""
    return any(map(_of_items, sentences(text)))


@lru_cache(maxsize=REMEMBERED)
def accepts(text: str, counts: Triple, claim: Triple) -> bool:
    """Return whether a message plainly accepts an offer that gives the speaker this claim.

    The message must not contain a condition or a question. If it mentions items, it must repeat the
    offered division.

    >>> accepts("Ok, deal!", (2, 3, 1), (2, 0, 0)), accepts("No deal.", (2, 3, 1), (2, 0, 0))
    (True, False)
    >>> accepts("Deal, I take the books.", (2, 3, 1), (2, 0, 0))
    True
    >>> accepts("Deal, I take the balls.", (2, 3, 1), (2, 0, 0))
    False
    """
    plain_text = plain(text)
    if not ACCEPTING.match(plain_text) or DOUBTING.search(plain_text):
        return False
    return not speaks_of_items(text) or read_offer(text, counts) == claim


def _of_items(sentence: str) -> bool:
    return "worth" not in sentence and re.search(rf"\b(?:{KIND}|{REST})\b", sentence) is not None


def _division(sentence: str, counts: Triple) -> Triple | None:
    """Return the speaker's part in a sentence's offer; None if the sentence is unclear."""
    if not PADDING.fullmatch(CLAUSE.sub(" ", sentence)):
        return None
    shares: dict[str, dict[int, int]] = {"me": {}, "you": {}}
    remainder = set()
    for clause in CLAUSE.finditer(sentence):
        side = "me" if clause["me"] else "you" if clause["you"] else clause["whom"]
        for kind, number in _items(clause["list"] or clause["loose"], counts):
            if kind is None:
                remainder.add(side)
            elif number is None or kind in shares[side]:
                return None
            else:
                shares[side][kind] = number
    return _claim(shares, remainder, counts)


def _items(listed: str, counts: Triple) -> Iterator[tuple[int | None, int | None]]:
    """Yield (kind, number) of listed items; number is None if unclear, both are for "the rest"."""
    for item in re.findall(ITEM, listed):
        *modifiers, noun = item.split()
        if re.fullmatch(REST, item):
            yield None, None
            continue
        kind = kind_of(noun)
        count = counts[kind]
        numbers = [number_of(word) for word in modifiers if re.fullmatch(NUMBER, word)]
        is_clear = (noun.endswith("s") or count == 1) and ("both" not in modifiers or count == 2)
        yield kind, numbers[0] if numbers else count if is_clear else None


def _claim(shares: dict[str, dict[int, int]], remainder: set[str], counts: Triple) -> Triple | None:
    """Return the speaker's items, or None if the players' shares are unclear or incompatible."""
    own_items, partner_items = shares["me"], shares["you"]
    if len(remainder) > 1 or not (own_items or partner_items):
        return None
    keeps = "me" in remainder or not (own_items or "you" in remainder)
    claim = []
    for kind, count in enumerate(counts):
        remaining = count - partner_items[kind] if kind in partner_items else None
        claimed = own_items.get(kind, remaining)
        if claimed is None and own_items and partner_items and not remainder:
            return None
        if claimed is None:
            claimed = count if keeps else 0
        if not 0 <= claimed <= count or (remaining is not None and remaining != claimed):
            return None
        claim.append(claimed)
    books, hats, balls = claim
    return books, hats, balls
