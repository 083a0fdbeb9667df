"""Planning, running, resuming and monitoring studies from the command line."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.records.ledger.ledger import CallKey, Ledger
from cheaptalk.rules import counted
from tests.cli import CASES, write_study
from tests.cli.terminal import Terminal
from tests.conftest import Command
from tests.fakes import Canned, Server, broken, uncounting, with_model


@pytest.fixture(autouse=True)
def study_file(cheaptalk: Command) -> None:
    """Write the study file ``small.yaml`` to the working directory."""
    write_study()


def file_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# plan


def test_plan_shows_the_study_and_writes_nothing(cheaptalk: Command, tmp_path: Path) -> None:
    write_study(description="Two [small] ones.", instances=3)
    done = cheaptalk("plan small.yaml")
    assert done.status == 0
    assert "small: Two [small] ones." in done.out
    assert "bargaining  fair / firm        3" in done.out
    assert "bargaining: 1 configuration" in done.out
    assert "without a valid response" not in done.out, "no model plays"
    assert done.out.splitlines()[-1] == (
        "6 matches, none played yet (the store cheaptalk.sqlite does not exist)"
    )
    assert file_names(tmp_path) == {"small.yaml"}
    write_study()
    cheaptalk("run small.yaml")
    write_study(instances=3)
    done = cheaptalk("plan small.yaml")
    assert done.out.splitlines()[-1] == "6 matches, 2 already in the store cheaptalk.sqlite"


def test_plan_lists_every_match_on_request(cheaptalk: Command) -> None:
    data = cheaptalk("plan small.yaml --list-matches --json").json
    assert (data["matches"], data["settled"]) == (2, 0)
    assert [match["seating"] for match in data["plan"]] == [["fair", "firm"], ["firm", "fair"]]
    assert data["plan"][0]["parameters"]["horizon"] == {"rounds": 2, "hidden": False}
    lines = cheaptalk("plan small.yaml --list-matches").out.splitlines()
    for match, line in zip(data["plan"], lines, strict=False):
        assert line == f"{match['id']}  bargaining  {' / '.join(match['seating'])}  instance 0"


def test_plan_names_absent_players_and_truncates_lists_of_seatings(cheaptalk: Command) -> None:
    games = [{"game": "bargaining"}, {"game": "negotiation"}]
    players = {"luck": {"strategy": "random"}, "[fair]": {"strategy": "equal_split"}}
    write_study(games=games, players=players, pairing="all")
    done = cheaptalk("plan small.yaml")
    assert "[fair] does not play negotiation" in done.out.splitlines()
    assert cheaptalk("plan small.yaml --json").json["idle"] == [["[fair]", "negotiation"]]
    crowd = [{"game": "public_goods", "fixed": {"players": 8, "rounds": 1}}]
    players = {"one": {"strategy": "random"}, "two": {"strategy": "free_rider"}}
    write_study(games=crowd, players=players, pairing="all")
    out = cheaptalk("plan small.yaml").out
    assert "and 206 more rows (--json prints all)" in out
    assert "256 matches" in out


# --player


def test_player_option_adds_and_replaces_players(cheaptalk: Command, tmp_path: Path) -> None:
    write_study(pairing="self")
    data = cheaptalk(
        "plan small.yaml --list-matches --json --player slow=boulware --player "
        "tiny=vllm/tiny@http://localhost:1/v1 --player",
        "firm={strategy: fixed_demand, share: 0.9}",
    ).json
    assert [match["seating"][0] for match in data["plan"]] == ["fair", "firm", "slow", "tiny"]
    done = cheaptalk("run small.yaml", "--player", "firm={strategy: fixed_demand, share: 0.9}")
    assert done.status == 0
    with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
        firm = next(r for r in store.records("small") if r.label("alice") == "firm")
        assert firm.seats["alice"]["spec"]["settings"] == {"share": 0.9}
    assert "2 before, 0 now" in cheaptalk("resume small").out, "a resume keeps the players"


def test_invalid_player_option_prints_error(cheaptalk: Command) -> None:
    write_study(pairing="all")
    for option, message in CASES["invalid_player_option_prints_error"]:
        done = cheaptalk("plan small.yaml", "--player", option)
        assert message in done.rejection
    done = cheaptalk("plan small.yaml --player a=linear --player a=boulware")
    assert 'duplicate label "a"' in done.rejection


def test_player_outside_all_pairings_is_rejected(cheaptalk: Command, tmp_path: Path) -> None:
    for option, message in CASES["player_outside_all_pairings_is_rejected"]:
        for command in ["plan", "run"]:
            assert message in cheaptalk(command, "small.yaml", option).rejection
            assert file_names(tmp_path) == {"small.yaml"}
    write_study(pairing=[["fair", "firm"], ["gpt-4o", "fair"]])
    plan = "plan small.yaml --roster glee:gpt-4o,o3-mini --no-estimate"
    unseated = "o3-mini plays no game: no pairing includes it"
    assert unseated in cheaptalk(plan).out.splitlines(), "only some of the roster's players"
    assert cheaptalk(plan, "--json").json["unseated"] == ["o3-mini"]


# run, resume


def test_run_prints_a_summary_and_the_next_command(cheaptalk: Command, tmp_path: Path) -> None:
    done = cheaptalk("run small.yaml", "--store", "my store.sqlite")
    assert done.status == 0
    first, last = done.out.splitlines()
    assert first.startswith("small: 2 of 2 matches ended (0 before, 2 now in ")
    assert last == "write a report with: cheaptalk report small --store 'my store.sqlite'"
    again = cheaptalk("run small.yaml", "--store", "my store.sqlite", "--json").json
    assert again | {"seconds": 0} == CASES["run_prints_a_summary_and_the_next_command"]


def test_invalid_study_or_store_prints_error_and_writes_nothing(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.yaml").write_text("{")
    (tmp_path / "diary.txt").write_text("dear diary " * 100)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for command in ["plan", "run"]:
        for name, message in (
            ("nowhere.yaml", "nowhere.yaml: file not found"),
            ("quikstart", 'no study file, preset or stored study "quikstart" (did you mean "quick'),
            ("broken.yaml", "broken.yaml: cannot be read as YAML: "),
        ):
            assert cheaptalk(command, name).rejection.startswith(f"error: {message}")
    for command in CASES["invalid_store_prints_error"]:
        rejection = cheaptalk(*command, "--store", "diary.txt").rejection
        problem = "file is not a database: the file is damaged or not"
        assert rejection.startswith(f"error: diary.txt: {problem}")
    for changes, message in CASES["invalid_study_writes_nothing"]:
        write_study(**changes)
        assert cheaptalk("run small.yaml").rejection.startswith(f"error: {message}")
    assert (tmp_path / "diary.txt").read_text() == "dear diary " * 100
    assert file_names(tmp_path) == {"small.yaml", "broken.yaml", "diary.txt"}


@pytest.mark.usefixtures("importable")
@pytest.mark.usefixtures("importable")
def test_store_can_be_given_as_a_url(cheaptalk: Command, tmp_path: Path) -> None:
    url = ("--store", "sqlite:///there.sqlite")
    missing = "the store sqlite:///there.sqlite does not exist"
    assert missing in cheaptalk("plan small.yaml", *url).out
    assert cheaptalk("run small.yaml", *url).status == 0
    assert "there.sqlite" in file_names(tmp_path)
    assert cheaptalk("status", *url).out == cheaptalk("status --store there.sqlite").out
    assert cheaptalk("store doctor", *url).status == 0
    for command in ("run small.yaml", "plan small.yaml", "status", "store doctor"):
        done = cheaptalk(command, "--store", "papyrus://me:password@host/there")
        assert "papyrus://...: unknown kind of store" in done.said + done.out


def test_unknown_imported_or_invalid_stored_studies_cannot_be_run(cheaptalk: Command) -> None:
    with ct.Store.open("cheaptalk.sqlite", create=True) as store:
        store.register_study("theirs", {"imported": "glee"})
        store.register_study("small", {"name": "small", "players": {}})
    for command in ["resume", "status"]:
        rejection = cheaptalk(command, "smal").rejection
        assert 'no study "smal" (did you mean "small"?) in cheaptalk.sqlite' in rejection
    for command in ["resume", "run", "plan"]:
        rejection = cheaptalk(command, "theirs").rejection
        assert rejection == 'error: "theirs" was imported and cannot be run'
    assert cheaptalk("resume small").status == 2
    assert cheaptalk("status small").out.split()[-5:] == ["?", "0", "0", "0", "0"]
    studies = cheaptalk("status --json").json["studies"]
    assert [study["planned"] for study in studies] == [0, None]


# failing and halted runs


@pytest.fixture
def unreachable_study(study_file: None) -> None:
    """Write a study whose model's server is unreachable."""
    with Server() as server:
        url = server.url
    write_study(**with_model(url, deadline=5))


