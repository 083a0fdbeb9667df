"""The texts of the study form, as typed, and changes of its lists."""

import re
from collections.abc import Collection, Iterable
from itertools import count
from typing import TypeAlias

from cheaptalk.studies.people.page_texts.texts import CODE, FIRST
from cheaptalk.web.console.designs.fields import Row, last_text
from cheaptalk.web.console.designs.nested import compact, members, relist
from cheaptalk.web.console.designs.step_rows import (
    PATH,
    QUESTION_TEMPLATES,
    STEP_TEMPLATES,
    new_question,
    new_step,
    place_steps,
    step_name,
)

Pairs: TypeAlias = list[tuple[str, str]]
"""A posted form: field names and texts, in order."""
MAX_ROWS = 200
"""Maximum number of members of a list; further ones are ignored."""
GAMES, PLAYERS = "games", "players"
ROW = re.compile(rf"({GAMES}|{PLAYERS}|{PATH})\.([0-9]{{1,6}})\.(.{{1,200}})", re.DOTALL)
ACTION = re.compile(r"(add|remove|copy|up|down|move)-([a-z_.0-9]{1,200}?)(?:\.([0-9]{1,6}))?")
LANGUAGES = "text-languages"
"""Name of the field with the languages in which the form shows texts, besides the first."""

TRANSLATED = re.compile(rf".+\.{CODE.pattern}")
"""Matches the name of a field with a text in one language."""


