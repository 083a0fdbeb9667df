"""Exports: tables, the codebook, file formats, and failures."""

import csv
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.players import Kind
from cheaptalk.processes import Processes, processes
from cheaptalk.records import AnswerRecord, MatchEnd, NewMatch, Store, StoreError, match_end
from cheaptalk.records.exports import sheets as writing
from cheaptalk.records.exports.columns import shared_columns
from cheaptalk.records.exports.sheets import csv_line
from cheaptalk.records.exports.tables import answer_columns, match_columns
from cheaptalk.records.record import failed
from cheaptalk.records.store import parts, schema
from cheaptalk.rules import Chance, CheaptalkError, Table, UnknownName, games, get_game
from cheaptalk.studies.exports.codebook import CodebookEntry
from cheaptalk.studies.exports.exporter import export
from tests.conftest import Command
from tests.played import CROWD
from tests.records.stored import call_row, insert_calls
from tests.records.stored import read_csv as read

NASTY = 'Two lines,\r\nand "quotes"; ünïcode \u2028 \U0001f600, a tab\t, a NUL \0 and a | bar.\n'
REPLY = {
    "text": f"Well…\n{NASTY}", "model": "acme-1", "finish": "stop", "seconds": 1.5,
    "usage": {"input_tokens": 100, "output_tokens": 20},
}  # fmt: skip
CALL = {
    "model": "acme/talk", "settings": {"temperature": 0.5},
    "messages": [{"role": "system", "content": NASTY}, {"role": "user", "content": "Go on."}],
}  # fmt: skip


def study() -> ct.Study:
    return ct.studies.parse_study(
        {
            "name": "mixed",
            "games": [
                {"game": "bargaining", "fixed": {"discounts": [0.8, 0.9], "horizon": 3}},
                {"game": "negotiation", "fixed": {"horizon": {"rounds": 30, "hidden": True}}},
                {"game": "persuasion", "grid": {"signal": ["text", "binary"]}},
            ],
            "players": {"luck": {"strategy": "random"}},
            "instances": 3,
        },
        "test",
    )


def add_match(store: Store, id_: str, end: MatchEnd, study: str = "models") -> None:
    """Add a bargaining match between two models to a separate study."""
    number = store.register_study(study, {"players": {}})
    game = get_game("bargaining").rules.model_validate({})
    parameters = game.model_dump(mode="json")
    configurations = {"c": (game.name, game.version, parameters)}
    configuration = store.register_configurations(configurations)["c"]
    player = store.register_players({"p": {"model": "acme/talk"}})["p"]
    store.register_roster(number, {player: "talk"})
    seats = {"alice": player, "bob": player}
    store.add(number, [NewMatch(id_, configuration, "0", 0, seats, end)])


def model_match(
    reply: dict[str, Any] = REPLY, call: dict[str, Any] = CALL, **noted: Any
) -> MatchEnd:
    """Return a match between models, one of which repaired an unreadable reply."""
    game = get_game("bargaining").rules.model_validate({})
    table = Table(game, game.draw_instance(Chance("s")), "s")
    offer = {"alice_gain": 6000.5, "bob_gain": 3999.5, "message": NASTY}
    moves: list[tuple[str, Kind, dict[str, Any]]] = [
        ("alice", Kind.REPAIRED, offer),
        ("bob", Kind.OK, {"decision": "accept"}),
    ]
    answers = []
    for request, (seat, kind, action) in enumerate(moves):
        calls = [{"call": call, "reply": reply, "sending": 1} | noted] * (
            2 if kind is Kind.REPAIRED else 1
        )
        (ask,) = table.pending.values()
        table.answer(seat, ask.action.model_validate(action))
        answers.append(AnswerRecord(request, seat, kind, action, calls))
    return match_end(table, "s", answers)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("exports") / "s.sqlite"
    with Store.open(path, create=True) as opened:
        ct.run(study(), opened)
        add_match(opened, "asked", model_match())
        add_match(opened, "broken", failed("the provider is down", "t"))
        lost = call_row("broken", 0, "unresolved", call=CALL, reply=None)
        insert_calls(opened, lost | {"try": 2})
        yield opened


