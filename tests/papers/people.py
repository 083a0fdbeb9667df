"""Participants in the papers' studies, over HTTP or in a browser window."""

import asyncio
import json
from typing import Any

import cheaptalk as ct
from cheaptalk.rules import Action, get_game
from cheaptalk.studies import parse_study
from cheaptalk.studies.people.protocol import Recruitment
from cheaptalk.studies.people.steps import Quiz
from cheaptalk.studies.study import Study
from cheaptalk.web.bots.pages import Form, Page
from tests.reports.browser import Tab
from tests.web.participants.comers import Comer, Open
from tests.web.walker import posted

FAIR: dict[str, Any] = {
    "bargaining": "equal_split",
    "negotiation": "split_the_difference",
    "persuasion": {"alice": "honest", "bob": "trusting"},
    "deal_or_no_deal": "fair",
    "chip_trading": "one_for_one",
}
"""Strategies of participants and of scripts that replace models; by role if roles differ."""
UNDERSTOOD = {
    "start": "10",
    "green": "yes",
    "others": "no",
    "offers": "one",
    "same_colour": "no",
    "unequal": "yes",
    "chosen": "no",
    "able": "only players who have four or more blue chips",
}
"""Correct answers to chip trading's comprehension checks, by question."""
PRESCREENED = {"alone": "yes", "sample": "To listen."}
"""Answers that pass the screening of Deal or No Deal."""
PHONE_WIDTH = 390
"""In CSS pixels."""
FILL = """(action, fields) => {
  const form = [...document.forms].find(one => one.getAttribute("action") === action
    && Object.keys(fields).every(name => one.elements[name]));
  if (!form) return false;
  const parts = [...form.elements].filter(one => one.name in fields);
  if (parts.some(one => one.type === "hidden" && one.value !== fields[one.name])) return false;
  form.closest("details")?.setAttribute("open", "");
  let button = form.querySelector("button:not([type=button])");
  for (const one of parts) {
    if (one.type === "radio" || one.type === "checkbox") {
      if (one.value === fields[one.name] && !one.checked) one.click();
    } else if (one.tagName === "BUTTON") {
      if (one.value === fields[one.name]) button = one;
    } else if (one.type !== "hidden") {
      one.value = fields[one.name];
      one.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
  button.click();
  return true;
}"""
"""Fills in and submits a form; returns false if the page no longer contains it."""


def of_preset(name: str, **changes: Any) -> Study:
    """Return a preset with changes, such as scripts in place of its models."""
    preset = ct.preset(name)
    assert preset is not None
    data = preset.model_dump(mode="json", exclude_defaults=True)
    changes["players"] = data["players"] | changes.get("players", {})
    recruitment = data.get("people", {}).get("recruitment", {})
    if parameters := Recruitment.model_validate(recruitment).parameters:
        recruitment["id_parameter"] = parameters[0]  # names serve as IDs
    return parse_study(data | changes, name)


def scripted(name: str, **changes: Any) -> Study:
    """Return a preset with scripts in place of its models, and with further changes."""
    study = of_preset(name, **changes)
    games = {grid.game for grid in study.games}
    script = {"strategies": {game: FAIR[game] for game in games}}
    models = [label for label in study.players if label == "model"]
    return of_preset(name, **changes, players=dict.fromkeys(models, script))


class Person(Comer):
    """A participant in a preset's study who plays one of the game's strategies.

    Attributes:
        visited: names of the steps answered, in order.
        seen: text of each page on which they acted.
    """

    def __init__(self, site: Open, name: str, /, **answers: str) -> None:
        super().__init__(site, name)
        self.answers = {"name": "Zerlina"} | answers
        self.visited: list[str] = []
        self.seen: list[str] = []

    async def step(self) -> Page:
        self.seen.append(self.page.words)
        if self.page.form("page"):
            self.visited.append(self.participant.journey.stop.name)
        forms = self.page.forms_for("answer")
        if not forms:
            return await super().step()
        room = self.participant.visitor.room
        question = None if room is None else room.seat_session(self.participant.visitor).current
        if room is None or room.table is None or question is None:
            return await self.look()
        request = room.table.request(question.call.seat)
        name = room.table.game.name
        fair = FAIR[name]
        strategy = fair if isinstance(fair, str) else fair[room.seat_of(self.participant.visitor)]
        action = get_game(name).strategies[strategy].function(request)
        assert isinstance(action, Action)
        fields = posted(action) | {"question": question.key}
        if name in ("bargaining", "negotiation", "persuasion") and "message" in fields:
            fields["message"] = self.said
        return await self.press(forms[0], fields)

    async def play(self) -> Page:
        """Play the current or next game and continue to the step after it."""
        await self.to("done")
        return await self.step()


class Visitor(Person):
    """A participant who submits every form in a browser window as narrow as a phone.

    Attributes:
        kinds: kinds of pages seen.
        wide: kinds of pages that scroll horizontally.
    """

    def __init__(self, site: Open, name: str, tab: Tab, /, **answers: str) -> None:
        super().__init__(site, name, **answers)
        self.tab = tab
        self.kinds: list[str] = []
        self.wide: list[str] = []

    async def take_part(self, games: int) -> None:
        """Enter the study and continue to the end of a visit of ``games`` games."""
        await self.come()
        while not self.page.ending:
            self.more = len(self.participant.plays) < games
            await self.step()

    async def come(self) -> Page:
        recruitment = self.site.experiment.protocol.recruitment
        base = str(self.site.client.base_url).rstrip("/")
        await self.tab.visit(f"{base}/?{recruitment.parameters[0]}={self.name}", PHONE_WIDTH)
        entry = (await self.look()).form("enter")
        assert entry is not None, self.page.words
        await self.press(entry, {})
        self.path = await self.tab.read("location.pathname")
        return await self.look()

    async def look(self) -> Page:
        await asyncio.sleep(0.1)
        self.page = Page(await self.tab.read("document.documentElement.outerHTML"))
        if self.path or self.page.form("enter"):
            kind = self.participant.journey.stop.name if self.path else "entry"
            self.kinds.append(kind)
            if await self.tab.read("document.documentElement.scrollWidth > innerWidth"):
                self.wide.append(kind)
        return self.page

    async def press(self, form: Form, fields: Any) -> Page:
        await self.submit(form, fields)
        return await self.look()

    async def submit(self, form: Form, fields: Any) -> bool:
        """Submit a form and wait for the next page; return False if the form has disappeared."""
        before = await self.tab.read("performance.timeOrigin")
        submitted: bool = await self.tab.run(
            f"({FILL})(...{json.dumps([form.action, dict(fields)])})"
        )
        if submitted:
            await self.tab.until(
                f"performance.timeOrigin !== {before} && document.readyState === 'complete'"
            )
        return submitted

    async def step(self) -> Page:
        stop = self.participant.journey.stop
        if self.page.form("page") and isinstance(getattr(stop, "step", None), Quiz):
            (item,) = self.site.experiment.page_of(self.participant).items
            self.answers["quiz"] = next(iter(item.correct))
        return await super().step()
