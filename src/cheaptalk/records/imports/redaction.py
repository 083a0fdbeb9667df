"""Finding people's first names in what was said at a table of two, and taking them out.

Who sits opposite a person often calls them by name. A name is therefore looked for where English
puts the one who is spoken to, in the messages sent to a person, and where a person signs:

* after a greeting or thanks: "Hello Ada, ...", "Thank you, Ada!";
* at the start of a sentence before a comma: "Ada, I can offer ...";
* between commas, or after the last one: "I see, Ada, that ...", "Take it, Ada!";
* in a person's own message after "my name is", or at the end: "Best regards, Ada".

A common word is never taken for a name. A name must be capitalised, except between a greeting and
a comma or the like; without a greeting, a word that the other side also writes in small letters is
none. What is found is taken out of every message of that game.

This has limits. It is made for English and for names of Latin letters. A name that stands only in
the middle of a sentence stays, and so does one that is also a word (Will, Grace) unless it is
greeted; a capitalised word in such a place that is no name goes too. Alice, Bob and John are the
games' own names and stay. Read what was redacted before publishing it, and name what was missed.
"""

import re
from collections.abc import Collection, Iterable

from cheaptalk.rules import CheaptalkError

MARK = "[name]"
"""What stands in a name's place."""

OWN = frozenset({"alice", "bob", "john", "jhon"})
"""The games' own people."""

_NAME = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*"
_NAMES = rf"({_NAME}(?: {_NAME})?)"
_DASH = r"[\u2013\u2014]|-\s"
_CALLED = rf"(?=[ \t]*(?:[,.!?;:\n]|{_DASH}|$))"
_GREETING = r"\b(?i:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day))"
_HAILED = re.compile(rf"{_GREETING}\s+({_NAME})")
_GREETED = re.compile(rf"{_GREETING}[,!]?\s+{_NAMES}{_CALLED}")
_THANKED = re.compile(rf"\b(?i:thanks|thank you|welcome|sorry)[,!]?\s+{_NAMES}{_CALLED}")
_OPENING = re.compile(rf"(?:^|[.!?]\s|\n)[\W_]*{_NAMES}(?=\s*(?:,|{_DASH}))")
_AMID = re.compile(rf",\s+{_NAMES}(?=\s*(?:[,.!?\n]|$))")
_INTRODUCED = re.compile(rf"\b(?i:my name is|this is)\s+({_NAME})")
_SIGNED = re.compile(
    rf"\b(?:(?i:regards|sincerely|wishes|cheers)[,!.]?"
    rf"|(?i:best|thanks|thank you|yours|love)(?:[,!.]|\s*\n|\s*{_DASH}))"
    rf"\s*(?:{_DASH})?\s*({_NAME})[\s.!]*$"
)

COMMON = frozenset(
    re.findall(
        r"\S+",
        """
        a absolutely accept accepted accordingly actually additionally after afternoon again agreed
        ah ai all also alternatively although always amazing america american an and any anyway
        apologies as assuming at awesome basically because before best better both bro brother buddy
        business but buy buyer certainly chap clearly colleague come congratulations consequently
        consider considering counteroffer counterpart currently customer day deal dear december
        definitely despite done dude each either english especially esteemed even evening eventually
        every everybody everyone everything exactly excellent fair fairly february fellow fellows
        final finally fine first firstly folks for fortunately frankly friday friend friends from
        further furthermore generally generous gentleman gentlemen given good gosh great greetings
        guess guy guys ha hello hence here hey hi him his honestly hopefully how however i idk if
        imagine in indeed initially instead interesting interestingly it its january july just kind
        kindly know lady last lastly later let listen lol look lots ma'am madam man many march mate
        maybe me meanwhile mine miss monday moreover morning mr mrs ms much my naturally
        nevertheless next nice no nobody none nonetheless nope nothing november now obviously
        october of offer oh ok okay on once one only opponent or otherwise our ours overall pal
        partner partners perfect perhaps personally plus possibly potential presently previously
        price probably product quality quick quickly ranger rather readily really recall regardless
        regrettably reject rejected remember respectfully right round sadly same saturday second
        secondly see seller september seriously similarly simply since sincerely sir so some somehow
        someone soon sorry specifically still strategically strictly sunday sure surely team thank
        thanks thankyou that the their them then there therefore these they third this those though
        thursday thus time today together tomorrow tonight too trader true truly trust truthfully
        tuesday turker two ultimately under understandably understood unfortunately unless until usa
        usd usually valued very wait we wednesday welcome well what whatever when where whether
        which while who why wonderful worth wow yeah yep yes yesterday yet you your yours
        """,
    )
)
"""Words that stand where names do."""


def names_to_hide(keep_names: bool, names: Iterable[str]) -> frozenset[str] | None:
    """The names that an import takes out besides those it finds; None where all are kept.

    Raises:
        CheaptalkError: names are to be kept and to be taken out.
    """
    given = frozenset(names)
    if keep_names and given:
        raise CheaptalkError("names are either kept or taken out: give --keep-names or --name")
    return None if keep_names else given


def names_said(messages: Iterable[tuple[str, str]], people: Collection[str]) -> set[str]:
    """The first names that are found in messages, each given with the role that sent it.

    Args:
        people: the roles that people played; without any, nothing is looked for.
    """
    said = list(messages)
    heard = [text for role, text in said if any(person != role for person in people)]
    own = [text for role, text in said if role in people]
    small = {word for text in heard for word in re.findall(_NAME, text) if word.islower()}
    sure = _calls((_HAILED,), heard) + _calls((_INTRODUCED, _SIGNED), own)
    likely = _calls((_THANKED, _OPENING, _AMID), heard)
    likely = [call for call in likely if not small.intersection(map(str.lower, call))]
    capitals = [call for call in sure + likely if all(word[0].isupper() for word in call)]
    return {word for call in _calls((_GREETED,), heard) + capitals for word in call}


def _calls(places: Iterable[re.Pattern[str]], texts: Iterable[str]) -> list[list[str]]:
    """What stands in places for names, in words; without those that hold a common word."""
    found = [call.split() for text in texts for place in places for call in place.findall(text)]
    return [call for call in found if not any(map(_common, call))]


def _common(word: str) -> bool:
    """Whether a word, or what it is a contraction of, is no name to take out."""
    stem = re.split(r"['\u2019]", word.lower())[0]
    return stem in COMMON or stem in OWN


def redact(text: str, names: Collection[str]) -> tuple[str, int]:
    """The text without these names, and how often one stood there.

    A name goes as given, Capitalised and in CAPITALS; in small letters only if given so.
    """
    forms = {form for name in names for form in (name, name.capitalize(), name.upper())}
    if not forms:
        return text, 0
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    pattern = "|".join(map(re.escape, longest_first))
    return re.subn(rf"(?<![^\W_])(?:{pattern})(?![^\W_])", MARK, text)