def test_run_with_failures_exits_with_status_1(
    cheaptalk: Command, unreachable_study: None, no_waits: None
) -> None:
    done = cheaptalk("run small.yaml")
    assert done.status == 1
    assert "small: 0 of 6 matches ended; 6 failed (0 before, 0 now in " in done.out
    reason = 'call for "alice" in request 0: no server answers at '
    assert f"bargaining, tiny / fair: {reason}" in done.out
    advice = "continue with: cheaptalk resume small --store cheaptalk.sqlite"
    assert done.out.splitlines()[-1] == f"6 remaining; {advice}"
    shown = cheaptalk("status").out
    assert shown.splitlines()[1].split() == ["small", "6", "0", "0", "0", "6"]
    assert "small: 6 x no server answers at " in shown
    (study,) = cheaptalk("status --json").json["studies"]
    unreached = study["cost"]["unreached"]
    assert (study["cost"]["calls"], unreached > 6) == (0, True)
    attempts = f"{unreached} attempts that did not reach a server"
    assert f"small: 0 calls, 0 tokens, $0.00, {attempts}" in shown.splitlines()
    allowed = cheaptalk("resume small --allow-failures --json")
    assert (allowed.status, allowed.json["played"]) == (0, {"failed": 6})


def test_exhausted_budget_exits_with_1_and_a_larger_one_continues(cheaptalk: Command) -> None:
    with Server() as server:
        write_study(**with_model(server.url), budget={"calls": 2})
        done = cheaptalk("run small.yaml --allow-failures")
        assert done.status == 1
        assert "halted: the budget of 2 calls is exhausted" in done.out.splitlines()
        advice = "increase the budget in the study file, then run: cheaptalk run FILE --store"
        assert advice in done.out
        assert "cheaptalk resume" not in done.out, "a resume would halt at once"
        write_study(**with_model(server.url), budget={"calls": 1000})
        assert cheaptalk("run small.yaml").status == 0
    assert len(server.calls) == len({number.rpartition("/")[0] for number in server.calls})


