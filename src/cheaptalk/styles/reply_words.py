"""Word lists and patterns of the referee, read from ``reply_words.yaml`` beside this module."""

import re
from pathlib import Path
from typing import Any

from cheaptalk.yaml_files import read_yaml

LEXICON: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml"))
NOUNS, VERBS, FILLERS, CONNECTIVES = (
    frozenset(LEXICON[name].split()) for name in ("nouns", "verbs", "fillers", "connectives")
)
_PATTERNS = {
    name: re.compile("".join(pieces), re.IGNORECASE)
    for name, pieces in LEXICON.items()
    if isinstance(pieces, list)
}
CONTEXT = _PATTERNS["context"]
ADDITION = _PATTERNS["addition"]
LABEL = _PATTERNS["label"]
ENGLISH = _PATTERNS["english"]
COURTESY = _PATTERNS["courtesy"]
CAUSE = _PATTERNS["cause"]
NEGATION = _PATTERNS["negation"]
CONDITION = _PATTERNS["condition"]
RESERVATION = _PATTERNS["reservation"]
RETRACTION = _PATTERNS["retraction"]
DISCLAIMER = _PATTERNS["disclaimer"]
POINTER = _PATTERNS["pointer"]
VAGUE = _PATTERNS["vague"]
