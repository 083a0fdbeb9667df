"""Hostile input to participants' pages: errors are explained, and the path continues."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.web.posted import Limit, LoginThrottle
from tests.web.asker import NASTY, SCRIPT, WILD, DirectClient, encode_form
from tests.web.participants.comers import PEOPLE, Comer, Open, opened, people_study
from tests.web.walker import LINKS

ITEMS = [
    {"name": "pick", "ask": "Which?", "choices": ["one", "two"]},
    {"name": "rate", "ask": "How?", "scale": {}},
    {"name": "age", "ask": "Age?", "number": [1, 99]},
    {"name": "feedback", "ask": "Why?", "optional": True},
    {"name": "ticks", "ask": "Which?", "checkboxes": {"rows": ["a", "b"], "max": 1}},
    {"name": "order", "ask": "Which first?", "ranking": ["a", "b"]},
    {"name": "split", "ask": "How much?", "allocation": ["a", "b"]},
    {"name": "grid", "ask": "How far?", "grid": {"rows": ["a", "b"]}},
    {"name": "born", "ask": "When?", "date": {}},
    {"name": "slide", "ask": "Where?", "slider": {}},
]
NOTE = {"name": "note", "ask": "Note?"}
OWN_PAGE = {"template": "{{ values.feedback }}{{ fields.note }}", "items": [NOTE]}
RIGHT = [{"name": "sure", "ask": "Sure?", "choices": ["yes", "no"], "correct": ["yes", "no"]}]
STUDY = people_study(
    [["people", "bot"], ["people", "people"]],
    instances=10_000,
    path=[
        PEOPLE["path"][0], "first_name", {"screening": RIGHT},
        {"comprehension": {"name": "again", "items": RIGHT}},
        {"games": {
            "max": 2, "can_stop": True, "attention": {"after": [0, 0], "on_fail": "go_on"},
            "lobby": {"minutes": 0.0001, "substitutes": True},
            "before": [{"instructions": {"pages": ["Read."], "game": True, "code_word": "w"}}],
        }},
        {"survey": ITEMS}, {"page": OWN_PAGE}, {"debrief": "{feedback}, {age}, {note}, {payoff}"},
    ],
    limits={"visits": 3},
)  # fmt: skip
DEEDS = (
    "page", "answer", "notice", "done", "leave", "give_up", "back", "again", "fill", "nothing",
)  # fmt: skip
FIELDS = (
    "page-number", "agreed", "statement_0", "name", "neutral", "sure", "code_word", "more", "again",
    "pick", "rate", "age", "feedback", "ticks.a", "order.a", "order.b", "split.a", "split.b",
    "grid.a", "grid.b", "born", "slide", "note", "notice", "text",
    "question", "decision", "erase", "x",
)  # fmt: skip


class Study(DirectClient):
    """A study that stays open between examples, and a participant on its path."""

    def __init__(self, runner: asyncio.Runner, site: Open) -> None:
        super().__init__(runner, site.client)
        self.site = site
        self.came = 0
        self.comer = self.next_comer()

    def next_comer(self) -> Comer:
        self.came += 1
        comer = self.site.comer(f"Ada-{self.came}")
        self.run(comer.come())
        return comer

    @property
    def active_comer(self) -> Comer:
        if self.comer.code not in self.site.experiment.people or self.comer.participant.ending:
            self.comer = self.next_comer()
        return self.comer


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """A study with every kind of step and without rate limits."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        patch.setattr(Limit, "allows", lambda limit, participant: True)
        patch.setattr(LoginThrottle, "wait", lambda tries, participant: 0.0)
        site = opened(tmp_path_factory.mktemp("study"), STUDY)
        yield Study(runner, runner.run(site.__aenter__()))
        runner.run(site.__aexit__(None, None, None))


@given(
    deed=st.sampled_from(DEEDS), steps=st.integers(0, 2), correct=st.booleans(),
    drawn_fields=st.lists(st.tuples(st.sampled_from(FIELDS), WILD), max_size=5),
)  # fmt: skip
def test_arbitrary_forms_cause_no_server_error(
    study: Study, deed: str, steps: int, correct: bool, drawn_fields: list[tuple[str, bytes]]
) -> None:
    comer = study.active_comer
    for _ in range(steps):
        if not comer.participant.ending:
            study.run(comer.step())
    study.run(study.site.supervisor.check(0.0))
    number = str(len(comer.participant.journey.responses)).encode()
    notice = str(comer.participant.notice.id if comer.participant.notice else 0).encode()
    known = [("page-number", number), ("notice", notice)] if correct else []
    named = {name for name, _ in known}
    before = [response.answer for response in comer.participant.journey.responses]
    sent = [*known, *(item for item in drawn_fields if item[0] not in named)]
    study.request("POST", f"{comer.path}/{deed}", encode_form(sent))
    assert [response.answer for response in comer.participant.journey.responses][
        : len(before)
    ] == before
    assert study.request("GET", comer.path).status == 200


@given(data=st.data())
def test_arbitrary_addresses_cause_no_server_error(study: Study, data: st.DataObject) -> None:
    token = study.active_comer.token
    wild = st.one_of(
        st.text(max_size=20),
        st.sampled_from([*NASTY, token, LINKS.token("nobody"), "p", "..", "events", "%00"]),
    )
    stems = ["/", "/enter", "/gone", "/p/", f"/p/{token}/", "/static/", "/nowhere/", "/open"]
    path = data.draw(st.sampled_from(stems)) + "/".join(data.draw(st.lists(wild, max_size=2)))
    queries = [
        "",
        "?PROLIFIC_PID=",
        f"?PROLIFIC_PID={SCRIPT}&cohort=x",
        "?lang=de",
        "?after=²&%ff=",
    ]
    query = data.draw(st.sampled_from(queries))
    method = data.draw(st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"]))
    names = st.sampled_from(["known_by", "more", "cohort", "erase", *FIELDS])
    pairs = data.draw(st.lists(st.tuples(names, WILD), max_size=3))
    cookie = data.draw(st.sampled_from(["", f"participant={token}", "participant=\x00", "=;="]))
    study.request(method, path + query, encode_form(pairs), cookie=cookie)


@given(known_by=WILD, more=WILD, cohort=WILD)
def test_arbitrary_entries_are_admitted_or_rejected(
    study: Study, known_by: bytes, more: bytes, cohort: bytes
) -> None:
    pairs = [("known_by", known_by), ("more", more)]
    entered = study.request("POST", "/enter", encode_form(pairs))
    assert entered.status in (303, 400, 413)
    if entered.status == 303:
        assert study.request("GET", entered.headers["location"]).status == 200
    elsewhere = study.request("POST", "/enter", encode_form([*pairs, ("cohort", cohort)]))
    assert elsewhere.status in (entered.status, 400, 413)
