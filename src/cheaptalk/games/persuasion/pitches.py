"""A parser of recommendations in a seller's messages.

It reads only plain statements. It ignores messages with a condition, a hedge, a question, a
quotation, a word about another product, or contradictory statements, because a wrongly parsed
message could count as a false statement.
"""

import re

THIS = r"(?:it|this(?: (?:one|product|item))?|the product|today's product)"
IS = rf"(?:{THIS}(?: is|'s)|(?:the|its) quality is)"
VERY = r"(?:(?:a|an|of|very|really|truly|such|the|genuinely|extremely) )*"
GOOD = r"(?:high|highest|excellent|great|good|top|superb|outstanding|premium)"
BAD = r"(?:low|lowest|poor|bad|inferior)"
THING = r"(?: (?:product|item|one))?"
BUY = rf"(?:(?:that )?you (?:should )?buy|buying|purchasing|to buy) {THIS}"
END = r"(?: (?:to you|for you|now|today|at this price))*"
YES = re.compile(
    rf"(?:i (?:\w+ly |can |do )?recommend (?:{BUY}|{THIS})|(?:highly )?recommended|"
    rf"{IS} {VERY}{GOOD}(?:[- ]quality)?{THING}|{THIS} has {VERY}{GOOD} quality|"
    rf"{THIS}(?: is|'s) worth (?:buying|the price)|{VERY}{GOOD}[- ]quality{THING}|"
    rf"(?:so |please )*buy {THIS}|you should (?:\w+ly )?buy {THIS}){END}"
)
"""A recommendation to buy the product, or a statement that it is of high quality."""
NO = re.compile(
    rf"(?:i (?:do not|don't|cannot|can't|would not|wouldn't) recommend (?:{BUY}|{THIS})|"
    rf"i (?:advise|recommend)(?: you)? against (?:buying )?{THIS}|not recommended|"
    rf"{IS} {VERY}{BAD}(?:[- ]quality)?{THING}|{THIS} has {VERY}{BAD} quality|"
    rf"(?:{IS} not|{THIS} isn't) {VERY}{GOOD}(?:[- ]quality)?{THING}|"
    rf"(?:{IS} not|{THIS} isn't) worth (?:buying|the price)|"
    rf"(?:so |please )*(?:do not|don't) buy {THIS}|you should(?: not|n't) buy {THIS}){END}"
)
"""Advice against the product, or a statement that it is of low quality."""
CLAUSE = re.compile(r"[.!,;:]+|\b(?:and|so)\b")
"""The end of a clause; a statement must be a complete clause."""
UNCERTAIN = re.compile(
    r"[?\"\u201c\u201d]|\b(?:if|had|unless|when|whether|might|may|could|maybe|perhaps|possibly|probably|"
    r"think|believe|guess|hope|seems?|wish|claim\w*|say|says|said|told|tells?|example|pretend\w*|"
    r"joke\w*|kidding|last|previous|next|other|another|yesterday|but|however|although|though|except|"
    r"sometimes|usually|often|always|rounds?|chance|likely|sure)\b"
)
"""Words that a plain statement about this product does not contain."""
NEGATED = re.compile(r"\b(?:not|no|never|nor|nobody|none|\w+n't|cannot|without|hardly)\b")


def recommends(message: str) -> bool | None:
    """Return whether a message recommends the product or advises against it; None if unclear.

    >>> recommends("Trust me, this is an excellent product. Buy it!")
    True
    >>> recommends("I cannot recommend it."), recommends("Would you like it?")
    (False, None)
    """
    text = re.sub(r"\s+", " ", message.casefold().replace("\u2019", "'"))
    if UNCERTAIN.search(text):
        return None
    clauses = [clause.strip() for clause in CLAUSE.split(text)]
    against = any(map(NO.fullmatch, clauses))
    remaining = [clause for clause in clauses if not NO.fullmatch(clause)]
    favours = any(map(YES.fullmatch, remaining))
    if against == favours or any(map(NEGATED.search, remaining)):
        return None
    return favours
