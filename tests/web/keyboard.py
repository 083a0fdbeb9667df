"""A person who uses pages only with the keyboard, and sees what has the focus."""

from typing import NamedTuple

from tests.reports.browser import Tab

MAX_STOPS = 400
"""Number of times that Tab is pressed before a target counts as unreachable."""
FOCUS = """(() => {
  const focused = document.activeElement;
  if (focused === document.body) return "";
  const style = getComputedStyle(focused), box = focused.getBoundingClientRect();
  const name = focused.id || focused.name || focused.textContent.trim().slice(0, 40);
  const fail = (problem) => `${problem}: ${focused.tagName} ${name}`;
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2)
    return fail("no outline");
  if (box.width < 2 || box.height < 2) return fail("invisible");
  const x = box.left + Math.min(box.width / 2, 20), y = box.top + Math.min(box.height / 2, 20);
  const top = document.elementFromPoint(x, y);
  if (!top) return fail("outside the window");
  const isLabel = [...(focused.labels || [])].some(label => label.contains(top));
  return focused.contains(top) || top.contains(focused) || isLabel ? "" : fail("covered");
})()"""
"""Why the user cannot see the focused element; empty if they can."""
STAYED = """(previous => (window.previous = document.activeElement) === previous
  && previous !== document.body)(window.previous)"""
"""Whether the focus has not moved since the last time."""
PARTS_OF_DATES = 5
"""Number of times that Tab can stay in a field, such as in the parts of a date."""


class Keyboard(NamedTuple):
    """The keyboard of a browser's tab; ``hidden`` collects elements whose focus is not visible."""

    tab: Tab
    hidden: list[str]

    async def reach(self, selector: str, key: str = "Tab") -> None:
        """Press Tab until an element has the focus."""
        stays = 0
        for _ in range(MAX_STOPS):
            if await self.tab.run(f"document.activeElement.matches({selector!r})"):
                return
            await self.tab.press(key)
            if problem := await self.tab.run(FOCUS):
                self.hidden.append(f"{await self.tab.run('location.pathname')}: {problem}")
            stays = stays + 1 if await self.tab.run(STAYED) else 0
            assert stays < PARTS_OF_DATES, f"the focus is trapped before {selector}"
        raise AssertionError(f"{selector} cannot be reached by keyboard")

    async def activate(self, selector: str, key: str = "Enter") -> None:
        """Press a link or button, and wait for the page that follows."""
        await self.reach(selector)
        await self.tab.run("window.left = true")
        await self.tab.press(key)
        await self.tab.until("!window.left && document.readyState === 'complete'")

    async def fill(self, selector: str, text: str) -> None:
        """Replace the text of a field."""
        await self.reach(selector)
        await self.tab.run("document.activeElement.select?.()")
        await self.tab.write(text)

    async def open(self, field: str) -> None:
        """Open the groups of settings that contain a field."""
        closed = f"details:not([open]):has({field})"
        while await self.tab.run(f"document.querySelector({closed!r}) !== null"):
            await self.reach(f"{closed} > summary")
            await self.tab.press("Space")
