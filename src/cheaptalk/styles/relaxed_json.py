"""Text that resembles JSON and has only one meaning, converted to JSON.

Accepted are JSON5's comments, trailing commas, single quotes and unquoted names; curly quotation
marks; Python's literals; and amounts such as ``$1,250``. Nothing is completed or left out: each
token is converted separately, and text with any other token is not JSON.
"""

import re

TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")'
    r"|'(?P<single>(?:[^'\\\n]|\\.)*)'(?=\s*[:,}\]])"
    r"|[\u201c\u201e](?P<curly>(?:[^\u201c-\u201f\"\\\n]|\\.)*)[\u201c\u201d](?=\s*[:,}\]])"
    r"|(?P<comment>//[^\n]*|#[^\n]*|/\*.*?\*/)"
    r"|(?P<amount>(?<=:)\s*(?:\$?\d{1,3}(?:,\d{3})+|\$\d+)(?:\.\d+)?(?=\s*[,}]))"
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*)(?=\s*:)"
    r"|(?P<literal>[Tt]rue|[Ff]alse|null|None)\b"
    r"|(?P<mark>[{}\[\]:,])"
    r"|(?P<space>\s+)",
    re.DOTALL,
)
QUOTED = re.compile(r'\\.|"', re.DOTALL)
QUOTES = {'"': r"\"", r"\'": "'"}
"""Quotation marks that are written differently in double quotes."""
LITERALS = {"True": "true", "False": "false", "None": "null"}


def relaxed(text: str) -> tuple[str, list[str]] | None:
    """Return a text as JSON, and its comments; None if a token has no certain meaning.

    >>> relaxed("{price: '$5', /* final */ 'pay': 1,000,}")
    ('{ "price" : "$5" , "pay" : "1,000" }', ['/* final */'])
    """
    parts: list[str] = []
    comments: list[str] = []
    position = 0
    while position < len(text):
        token = TOKEN.match(text, position)
        if token is None:
            return None
        position, kind, part = token.end(), token.lastgroup or "", token[0]
        if kind == "comment":
            comments.append(part)
            continue
        if part in ("}", "]") and parts and parts[-1] == ",":
            parts.pop()
        if kind != "space":
            parts.append(_converted(kind, part, token[kind]))
    return " ".join(parts), comments


def _converted(kind: str, token: str, content: str) -> str:
    match kind:
        case "single" | "curly":
            return f'"{QUOTED.sub(lambda mark: QUOTES.get(mark[0], mark[0]), content)}"'
        case "name":
            return f'"{token}"'
        case "amount":
            return f'"{token.strip()}"'
        case "literal":
            return LITERALS.get(token, token)
    return token