@pytest.fixture(scope="module")
def mixed(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripted study as CSV."""
    return export(store, "mixed", tmp_path_factory.mktemp("mixed") / "out").path


@pytest.fixture(scope="module")
def models(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of models as CSV."""
    return export(store, "models", tmp_path_factory.mktemp("models") / "out").path


# Tables


def test_columns_describe_parameters_seats_outcomes_and_metrics(
    mixed: Path, store: Store, models: Path
) -> None:
    rows = {row["game"]: row for row in read(mixed / "matches.csv")}
    bargaining, negotiation = rows["bargaining"], rows["negotiation"]
    assert (bargaining["game_discounts_alice"], bargaining["game_discounts_bob"]) == ("0.8", "0.9")
    assert (bargaining["game_horizon_rounds"], bargaining["game_horizon_hidden"]) == ("3", "false")
    assert (negotiation["game_horizon_rounds"], negotiation["game_horizon_hidden"]) == (
        "30",
        "true",
    )
    assert negotiation["game_discounts_alice"] == ""
    assert rows["persuasion"]["game_signal"] in ("text", "binary")
    assert json.loads(rows["persuasion"]["instance_qualities"]).__len__() == 20
    for row in rows.values():
        assert (row["player_alice"], row["player_bob"]) == ("luck", "luck")
        assert row["study"] == "mixed"
    scripted, talking = (read(path / "matches.csv")[0] for path in (mixed, models))
    record = next(store.records("mixed"))
    assert (scripted["kind_bob"], scripted["model_bob"]) == ("strategy", "")
    assert json.loads(scripted["settings_bob"]) == record.seats["bob"]["spec"]
    assert (talking["kind_bob"], talking["model_bob"]) == ("model", "acme/talk")
    assert json.loads(talking["settings_bob"]) == {"model": "acme/talk"}
    games_played = read(mixed / "matches.csv")
    prices = {row["game"]: (row["game_price"], row["price_factor"]) for row in games_played}
    assert prices["persuasion"] == ("100", "")
    assert prices["negotiation"][0] == ""
    assert prices["bargaining"] == ("", "")


def test_outcomes_payoffs_and_metrics_are_columns(store: Store, mixed: Path) -> None:
    rows = {row["match_id"]: row for row in read(mixed / "matches.csv")}
    records = {record.id: record for record in store.records("mixed", bodies=True)}
    assert rows.keys() == records.keys()
    for id_, record in records.items():
        row = rows[id_]
        assert record.payoffs is not None
        for role, payoff in record.payoffs.items():
            assert float(row[f"payoff_{role}"]) == payoff
        for metric in get_game(record.game).metrics.values():
            assert row[metric.name] == format_number(metric.of(record.result()))
            if metric.published:
                assert row[f"{metric.name}_published"] == format_number(
                    metric.published(record.result())
                )
        assert row["outcome_stage"] == format_number((record.outcome or {}).get("stage"))
        assert row["answers_alice_ok"] == str(record.kinds["alice"]["ok"])
        assert row["answers_alice_refused"] == "0"
        assert record.begun is not None
        assert record.finished is not None
        assert record.begun <= record.finished
        assert "1970" < row["started_at"] <= row["ended_at"]


def format_number(number: float | None) -> str:
    return "" if number is None else repr(int(number) if number % 1 == 0 else number)


def test_answers_contain_actions_as_fields_and_json(store: Store, mixed: Path) -> None:
    given: dict[tuple[str, str, str], AnswerRecord] = {
        (record.id, str(answer.request), answer.actor): answer
        for record in store.records("mixed", bodies=True)
        for answer in record.answers
    }
    rows = read(mixed / "answers.csv")
    assert len(rows) == len(given)
    assert read(mixed / "calls.csv") == []
    for row in rows:
        answer = given[row["match_id"], row["request"], row["actor"]]
        action = answer.action or {}
        assert json.loads(row["action"]) == action
        assert row["message"] == action.get("message", "")
        assert row["decision"] == action.get("decision", "")
        assert row["price"] == format_number(action.get("price"))
        assert (row["kind"], row["player"], row["calls"]) == ("ok", "luck", "0")
        assert row["role"] == row["actor"].partition("_")[0]
        assert (row["model"], row["reply"], row["latency"]) == ("", "", "")


def test_exported_calls_contain_messages_replies_and_times(models: Path) -> None:
    offer, reply = read(models / "answers.csv")
    assert offer["message"] == NASTY
    assert offer["reply"] == REPLY["text"]
    assert (offer["kind"], reply["kind"]) == ("repaired", "ok")
    assert (offer["calls"], offer["input_tokens"], offer["output_tokens"]) == ("2", "200", "40")
    assert (offer["latency"], offer["model"]) == ("3", "acme-1")
    assert reply["input_tokens"] == "100"
    rows = read(models / "calls.csv")
    assert [(row["match_id"], row["call_index"], row["state"]) for row in rows] == [
        ("asked", "0", "answered"), ("asked", "1", "answered"), ("asked", "0", "answered"),
        ("broken", "0", "unresolved"),
    ]  # fmt: skip
    for row in rows:
        assert json.loads(row["messages"]) == CALL["messages"]
        assert json.loads(row["settings"]) == CALL["settings"]
        assert (row["requested_model"], row["page"]) == ("acme/talk", "")
    assert rows[0]["reply"] == REPLY["text"]
    assert (rows[3]["reply"], rows[3]["attempt"], rows[3]["input_tokens"]) == ("", "2", "")


def test_calls_contain_request_details_and_times(store: Store, tmp_path: Path) -> None:
    url = "http://gpu:8000/v1"
    form = {"name": "Offer", "json_schema": {"type": "object"}, "route": "auto"}
    call = CALL | {"model": f"vllm/tiny@{url}", "form": form}
    back = {
        "route": "tool", "sent": {"temperature": 0.5, "seed": 7}, "fingerprint": "fp_1",
        "tools": ["Offer"], "reasoning": "=Hm.",
    }  # fmt: skip
    end = model_match(REPLY | back, call, sent=1.5, received=2.0, bought_by="another")
    add_match(store, "sent", end, study="sent")
    first = read(export(store, "sent", tmp_path / "out").path / "calls.csv")[0]
    assert json.loads(first["form"]) == form
    assert json.loads(first["sent"]) == back["sent"]
    assert json.loads(first["tools"]) == ["Offer"]
    assert [first[name] for name in (
        "player", "route", "endpoint", "fingerprint", "reasoning", "sent_at", "answered_at",
        "bought_by", "cached",
    )] == [
        "talk", "tool", url, "fp_1", "'=Hm.", "1970-01-01T00:00:01.500000Z",
        "1970-01-01T00:00:02.000000Z", "another", "",
    ]  # fmt: skip


def test_unknown_values_are_empty(models: Path) -> None:
    rows = {row["match_id"]: row for row in read(models / "matches.csv")}
    assert (rows["asked"]["started_at"], rows["asked"]["bought_by"]) == ("", '["models"]')
    failed = rows["broken"]
    assert (failed["status"], failed["reason"]) == ("failed", "the provider is down")
    assert {failed[name] for name in ("payoff_alice", "fairness", "outcome_stage")} == {""}


def test_formulas_are_escaped_unless_raw_cells_are_requested(
    store: Store, tmp_path: Path, cheaptalk: Command
) -> None:
    end = model_match(REPLY | {"text": "=HYPERLINK(1)"})
    add_match(store, "formula", end, study="formulas")
    for options, reply in (((), "'=HYPERLINK(1)"), (("--raw-cells",), "=HYPERLINK(1)")):
        to = tmp_path / f"out{len(options)}"
        cheaptalk(
            "store", "export", "formulas", "--out", str(to), "--store", str(store.path), *options
        )
        assert {row["reply"] for row in read(to / "calls.csv")} == {reply}


def test_seat_columns_follow_the_study_configurations(
    toys: None, store: Store, tmp_path: Path
) -> None:
    ct.run(ct.studies.parse_study(CROWD, "test"), store)
    export(store, "crowd", tmp_path / "out")
    rows = {row["match_id"]: row for row in read(tmp_path / "out" / "matches.csv")}
    places = [name for name in next(iter(rows.values())) if name.startswith("player_")]
    assert places == [
        "player_giver_1", "player_giver_2", "player_keeper",
        *(f"player_giver_{number}" for number in range(3, 11)),
    ]  # fmt: skip
    answers = read(tmp_path / "out" / "answers.csv")
    roles = {row["seat"]: row["role"] for row in answers}
    assert (roles["giver_10"], roles["keeper"]) == ("giver", "keeper")
    for record in store.records("crowd"):
        row = rows[record.id]
        for place in ("giver_2", "giver_10", "keeper"):
            there = place in record.seats
            assert row[f"player_{place}"] == (record.label(place) if there else "")
            assert bool(row[f"settings_{place}"]) == there
            assert row[f"payoff_{place}"] == format_number((record.payoffs or {}).get(place))
            assert row[f"answers_{place}_refused"] == ("0" if there else "")
    explained = {(row["column"], row["game"]) for row in read(tmp_path / "out" / "codebook.csv")}
    assert ("payoff_giver_10", "giving") in explained
    assert ("payoff_giver_10", "collecting") not in explained
    codebook = (tmp_path / "out" / "codebook.md").read_text()
    assert "A seat is a position in a match, filled by one player" in codebook


# The codebook


def test_codebook_explains_every_column(mixed: Path) -> None:
    for name in ("matches", "answers", "calls"):
        with (mixed / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file))
        entries = [row for row in read(mixed / "codebook.csv") if row["table"] == name]
        assert list(dict.fromkeys(row["column"] for row in entries)) == header
        for row in entries:
            assert len(row["meaning"]) > 5, row
            assert row["type"] in ("text", "integer", "number", "boolean", "date-time", "JSON")
    book = read(mixed / "codebook.csv")
    tables = {row["table"]: row["column"] for row in reversed(book)}
    assert tables == dict.fromkeys(("calls", "answers", "seats", "matches"), "match_id")
    explained = {(row["table"], row["column"], row["game"]): row for row in book}
    money = explained["matches", "game_money", "bargaining"]
    assert money["meaning"] == "The sum to divide, in dollars."
    assert money["range"] == "> 0, <= 1,000,000,000,000"
    assert explained["matches", "game_signal", "persuasion"]["range"] == "binary | text"
    assert explained["matches", "game_discounts_bob", "bargaining"]["meaning"].endswith(
        "Here: bob."
    )
    assert "bob. Each" in explained["matches", "payoff_bob", "bargaining"]["meaning"]
    fairness = explained["matches", "fairness", "negotiation"]
    assert "1 - 4 * ((p - p_f) / M) ** 2" in fairness["meaning"]
    assert [
        (column.name, column.range)
        for column in match_columns([get_game("sealed_bid_auction")])
        if column.name.startswith("score")
    ] == [("score", "100 at most"), ("score_published", "0 to 100")]
    assert explained["answers", "decision", "negotiation"]["range"] == "accept | reject | john"
    page = (mixed / "codebook.md").read_text(encoding="utf-8")
    assert page.count("\n| ") == len(book) + 2 * 4
    assert "| game_signal | persuasion | text | binary \\| text | Whether Alice writes" in page


