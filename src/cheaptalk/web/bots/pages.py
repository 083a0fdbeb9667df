"""Web pages parsed without a browser: text, links and forms."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from html.parser import HTMLParser

HEADINGS = ("h1", "h2", "h3")
UNSEEN = ("script", "style", "title")
EMPTY = ("area", "base", "br", "hr", "img", "input", "link", "meta", "source", "wbr")
"""Elements without an end tag."""
NUMERIC = ("numeric", "decimal")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(eq=False)
class Group:
    """Fields that depend on each other.

    Attributes:
        total: the sum of their numbers, or None.
        distinct: whether their choices must differ.
        min, max: bounds on the number of ticked fields; ``max`` is None if there is none.
    """

    total: float | None = None
    distinct: bool = False
    min: int = 0
    max: int | None = None


@dataclass
class Blank:
    """An input field of an HTML form.

    ``kind`` is ``hidden``, ``number``, ``choice``, ``tick``, ``date``, ``line`` or ``text``
    (several lines). The bounds ``low`` and ``high`` are None if the page has none; those of a date
    are ordinals. ``hint`` is the placeholder.
    """

    name: str
    kind: str
    value: str = ""
    options: list[str] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    step: float = 1.0
    min_length: int = 0
    max_length: int | None = None
    required: bool = False
    hint: str = ""
    group: Group | None = None


@dataclass
class Form:
    """An HTML form; its question is the text between the last heading and the form."""

    action: str
    question: str = ""
    blanks: list[Blank] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    @property
    def deed(self) -> str:
        """Last path component of the form's URL, which names the action."""
        return self.action.partition("?")[0].rpartition("/")[2]


class Page(HTMLParser):
    """A parsed web page with its text, links and forms.

    Attributes:
        problem: reason why the last answer was rejected, or "".
        refresh: seconds after which to reload, or None.
        ending, code: ending of a participant's visit, or "", and the completion code.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words = ""
        self.problem = ""
        self.refresh: float | None = None
        self.links: list[str] = []
        self.forms: list[Form] = []
        self.ending = ""
        self.code = ""
        self._since_heading = 0
        self._form: Form | None = None
        self._choice: Blank | None = None
        self._open: list[str] = []
        self._alert = self._coded = self._grouped = 0
        self._group: Group | None = None
        self.feed(html)
        self.close()

    def form(self, deed: str) -> Form | None:
        """Return the first form whose URL ends with the given component, or None."""
        return next(iter(self.forms_for(deed)), None)

    def forms_for(self, deed: str) -> list[Form]:
        return [form for form in self.forms if form.deed == deed]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag not in EMPTY:
            self._open.append(tag)
        self._mark(tag, has)
        match tag:
            case "a" if "href" in has:
                self.links.append(has["href"])
            case "meta" if has.get("http-equiv") == "refresh":
                self.refresh = float(has.get("content", "0").partition(";")[0])
            case "form":
                self._form = Form(has.get("action", ""), self.words[self._since_heading :].strip())
                self.forms.append(self._form)
            case "option" if self._choice is not None and "value" in has:
                self._choice.options.append(has["value"])
            case "button" if self._form is not None and has.get("name"):
                self._form.buttons.append((has["name"], has.get("value", "")))
            case "input" | "textarea" | "select" if self._form is not None and has.get("name"):
                self._add(self._form, tag, has)
            case _ if tag in HEADINGS:
                self._since_heading = len(self.words)

    def _mark(self, tag: str, has: Mapping[str, str]) -> None:
        if has.get("role") == "alert" and tag != "form":
            self._alert = len(self._open)
        if has.get("class") == "code":
            self._coded = len(self._open)
        self.ending = has.get("data-ending", self.ending)
        if has.keys() & {"data-total", "data-distinct", "data-min"}:
            self._grouped = len(self._open)
            total, most = _number(has.get("data-total")), has.get("data-max")
            least = int(has.get("data-min", 0))
            self._group = Group(total, "data-distinct" in has, least, int(most) if most else None)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if len(self._open) < self._alert:
            self._alert = 0
        if len(self._open) < self._coded:
            self._coded = 0
        if len(self._open) < self._grouped:
            self._group, self._grouped = None, 0
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._choice = None

    def handle_data(self, data: str) -> None:
        if set(self._open) & set(UNSEEN):
            return
        self.words += data
        if self._alert:
            self.problem += data
        if self._coded:
            self.code += data.strip()
        if self._open and self._open[-1] == "textarea" and self._form and self._form.blanks:
            self._form.blanks[-1].value += data

    def _add(self, form: Form, tag: str, has: Mapping[str, str]) -> None:
        name, type_ = has["name"], has.get("type", "text")
        if type_ == "radio":
            row = next((blank for blank in form.blanks if blank.name == name), None)
            if row is None:
                row = Blank(name, "choice", required="required" in has)
                form.blanks.append(row)
            row.options.append(has.get("value", "on"))
            return
        if type_ in ("submit", "image"):
            form.buttons.append((name, has.get("value", "")))
            return
        default = "on" if type_ == "checkbox" else ""
        blank = Blank(
            name,
            _kind(tag, type_, has),
            has.get("value", default),
            low=_number(has.get("min", has.get("data-low"))),
            high=_number(has.get("max", has.get("data-high"))),
            step=_number(has.get("data-step")) or 1.0,
            min_length=int(has.get("minlength", 0)),
            max_length=int(has["maxlength"]) if "maxlength" in has else None,
            required="required" in has,
            hint=has.get("placeholder", ""),
            group=self._group,
        )
        form.blanks.append(blank)
        if tag == "select":
            self._choice = blank


def _kind(tag: str, type_: str, has: Mapping[str, str]) -> str:
    if tag != "input":
        return {"select": "choice", "textarea": "text"}[tag]
    if type_ in ("number", "range") or has.get("inputmode") in NUMERIC:
        return "number"
    return {"hidden": "hidden", "checkbox": "tick", "date": "date"}.get(type_, "line")


def _number(text: str | None) -> float | None:
    """Return a number or the ordinal of a date; None if the text is neither."""
    if text and DATE.fullmatch(text):
        return date.fromisoformat(text).toordinal()
    return float(text) if text and re.fullmatch(r"-?\d+(\.\d+)?", text) else None
