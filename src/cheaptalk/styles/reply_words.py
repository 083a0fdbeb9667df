"""Word lists by which the referee recognises text that introduces, explains or doubts an answer.

Some lists contain the only words that are allowed (in announcements and reasons). Other lists
contain words that must not occur, such as negations, conditions and modal verbs.
"""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOUNS = _words(
    "answer reply response decision choice move action bid offer counteroffer proposal vote trade "
    "order price number amount contribution plan shot message json output object "
    "antwort entscheidung zug gebot angebot vorschlag wahl stimme preis zahl beitrag ausgabe "
    "réponse décision choix offre respuesta decisión elección oferta risposta decisione scelta "
    "resposta decisão antwoord beslissing ответ решение 答案 决定 回答"
)
"""Nouns that announce an answer."""
VERBS = _words("choose propose vote offer bid reply answer respond go pick contribute order submit")
"""Verbs that announce an answer after "I"."""
FILLERS = _words(
    "here here's is are be my our the an a i i'll we as follows follow following final own best "
    "optimal trade so therefore thus hence ok okay sure and now this round turn go with clear will "
    "hier ist meine mein die der das lautet also daher endgültige finale "
    "ma la le voici mi el es mia il è minha é mijn de"
)
"""Words that an announcement may contain besides its noun or verb."""
CONNECTIVES = _words(
    "here therefore so thus hence daher also considering given all this ok okay sure great"
)
"""Words that can replace an announcement, such as "Therefore:" or "Okay."."""


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(parts)})\b", re.IGNORECASE)


CONTEXT = re.compile(
    r"^(?!.*\b(?:if|when|until|unless|wenn|falls)\b)(?:(?:since|because|given|based|considering|"
    r"after|as|sure|ok|okay|great|finally|overall|in\s+(?:conclusion|summary|short)|"
    r"to\s+(?:conclude|repeat|summarize)|da|weil|nach)\b.*[,!]|"
    r".*,(?=\s+(?:so|therefore|thus|hence)\b))\s+"
)
"""A reason or courtesy before an announcement, in lower case."""
ADDITION = re.compile(
    r"\s+(?:in|as)\s+(?:the\s+)?(?:required\s+|requested\s+)?json(?:\s+format)?$|"
    r"\s+to\s+the\s+\w+$|\s+for\s+this\s+(?:round|turn|game)\b|"
    r"\s+with\s+(?:my|a\s+brief)\s+\w+$|\s+based\s+on\s+(?:our|the|my)\s+\w+$"
)
"""An extension of an announcement, in lower case."""

LABEL = re.compile(
    r"(?:explanation|reason(?:s|ing)?|rationale|justification|analysis|begründung|erklärung|"
    r"explication|raison|explicación|razón)\b",
    re.IGNORECASE,
)
"""The label of an explanation, such as "Reasoning"."""
ENGLISH = re.compile(
    _pattern("the|this|to|my|you|and|than|because|since|by|are|with|it").pattern + r"|\d",
    re.IGNORECASE,
)
"""Words that identify a sentence as English."""
COURTESY = re.compile(
    r"thank(?:s|\s+you)(?:\s+for\s+(?:the|your)(?:\s+\w+){1,2})?[.!]|"
    r"that(?:\s+i|['\u2019])s\s+all[.!]|(?:happy|glad)\s+to\s+have\s.*|"
    r"let\s+me\s+know\s+(?:the\s+result|if\s+you(?:['\u2019]d\s+like|\s+need|\s+have)\b.*)[.!]",
    re.IGNORECASE,
)
"""A closing courtesy without a statement about the answer."""

CAUSE = re.compile(r"\b(?:because|since|while|than)\b[^,;:]*", re.IGNORECASE)
"""A clause of reasons; negations and conditions in it do not concern the answer."""
NEGATION = re.compile(
    _pattern(
        r"no|not|none|never|nobody|neither|nor|cannot|without|\w+n['\u2019]t",
        r"nicht|nein|nie|niemals|kein\w*|non|pas|jamais|nunca|jamás|niet|nooit|не|нет|никогда",
    ).pattern
    + r"|\u4e0d",
    re.IGNORECASE,
)
CONDITION = _pattern(r"if(?!\s+i\s+(?:win|lose)\b)|when")
RESERVATION = re.compile(
    _pattern(
        r"unless|assuming|provided|as\s+(?:soon|long)\s+as|once|until|before|suppos\w+|whether",
        r"(?<!what\s)(?<!than\s)i\s+(?:would|will|shall)|would\s+(?:be|have)|could|should|might|"
        r"may|perhaps|maybe|\w+['\u2019](?:d|ll)",
        r"but|however|though|although|yet|still|please|rather|only|just|otherwise|else|or",
        r"answers?|repl(?:y|ies)|respon\w+|message|(?<!this\s)decision|decid\w*",
    ).pattern
    + r"|\.\.\.|\u2026",
    re.IGNORECASE,
)
"""Conditions, possibilities, contrasts, requests, and words such as "answer" and "reply"."""
RETRACTION = _pattern(
    r"(?<!i\s)wait(?=[,.!:])|actually|sorry|instead(?!\s+of)|my\s+mind|mistake\w*|"
    r"(?:it|that|this)\s+back|reconsider\w*|scratch|refus\w+|ignore|disregard|edit|"
    r"correct(?:ion|ed)|changed|reflection|replace|double-check|typo|meant"
)
DISCLAIMER = _pattern(
    r"examples?|e\.g|format|text|lines?|pars(?:e[ds]?|er|ing)|tests?|drafts?|templates?|quot\w+|"
    r"valid|jok\w+|kidding|strings?|instructions?|the\s+above|hypothe\w+|illustrat\w+|pending",
    r"wrote|said|sent|copied|asked|beispiel\w*|entwurf",
    r"(?:ai|language)\s+model|assistant",
    r"(?:cannot|can['\u2019]t)\s+(?:take\s+part|participate|help|assist)",
    r"undecided|unsure|wavering|torn|hesita\w+|my\s+mind|not\s+(?:yet\s+)?(?:decided|sure|certain)",
)
"""Words for text that is not an answer, not this player's answer, or not final."""
POINTER = re.compile(
    r"\b(?:this|these|following|folgendes)\W*$|^(?:what|how|who|where|which)\b|"
    r"\bthis\s+(?:is\s+the\s+)?(?:answer|reply|response|message)\b|"
    r"\b(?:(?<!what\s)i\s+would(?!\s+(?:rather|never))|i['\u2019]d(?!\s+like)|ich\s+würde)\b",
    re.IGNORECASE,
)
"""A sentence that announces the next text, or states what the player would do."""
VAGUE = re.compile(
    r"(?:that|this\s+is(?!\s+(?:an?|based|because|more|less|better|fair)\b)|it(?!\s+is\s+(?:best|better|fair|more|safer|worth)\b)|wait|there|then|"
    r"thus|what|how|which|who|where|so|and|is)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence without a subject, or with a pronoun that may mean the answer."""