def test_every_game_has_codebook_entries() -> None:
    game_specs = list(games().values())
    columns = match_columns(game_specs)
    for column in [*columns, *answer_columns(game_specs)]:
        assert len(column.meaning) > 5, column
    metrics = {(column.game, column.name) for column in columns if column.group == "metric"}
    assert {("bargaining", "fairness_published"), ("persuasion", "honesty")} <= metrics


# Formats


@pytest.mark.parametrize(("form", "workers"), [("csv", 2), ("parquet", 1), ("jsonl", 1)])
def test_export_in_parts_equals_whole_export(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, workers: int
) -> None:
    begun: list[int] = []

    def counted(count: int, lost: str) -> AbstractContextManager[Processes]:
        begun.append(count)
        return processes(count, lost)

    whole = export(store, "mixed", tmp_path / "whole", form)
    monkeypatch.setattr(parts, "processes", counted)
    monkeypatch.setattr(parts, "WORTH_WORKERS", 1)
    joined = export(store, "mixed", tmp_path / "joined", form, workers=workers)
    assert begun == [1] * (workers - 1)  # in addition to this process
    assert joined.rows == whole.rows
    names = sorted(path.name for path in whole.path.iterdir())
    assert sorted(path.name for path in joined.path.iterdir()) == names
    for name in names:
        if form != "parquet":
            assert (joined.path / name).read_bytes() == (whole.path / name).read_bytes()
        elif name.endswith(".parquet"):
            polars = pytest.importorskip("polars")
            assert polars.read_parquet(joined.path / name).equals(
                polars.read_parquet(whole.path / name)
            )


