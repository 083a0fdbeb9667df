"""Filters, search and order of the console's table of participants."""

import re

from cheaptalk.web.bots.pages import Page
from tests.web.laboratory.lab import TEXT, Site
from tests.web.laboratory.test_control_pages import BASE, act
from tests.web.participants.comers import Comer

CODES = re.compile(r'class="name"><a href="[^"]*/(\w+)"')
LABEL = re.compile(r'<span class="label">(\w+)</span> (?:<b>)?([A-Z][^<]*\.)?')


async def codes(lab: Site, query: str) -> list[str]:
    return CODES.findall((await lab.get(BASE + query)).text)


async def three(lab: Site) -> list[Comer]:
    """Return three participants, in the order of arrival; the second one is paused."""
    await lab.open_study()
    await lab.log_in()
    comers = [await lab.comer(name) for name in ("ann", "bob", "cleo")]
    await act(lab, "pause", comers[1])
    return comers


async def test_filters_and_search_select_participants(lab: Site) -> None:
    ann, bob, cleo = [comer.participant.code for comer in await three(lab)]
    assert await codes(lab, "") == [ann, bob, cleo]
    assert await codes(lab, "?state=paused") == [bob]
    assert await codes(lab, "?state=answering") == [ann, cleo]
    assert await codes(lab, f"?code=%20{cleo[2:9].upper()}") == [cleo]
    assert await codes(lab, f"?code={cleo}&state=paused") == []
    assert await codes(lab, "?treatment=none") == []
    assert await codes(lab, "?at=complete") == []


async def test_columns_sort_in_both_directions(lab: Site) -> None:
    comers = [comer.participant.code for comer in await three(lab)]
    assert await codes(lab, "?sort=participant") == sorted(comers)
    assert await codes(lab, "?sort=-participant") == sorted(comers, reverse=True)
    assert await codes(lab, "?sort=-arrived") == comers[::-1]
    assert (await codes(lab, "?sort=-state"))[0] == comers[1]
    assert await codes(lab, "?sort=unknown") == comers
    for column in re.findall(r"\?sort=(\w+)", (await lab.get(BASE)).text):
        assert sorted(await codes(lab, f"?sort={column}")) == sorted(comers), column


async def test_links_and_actions_keep_filter_and_order(lab: Site) -> None:
    ann, _, cleo = await three(lab)
    page = (await lab.get(f"{BASE}?state=answering&sort=-arrived")).text
    assert "?state=answering&amp;sort=arrived#table" in page
    assert 'aria-sort="descending"' in page
    assert '<input type="hidden" name="sort" value="-arrived">' in page
    sent = page.partition('id="selected" method="post" action="/console')[2].partition('"')[0]
    form = {"code": [ann.participant.code, cleo.participant.code], "action": "pause"}
    csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
    to = f"/console{sent.replace('&amp;', '&')}"
    done = await lab.client.post(to, data={"csrf": csrf} | form)
    location = done.headers["location"]
    assert location.startswith(f"/console{BASE}?state=answering&sort=-arrived&said=")
    shown = " ".join(Page((await lab.client.get(location)).text).words.split())
    assert "Done for 2 participants." in shown
    assert "No participants match." in shown
    assert "Paused: 3" in shown


async def test_state_of_recruitment_has_one_label_with_its_reason(lab: Site) -> None:
    await lab.open_study(TEXT.replace("source: prolific", "source: prolific\n    places: 1"))
    await lab.log_in()
    await lab.comer("ann")

    async def states() -> set[tuple[str, str]]:
        """Return the label and the text after it on both pages with the state."""
        pages = [(await lab.get(path)).text for path in (BASE, "/studies/people/overview")]
        return {(found[1], found[2]) for page in pages if (found := LABEL.search(page))}

    assert await states() == {("full", "All places are taken.")}
    await lab.post(f"{BASE}/recruit", BASE, state="paused")
    assert await states() == {("paused", "A researcher has paused recruitment.")}
    await lab.post(f"{BASE}/pause", BASE)
    assert await states() == {("paused", "All participants are paused.")}