class StudyForm:
    """The texts of the study form, exactly as typed.

    ``texts`` are those outside ``rows``, which contain the games, players and steps.
    """

    def __init__(self, texts: Row | None = None, **rows: list[Row]) -> None:
        self.texts = texts or {}
        self.rows: dict[str, list[Row]] = {GAMES: [], PLAYERS: [], PATH: []} | rows

    @classmethod
    def read(cls, posted: Iterable[tuple[str, str]]) -> "StudyForm":
        """Parse a posted form.

        >>> form = StudyForm.read([("name", "pilot"), ("games.7.game", "bargaining")])
        >>> form.text("name"), form.rows["games"]
        ('pilot', [{'game': ['bargaining']}])
        """
        form = cls()
        numbered: dict[str, dict[int, Row]] = {kind: {} for kind in form.rows}
        for name, text in posted:
            match = ROW.fullmatch(name)
            row = numbered[match[1]].setdefault(int(match[2]), {}) if match else form.texts
            row.setdefault(match[3] if match else name, []).append(text.replace("\r\n", "\n"))
        form.texts = compact(form.texts)
        form.rows = {
            kind: [compact(rows[number]) for number in sorted(rows)][:MAX_ROWS]
            for kind, rows in numbered.items()
        }
        return form

    def pairs(self) -> Pairs:
        """Return the form as a browser would post it."""
        rows = [
            (f"{kind}.{number}.{name}", texts)
            for kind, rows in self.rows.items()
            for number, row in enumerate(rows)
            for name, texts in row.items()
        ]
        return [(name, text) for name, texts in (*self.texts.items(), *rows) for text in texts]

    def text(self, name: str) -> str:
        return last_text(*self.at(name))

    def has(self, *names: str) -> bool:
        """Return whether any of the named fields or groups of fields is filled in."""
        for name in names:
            texts, inner = self.at(name)
            for key, values in texts.items():
                if (key == inner or key.startswith(f"{inner}.")) and any(map(str.strip, values)):
                    return True
        return False

    @property
    def language_codes(self) -> list[str]:
        """The codes of the languages in which the form shows texts, besides the first."""
        names = [*self.texts, *(name for row in self.rows[PATH] for name in row)]
        used = (name.rpartition(".")[2] for name in names if TRANSLATED.fullmatch(name))
        chosen = filter(CODE.fullmatch, self.texts.get(LANGUAGES, []))
        return sorted({*used, *chosen} - {FIRST})

    def members(self, name: str) -> int:
        """Return the number of members of a list of settings, such as ``people.pay.bonus``."""
        return members(*self.at(name))

    def at(self, name: str) -> tuple[Row, str]:
        """Return the texts that contain a field, and its name among them."""
        match = ROW.fullmatch(name)
        if match is None:
            return self.texts, name
        rows, number = self.rows[match[1]], int(match[2])
        return (rows[number] if number < len(rows) else {}), match[3]

    def apply(self, action: str, added: str = "", to: str = "") -> str:
        """Add, copy, move or remove a member of a list, as the pressed button requests.

        ``action`` is for example ``add-players``, ``remove-games.0`` or
        ``up-people.path.1.items.2``; others are ignored. ``added`` is the game or the kind of step
        or question to add, and ``to`` the new number of a moved member. Return the member to focus,
        or "".
        """
        match = ACTION.fullmatch(action)
        if match is None:
            return ""
        deed, name, number = match[1], match[2], int(match[3] or 0)
        if deed == "add":
            name = name if match[3] is None else f"{name}.{match[3]}"
            return self._add(name, added)
        size = len(self.rows[name]) if name in self.rows else self.members(name)
        if match[3] is None or number >= size:
            return ""
        order = [*range(size)]
        if deed == "remove":
            order.remove(number)
            self._reorder(name, order)
            return ""
        if deed == "copy" and size < MAX_ROWS:
            order.insert(number + 1, number)
            self._reorder(name, order)
            self._rename(name, number + 1)
            return f"{name}.{number + 1}"
        target = {"up": number - 1, "down": number + 1}.get(deed, _number(to))
        if deed == "copy" or not 0 <= target < size:
            return ""
        order.insert(target, order.pop(number))
        self._reorder(name, order)
        if name == PATH:
            place_steps(self.rows[PATH], range(min(number, target), max(number, target) + 1))
        return f"{name}.{target}"

    def _reorder(self, name: str, order: list[int]) -> None:
        if name in self.rows:
            rows = self.rows[name]
            rows[:] = [{key: [*texts] for key, texts in rows[at].items()} for at in order]
        else:
            texts, inner = self.at(name)
            relist(texts, inner, order)

    def _rename(self, name: str, number: int) -> None:
        """Give a copied step or question a name of its own."""
        if name == PATH:
            names = [step_name(row) for row in self.rows[PATH]]
            self.rows[PATH][number]["name"] = [free_name(names[number], names)]
        elif name.endswith(".items"):
            texts, inner = self.at(name)
            names = [last_text(texts, f"{inner}.{n}.name") for n in range(members(texts, inner))]
            texts[f"{inner}.{number}.name"] = [free_name(names[number], names)]

    def _add(self, name: str, added: str) -> str:
        rows = self.rows.get(name)
        size = self.members(name) if rows is None else len(rows)
        if size >= MAX_ROWS:
            return ""
        if rows is None:
            texts, inner = self.at(name)
            member = {"": [""]}
            if inner == "items":
                if added not in QUESTION_TEMPLATES:
                    return ""
                member = {f".{key}": text for key, text in new_question(added, texts).items()}
            texts |= {f"{inner}.{size}{rest}": values for rest, values in member.items()}
            return f"{name}.{size}"
        if name == PLAYERS:
            rows.append({})
            return f"{name}.{size}.kind"
        if name == GAMES and added:
            rows.append({"game": [added]})
            return f"{name}.{size}"
        return self._add_step(added) if name == PATH and added in STEP_TEMPLATES else ""

    def _add_step(self, kind: str) -> str:
        rows = self.rows[PATH]
        last = bool(rows) and rows[-1]["kind"] == ["debrief"] and kind != "debrief"
        number = len(rows) - last
        row = new_step(kind)
        if kind in (names := [step_name(row) for row in rows]):
            row["name"] = [free_name(kind, names)]
        rows.insert(number, row)
        return f"{PATH}.{number}"


def free_name(name: str, names: Collection[str]) -> str:
    """Return a name with the first number that makes it differ from others.

    >>> free_name("survey", ["survey", "survey_2"]), free_name("age_2", ["age_2"])
    ('survey_3', 'age_3')
    """
    stem, _, number = name.rpartition("_")
    if not number.isdecimal():
        stem, number = name, "1"
    numbered = (f"{stem}_{n}" for n in count(int(number) + 1))
    return next(new for new in numbered if new not in names)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= 6 else -1