async def hang_up(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


RESUME = "limit calls instead: cheaptalk resume small"
IN_FILE = "in the study file, limit calls instead of tokens and dollars, then run: cheaptalk run"
INCREASE = "increase the budget in the study file, then run: cheaptalk run"


def test_uncounted_tokens_give_advice_on_other_caps(cheaptalk: Command, no_waits: None) -> None:
    for number, (handler, budget, option, advice) in enumerate(
        [
            (uncounting, {"tokens": 9_999}, (), IN_FILE),
            (uncounting, {}, ("--max-tokens", "9999"), RESUME),
            (hang_up, {}, ("--max-tokens", "999"), RESUME),
            (hang_up, {"tokens": 999}, (), INCREASE),
        ]
    ):
        with Server(handler=handler) as server:
            write_study(**with_model(server.url, tries=1), budget=budget)
            done = cheaptalk(f"run small.yaml --concurrency 1 --store {number}.sqlite", *option)
        assert (done.status, "halted: " in done.out) == (1, True)
        assert f" remaining; {advice}" in done.out.splitlines()[-1]


def test_unresolved_calls_of_a_killed_run_are_listed(cheaptalk: Command, tmp_path: Path) -> None:
    async def intend() -> None:
        with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store, Ledger(store) as ledger:
            await ledger.intend(CallKey("m", 0, "alice", 0), 1, {"model": "vllm/x"})

    def assert_listed(state: str) -> None:
        assert cheaptalk("status").out.splitlines()[-2:] == [
            "unresolved (possibly billed): 1 call",
            "  match m request 0 alice, attempt 1",
        ]
        (lost,) = cheaptalk("status --json").json["unresolved"]
        assert (lost["match_id"], lost["state"]) == ("m", state)

    cheaptalk("run small.yaml")
    asyncio.run(intend())
    assert_listed("sent")
    write_study(instances=2)
    assert "  1 call of earlier runs never received a resp" in cheaptalk("run small.yaml").out
    assert_listed("unresolved")


def test_long_lists_of_problems_are_truncated(
    cheaptalk: Command, no_waits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Canned(lambda call, number: broken(number, retry=False))
    write_study(**with_model() | {"instances": 7})
    run = ct.run

    def with_models(planned: ct.studies.Plan, store: ct.Store, **options: Any) -> ct.Progress:
        return run(planned, store, models=models, **options)

    monkeypatch.setattr(ct, "run", with_models)
    done = cheaptalk("run small.yaml")
    assert "  and 4 further problems; to list all, run: cheaptalk status" in done.out.splitlines()


# reports of a run

SILENT: dict[str, Any] = CASES["silent_model"]
"""A model that never answers, in a game that then ends by its own rule."""


def test_dropped_and_replaced_matches_are_reported_everywhere(cheaptalk: Command) -> None:
    write_study(**SILENT)
    policy = "illegal dropped, refused replaced (at most once), all others kept"
    policy += " (except left, stood in)"
    plan = cheaptalk("plan small.yaml")
    assert f"matches without a valid response: {policy}" in plan.out.splitlines()
    kept = cheaptalk("plan small.yaml --json").json["unanswered"]
    assert (kept["refused"], kept["truncated"], kept["max_replacements"]) == ("replace", "keep", 1)
    summary = "4 matches excluded from metrics, 2 replacement matches"
    done = cheaptalk("run small.yaml")
    assert "small: 4 of 4 matches ended (0 before, 4 now in " in done.out
    assert f"  {summary}" in done.out.splitlines()
    again = cheaptalk("resume small --json").json
    assert (again["planned"], again["dropped"], again["replaced"]) == (4, 4, 2)
    assert f"small: {summary}" in cheaptalk("status").out.splitlines()
    (study,) = cheaptalk("status --json").json["studies"]
    assert (study["matches"], study["dropped"], study["replaced"]) == ({"finished": 4}, 4, 2)
    first, again = cheaptalk("plan small --list-matches --json").json["plan"][::2]
    shown = cheaptalk("match show", again["id"]).out.splitlines()
    assert "excluded from the metrics of small: player_1 refused" in shown
    assert f"replaces match {first['id']}" in shown
    (standing,) = cheaptalk("match show", again["id"], "--json").json["studies"]
    dropped = {"dropped": True, "dropped_because": "player_1 refused"}
    assert standing == {"study": "small", "replaces": first["id"], "planned": True} | dropped


def test_status_shows_why_the_last_run_halted(cheaptalk: Command) -> None:
    players = SILENT["players"] | {"no": {"model": "script/legal"}}
    write_study(**SILENT | {"players": players}, budget={"calls": 1})
    assert cheaptalk("run small.yaml").status == 1
    halted = "the budget of 1 call is exhausted"
    assert f"small: the last run halted: {halted}" in cheaptalk("status").out.splitlines()
    assert cheaptalk("status --json").json["studies"][0]["halted"] == halted
    write_study(**SILENT | {"players": players})
    assert cheaptalk("run small.yaml").status == 0
    assert "halted" not in cheaptalk("status").out
    assert cheaptalk("status --json").json["studies"][0]["halted"] is None


def test_invalid_answers_are_reported_per_model(cheaptalk: Command) -> None:
    players = {"mute": {"model": "script/refuse"}, "well": {"model": "script/legal"}}
    write_study(players=players, pairing=[["mute", "well"], ["well", "well"]])
    done = cheaptalk("run small.yaml --store s.sqlite")
    answers = cheaptalk("run small.yaml --store t.sqlite --json").json["answers"]
    refused, valid = answers["mute"]["refused"], answers["well"]["ok"]
    assert f"  mute: {counted(refused, 'response')}, 100.0 % refused" in done.out.splitlines()
    assert f"  well: {counted(valid, 'response')}, 100.0 % ok" in done.out.splitlines()
    write_study(players=players, pairing=[["well", "well"]])
    assert " responses, " not in cheaptalk("run small.yaml --store u.sqlite").out, "all are valid"


# a study that differs from the stored one


SUPERSEDED = "small: 5 of 9 recorded matches would be superseded, and 0 would be new"


@pytest.fixture
def changed(cheaptalk: Command) -> Command:
    """Run the study with a player that its file does not contain."""
    write_study(pairing="all")
    assert cheaptalk("run small.yaml --player extra=boulware").status == 0
    return cheaptalk


def test_matches_are_superseded_only_if_confirmed(changed: Command, tmp_path: Path) -> None:
    before = (tmp_path / "cheaptalk.sqlite").read_bytes()
    refused = changed("run small.yaml")
    assert refused.status == 2
    assert "small: players.extra is missing (stored: {" in refused.err
    assert SUPERSEDED in refused.err.splitlines()
    assert "confirm with --yes" in refused.said
    assert SUPERSEDED in changed("plan small.yaml").out.splitlines()
    changes = changed("plan small.yaml --json").json["changes"]
    assert (changes["recorded"], changes["set_aside"], changes["planned"]) == (9, 5, 4)
    assert changes["differences"][0].startswith("players.extra is missing (stored: ")
    assert (tmp_path / "cheaptalk.sqlite").read_bytes() == before
    again = changed("resume small")
    assert (again.status, "9 of 9 matches ended (9 before" in again.out) == (0, True)
    allowed = changed("run small.yaml --yes")
    assert (allowed.status, "5 matches superseded" in allowed.out) == (0, True)


def test_adding_matches_requires_no_confirmation(changed: Command) -> None:
    done = changed("run small.yaml --player extra=boulware --player more=linear")
    assert done.status == 0
    assert "small: 9 recorded matches kept, and 7 new" in done.err.splitlines()
    same = changed("run small.yaml --player extra=boulware --player more=linear")
    assert "recorded" not in same.err


def test_terminal_prompts_for_confirmation(changed: Command, tmp_path: Path) -> None:
    for answer, expected, text, finished in (("n", 1, "", 9), ("y", 0, "\nsmall: 4 of 4 match", 4)):
        with Terminal("run", "small.yaml", folder=tmp_path) as screen:
            screen.read_until("Continue? [y/N]: ")
            screen.type(answer)
            status, end = screen.ends()
        assert (status, text in end) == (expected, True), end
        with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
            assert store.study("small").counts == {"finished": finished}


def test_run_notes_added_players_without_matches(cheaptalk: Command) -> None:
    added = ("run", "quickstart", "--player", "mine=linear", "--max-matches")
    note = "note: mine does not play in this run of 1 match; to include more matches, change"
    assert note in cheaptalk(*added, "1").said
    assert "does not play in this run" not in cheaptalk(*added, "60").said
