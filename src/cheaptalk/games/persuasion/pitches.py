"""What a seller's message plainly says of a product: that it is good, that it is bad, or neither.

Only plain statements count. A message with a condition, a hedge, a question, a quotation, a word
about another product or statements of both kinds is not read, because a message that is misread
would accuse a seller of a false statement.
"""

import re
from functools import lru_cache

REMEMBERED = 10_000
"""Messages whose reading is kept."""
THIS = r"(?:it|this(?: (?:one|product|item|fine product))?|the product|today's product)"
VERY = r"(?:(?:a|an|of|very|really|truly|such|the|genuinely|extremely) )*"
GOOD = r"(?:high|highest|excellent|great|good|top|superb|outstanding|premium)"
BAD = r"(?:low|lowest|poor|bad|inferior)"
BUY = rf"(?:(?:that )?you (?:should )?buy|buying|purchasing|to buy) {THIS}"
YES = re.compile(
    rf"\bi (?:\w+ly |can |do |would )?recommend (?:{BUY}|{THIS})\b|"
    rf"\b{THIS}(?: is|'s) {VERY}(?:{GOOD}[- ]quality|(?:excellent|superb|outstanding)\b)|"
    rf"\b{THIS} has {VERY}{GOOD} quality\b|\b{THIS}(?: is|'s) worth (?:buying|the price)\b|"
    rf"(?:^|[.!,;] |\bso |\bplease )buy {THIS}\b|\byou should (?:\w+ly )?buy {THIS}\b"
)
"""A recommendation to buy the product, or a statement that it is of high quality."""
NO = re.compile(
    r"\bi (?:do not|don't|cannot|can't|would not|wouldn't) recommend\b|"
    rf"\bi (?:advise|recommend)(?: you)? against (?:buying )?{THIS}\b|"
    rf"\b{THIS}(?: is|'s) {VERY}{BAD}[- ]quality\b|\b{THIS} has {VERY}{BAD} quality\b|"
    rf"\b{THIS}(?: is not|isn't|'s not) {VERY}(?:{GOOD}[- ]quality|worth (?:buying|the price))\b|"
    rf"(?:^|[.!,;] |\bso |\bplease )(?:do not|don't) buy {THIS}\b|"
    rf"\byou should(?: not|n't) buy {THIS}\b"
)
"""Advice against the product, or a statement that it is of low quality."""
UNCERTAIN = re.compile(
    r"[?\"\u201c\u201d]|\b(?:if|unless|when|whether|might|may|could|maybe|perhaps|probably|possibly|"
    r"think|believe|guess|hope|seems?|wish|claim\w*|say|says|said|told|tells?|example|pretend\w*|"
    r"joke\w*|kidding|last|previous|next|other|another|yesterday|but|however|although|though|except|"
    r"sometimes|usually|often|always|rounds?|chance|likely|sure)\b"
)
"""Words that make a message no plain statement about this product."""
NEGATED = re.compile(r"\b(?:not|no|never|nor|nobody|none|\w+n't|cannot|without|hardly)\b")


@lru_cache(maxsize=REMEMBERED)
def recommends(message: str) -> bool | None:
    """Return whether a seller's message recommends the product; None if it says neither plainly.

    >>> recommends("Trust me, this is an excellent product. Buy it!")
    True
    >>> recommends("I cannot recommend it."), recommends("Would you like it?")
    (False, None)
    """
    text = re.sub(r"\s+", " ", message.casefold().replace("\u2019", "'"))
    if UNCERTAIN.search(text):
        return None
    against = bool(NO.search(text))
    rest = NO.sub(" ", text)
    favours = bool(YES.search(rest))
    if against == favours or NEGATED.search(rest):
        return None
    return favours
