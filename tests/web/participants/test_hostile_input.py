"""Whatever is sent to a participant's pages, a page says what was wrong, and the path goes on."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.web.rooms.limits import Limit
from cheaptalk.web.tries import Tries
from tests.web.asker import NASTY, SCRIPT, WILD, Asker, encoded
from tests.web.participants.comers import PEOPLE, Comer, Open, opened, people_study
from tests.web.walker import LINKS

ITEMS = [
    {"name": "pick", "ask": "Which?", "choices": ["one", "two"]},
    {"name": "rate", "ask": "How?", "scale": {}}, {"name": "age", "ask": "Age?", "number": [1, 99]},
    {"name": "why", "ask": "Why?", "optional": True},
]  # fmt: skip
RIGHT = [{"name": "sure", "ask": "Sure?", "choices": ["yes", "no"], "right": ["yes", "no"]}]
STUDY = people_study(
    [["people", "bot"], ["people", "people"]],
    deals=10_000,
    path=[
        PEOPLE["path"][0], "first_name", {"screening": RIGHT},
        {"comprehension": {"name": "again", "items": RIGHT}},
        {"games": {
            "most": 2, "may_stop": True, "attention": {"after": [0, 0], "otherwise": "go_on"},
            "lobby": {"minutes": 0.0001, "stand_ins": True},
            "before": [{"instructions": {"pages": ["Read."], "game": True, "code_word": "w"}}],
        }},
        {"survey": ITEMS}, {"debrief": "Thanks."},
    ],
    limits={"visits": 3},
)  # fmt: skip
DEEDS = (
    "page", "answer", "notice", "done", "leave", "give_up", "back", "again", "fill", "nothing",
)  # fmt: skip
FIELDS = (
    "number", "agreed", "statement_0", "name", "neutral", "sure", "code_word", "more", "again",
    "pick", "rate", "age", "why", "notice", "text", "question", "decision", "erase", "x",
)  # fmt: skip


class Study(Asker):
    """A study that stays open from one example to the next, and somebody who goes its path."""

    def __init__(self, runner: asyncio.Runner, there: Open) -> None:
        super().__init__(runner, there.client)
        self.there = there
        self.came = 0
        self.comer = self.next_comer()

    def next_comer(self) -> Comer:
        self.came += 1
        comer = self.there.comer(f"Ada-{self.came}")
        self.run(comer.come())
        return comer

    @property
    def at(self) -> Comer:
        """Somebody who has not ended."""
        if self.comer.code not in self.there.experiment.people or self.comer.who.ending:
            self.comer = self.next_comer()
        return self.comer


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """A study of every kind of step, where nobody asks too often."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        patch.setattr(Limit, "allows", lambda limit, who: True)
        patch.setattr(Tries, "wait", lambda tries, who: 0.0)
        there = opened(tmp_path_factory.mktemp("study"), STUDY)
        yield Study(runner, runner.run(there.__aenter__()))
        runner.run(there.__aexit__(None, None, None))


@given(
    deed=st.sampled_from(DEEDS), steps=st.integers(0, 2), right=st.booleans(),
    drawn=st.lists(st.tuples(st.sampled_from(FIELDS), WILD), max_size=5),
)  # fmt: skip
def test_no_form_fails_whatever_it_holds(
    study: Study, deed: str, steps: int, right: bool, drawn: list[tuple[str, bytes]]
) -> None:
    comer = study.at
    for _ in range(steps):
        if not comer.who.ending:
            study.run(comer.step())
    study.run(study.there.supervisor.mind(0.0))
    number = str(len(comer.who.journey.responses)).encode()
    notice = str(comer.who.notice.id if comer.who.notice else 0).encode()
    known = [("number", number), ("notice", notice)] if right else []
    named = {name for name, _ in known}
    before = [one.answer for one in comer.who.journey.responses]
    sent = [*known, *(one for one in drawn if one[0] not in named)]
    study.ask("POST", f"{comer.path}/{deed}", encoded(sent))
    assert [one.answer for one in comer.who.journey.responses][: len(before)] == before
    assert study.ask("GET", comer.path).status == 200


@given(data=st.data())
def test_no_address_fails(study: Study, data: st.DataObject) -> None:
    token = study.at.path.rpartition("/")[2]
    wild = st.one_of(
        st.text(max_size=20),
        st.sampled_from([*NASTY, token, LINKS.token("nobody"), "p", "..", "events", "%00"]),
    )
    stems = ["/", "/enter", "/gone", "/p/", f"/p/{token}/", "/static/", "/nowhere/", "/open"]
    path = data.draw(st.sampled_from(stems)) + "/".join(data.draw(st.lists(wild, max_size=2)))
    asked = ["", "?PROLIFIC_PID=", f"?PROLIFIC_PID={SCRIPT}&cohort=x", "?lang=de", "?after=²&%ff="]
    query = data.draw(st.sampled_from(asked))
    method = data.draw(st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"]))
    names = st.sampled_from(["known_by", "more", "cohort", "erase", *FIELDS])
    pairs = data.draw(st.lists(st.tuples(names, WILD), max_size=3))
    cookie = data.draw(st.sampled_from(["", f"participant={token}", "participant=\x00", "=;="]))
    study.ask(method, path + query, encoded(pairs), cookie=cookie)


@given(known_by=WILD, more=WILD, cohort=WILD)
def test_whoever_enters_comes_in_or_is_told_why_not(
    study: Study, known_by: bytes, more: bytes, cohort: bytes
) -> None:
    pairs = [("known_by", known_by), ("more", more)]
    entered = study.ask("POST", "/enter", encoded(pairs))
    assert entered.status in (303, 400, 413)
    if entered.status == 303:
        assert study.ask("GET", entered.headers["location"]).status == 200
    elsewhere = study.ask("POST", "/enter", encoded([*pairs, ("cohort", cohort)]))
    assert elsewhere.status in (entered.status, 400, 413)