def test_damage_is_reported_equally_by_workers(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "WORTH_WORKERS", 1)
    hurt = tmp_path / "hurt.sqlite"
    with closing(sqlite3.connect(store.path)) as source, closing(sqlite3.connect(hurt)) as target:
        source.backup(target)
    with Store.open(hurt) as copy, copy.engine.begin() as connection:
        connection.execute(sa.update(schema.matches).values(kinds=sa.null()))
    messages = []
    for workers in (1, 2):
        with pytest.raises(StoreError) as caught:
            export(hurt, "mixed", tmp_path / "out", workers=workers)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "has no kinds" in messages[0]


def test_parquet_equals_csv(
    store: Store, models: Path, mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(writing, "BATCH", 3)
    for name, folder in {"mixed": mixed, "models": models}.items():
        done = export(store, name, tmp_path / name, "parquet")
        assert sorted(path.name for path in done.path.iterdir()) == [
            "answers.parquet", "calls.parquet", "codebook.csv", "codebook.json", "codebook.md",
            "matches.parquet",
                "seats.parquet",
        ]  # fmt: skip
        for table, count in done.rows.items():
            frame = polars.read_parquet(done.path / f"{table}.parquet")
            assert frame.height == count
            times = polars.selectors.datetime("us", "UTC")
            frame = frame.with_columns(times.dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ"))
            lines = [csv_line(frame.columns), *map(csv_line, frame.iter_rows())]
            assert "".join(lines).encode() == (folder / f"{table}.csv").read_bytes()
    frame = polars.read_parquet(tmp_path / "mixed" / "matches.parquet")
    assert frame.schema["game_horizon_hidden"] == polars.Boolean
    assert frame.schema["repeat"] == polars.Int64
    assert frame.schema["fairness"] == polars.Float64


def test_parquet_without_polars_names_the_extra(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(writing, "import_module", missing)
    with pytest.raises(CheaptalkError, match=r'pip install "cheaptalk\[analysis\]"'):
        export(store, "mixed", tmp_path / "out", "parquet")
    assert list(tmp_path.iterdir()) == []


def test_jsonl_contains_complete_records(store: Store, tmp_path: Path) -> None:
    done = export(store, "models", tmp_path / "out", "jsonl")
    lines = (done.path / "matches.jsonl").read_text(encoding="utf-8").splitlines()
    data = {line["match_id"]: line for line in map(json.loads, lines)}
    record = store.find("asked")
    stand = {"study": "models", "dropped": False, "dropped_because": None, "replaces": None}
    stand |= {"planned": True, "bought_by": ["models"], "forfeits": []}
    assert data["asked"] == stand | json.loads(json.dumps(record.as_json()))
    assert [call["state"] for call in data["broken"]["open_calls"]] == ["unresolved"]
    explained = {row["column"] for row in read(done.path / "codebook.csv")}
    assert {key for line in data.values() for key in line} <= explained
    assert {column.name for column in shared_columns("matches", "json")} == explained
    assert done.rows == {"matches": 2}


def test_zip_contains_the_same_files(store: Store, mixed: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.zip"
    path.write_text("an older one")
    assert export(store, "mixed", path).path == path
    with ZipFile(path) as packed:
        assert packed.testzip() is None
        for file in mixed.iterdir():
            assert packed.read(file.name) == file.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


# Failures


def test_failed_export_leaves_no_files_and_keeps_existing_ones(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_disk_full(_folder: Path, _entries: Sequence[CodebookEntry]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cheaptalk.studies.exports.exporter.write_codebook", raise_disk_full)
    kept = tmp_path / "kept.zip"
    kept.write_bytes(b"an earlier export")
    for name in ("out", "out.zip", "kept.zip"):
        with pytest.raises(CheaptalkError, match=f"{name} cannot be written: No space left"):
            export(store, "mixed", tmp_path / name)
    assert list(tmp_path.iterdir()) == [kept]
    assert kept.read_bytes() == b"an earlier export"


def test_nonempty_folder_is_rejected(store: Store, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(CheaptalkError, match="exists; name a new folder"):
            export(store, "mixed", place)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "empty").mkdir()
    assert (export(store, "mixed", tmp_path / "empty").path / "matches.csv").exists()
    assert (export(store, "mixed", tmp_path / "a" / "b").path / "matches.csv").exists()


def test_invalid_exports_raise_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match='no study "mixd" \\(did you mean "mixed"'):
        export(store, "mixd", tmp_path / "out")
    with pytest.raises(UnknownName, match='unknown format "xlsx"'):
        export(store, "mixed", tmp_path / "out", "xlsx")
    (tmp_path / "file").touch()
    with pytest.raises(CheaptalkError, match="cannot be written: Not a directory"):
        export(store, "mixed", tmp_path / "file" / "out")


def test_export_command_prints_counts(cheaptalk: Command, store: Store, tmp_path: Path) -> None:
    command = ("store", "export", "mixed", "--store", str(store.path), "--out")
    done = cheaptalk(*command, "out.zip", "--format", "jsonl", "--json")
    assert done.status == 0, done.err
    shown = json.loads(done.out)
    assert shown["rows"] == {"matches": len(list(store.records("mixed")))}
    assert (tmp_path / "out.zip").exists()
    plain = cheaptalk(*command, "plain")
    assert "mixed: 12 matches, " in plain.out
    assert plain.out.endswith("0 calls written to plain\n")
    for target, error in (
        (".", "exists; name a new folder"),
        ("tables.csv", "choose a folder or a .zip file instead of tables.csv"),
    ):
        rejected = cheaptalk(*command, target, "--json")
        assert rejected.status == 2
        assert error in rejected.err
