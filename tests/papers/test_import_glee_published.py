"""Import of a sample of GLEE's published games, which is optional data outside the repository.

The expected values were computed by hand from the rows of each game.
"""

from pathlib import Path
from typing import Any

import pytest

from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.records import MatchRecord, Store, transcript
from cheaptalk.records.imports import Intake, import_matches
from cheaptalk.rules import get_game

SAMPLE = Path(__file__).parents[2].parent / "shared" / "data" / "glee"
GAMES = 68

pytestmark = pytest.mark.skipif(
    not SAMPLE.is_dir(), reason="the sample of published games is not beside the repository"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store.open(tmp_path_factory.mktemp("sample") / "games.sqlite", create=True)


@pytest.fixture(scope="module")
def importing(store: Store) -> Intake:
    return import_matches(read_glee(SAMPLE, keep_names=True), store, "sample")


@pytest.fixture(scope="module")
def records(store: Store, importing: Intake) -> dict[str, MatchRecord]:
    """The matches by their GLEE ID."""
    return {record.instance_key: record for record in store.records("sample", bodies=True)}


def test_every_game_is_imported(importing: Intake, records: dict[str, MatchRecord]) -> None:
    assert (importing.imported, importing.present, importing.skipped) == (GAMES, 0, [])
    assert len(records) == GAMES
    games = [record.game for record in records.values()]
    assert [games.count(name) for name in ("bargaining", "negotiation", "persuasion")] == [
        24,
        24,
        20,
    ]


def test_every_match_replays_and_has_transcript(records: dict[str, MatchRecord]) -> None:
    for record in records.values():
        table = record.replay()
        assert table.over
        assert table.outcome is not None
        assert table.outcome.model_dump(mode="json") == record.outcome
        assert transcript(record)


def test_importing_again_adds_nothing(
    store: Store, importing: Intake, records: dict[str, MatchRecord]
) -> None:
    again = import_matches(read_glee(SAMPLE, keep_names=True), store, "sample")
    assert (again.imported, again.present, again.skipped) == (0, GAMES, [])
    assert {record.id for record in store.records()} == {record.id for record in records.values()}


def test_players_are_identified(records: dict[str, MatchRecord]) -> None:
    assert {record.label(role) for record in records.values() for role in record.seats} == {
        "human",
        "gemini-1.5-flash",
        "gemini-1.5-pro",
        "llama3-405b-instruct-maas",
        "Meta-Llama-3-8B-Instruct",
        "Meta-Llama-3.1-8B-Instruct",
        "Qwen2-7B-Instruct",
    }
    people = [record for record in records.values() if "human" in map(record.label, record.seats)]
    assert len(people) == 36


# (Alice's gain, Bob's, efficiency, fairness) by the paper, and (Bob's gain, efficiency, fairness)
# as GLEE's code has them.
BY_HAND: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    # Bargaining, a person and a model. q is Alice's share of the accepted offer.
    # Deltas 1 and 1; accepted in round 4, 6,000 of 10,000: 0.6 * 1 ** 3 and 0.4 * 1 ** 3;
    # 1 - 4 * 0.1 ** 2.
    "0003852CF8408F00": ((0.6, 0.4, 1.0, 0.96), (0.4, 1.0, 0.96)),
    # 0.95 and 0.8; round 2, 6,000 of 10,000: 0.6 * 0.95 and 0.4 * 0.8; 1 - 4 * 0.1 ** 2.
    "048AA58A04C483E9": ((0.57, 0.32, 0.89, 0.96), (0.32, 0.89, 0.96)),
    # Bargaining, two models.
    # 0.95 and 0.9; round 4, 450,000 of 1,000,000: 0.45 * 0.857375 and 0.55 * 0.729;
    # 1 - 4 * 0.05 ** 2.
    "009ZY2BQVRQGT3EE": ((0.38581875, 0.40095, 0.78676875, 0.99), (0.40095, 0.78676875, 0.99)),
    # 1 and 0.9; round 7, 56 of 100: 0.56 and 0.44 * 0.531441; 1 - 4 * 0.06 ** 2.
    "00ACBPM1TW4U46CX": ((0.56, 0.23383404, 0.79383404, 0.9856), (0.23383404, 0.79383404, 0.9856)),
    # Negotiation, a person and a model. Prices in multiples of the scale.
    # Worth 1 and 1.2; sold at 0.8: 0.8 - 1 and 1.2 - 0.8; traded and worth more to Bob;
    # 1 - 4 * (0.8 - 1.1) ** 2.
    "074B169DA9A84299": ((-0.2, 0.4, 1.0, 0.64), (0.4, 1.0, 0.64)),
    # 1 and 1.2; sold at 0.5: -0.5 and 0.7; 1 - 4 * 0.6 ** 2 = -0.44, which the code clips to 0.
    "0C8A81E821CC131D": ((-0.5, 0.7, 1.0, -0.44), (0.7, 1.0, 0.0)),
    # 1 and 1.2; Bob left for John: no trade though it is worth more to Bob.
    "119DBAA8AB02D2BE": ((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
    # Negotiation, two models.
    # 1.2 and 1; sold at 0.95: -0.25 and 0.05; traded though worth more to Alice;
    # 1 - 4 * (0.95 - 1.1) ** 2.
    "00049R2GWGJI8QXX": ((-0.25, 0.05, 0.0, 0.91), (0.05, 0.0, 0.91)),
    # 1.5 and 0.8, one round, rejected: no trade, and it is worth more to Alice.
    "000UWOVWMBTHYUGN": ((0.0, 0.0, 1.0, 1.0), (0.0, 1.0, 1.0)),
    # Persuasion, a person and a model, 20 rounds.
    # Worth 2 prices; 9 good and 11 bad products, all bought: 20 / 20; (9 * 1 - 11) / 20; 9 / 9;
    # 0 / 11. The code: (9 * 1 - 0) / 20.
    "0E5BC24931B7FCFB": ((1.0, -0.1, 1.0, 0.0), (0.45, 1.0, 0.0)),
    # Worth 4; all of 8 good and 3 of 12 bad ones bought: 11 / 20; (8 * 3 - 3) / 20; 8 / 8; 9 / 12.
    # The code: (8 * 3 - 9) / 20.
    "185A87C98EB4E437": ((0.55, 1.05, 1.0, 0.75), (0.75, 1.0, 0.75)),
    # Worth 2; all of 15 good and of 5 bad ones bought: (15 - 5) / 20. The code: (15 - 0) / 20.
    "1C478B0A82CF7505": ((1.0, 0.5, 1.0, 0.0), (0.75, 1.0, 0.0)),
    # Worth 4; 6 of 8 good and 10 of 12 bad ones bought: 16 / 20; (6 * 3 - 10) / 20; 6 / 8; 2 / 12.
    # The code: (6 * 3 - 2) / 20.
    "23E43CB8A35DF2D1": ((0.8, 0.4, 0.75, 1 / 6), (0.8, 0.75, 1 / 6)),
    # Persuasion, two models, 20 rounds.
    # Worth 1.2; all of 6 good and none of 14 bad ones bought: 6 / 20; 6 * 0.2 / 20; 6 / 6; 14 / 14.
    # The code: (6 * 0.2 - 14) / 20.
    "00FVRDOX8ZKN7DEW": ((0.3, 0.06, 1.0, 1.0), (-0.64, 1.0, 1.0)),
    # Worth 3; all of 8 good and 3 of 12 bad ones bought: 11 / 20; (8 * 2 - 3) / 20; 8 / 8; 9 / 12.
    # The code: (8 * 2 - 9) / 20.
    "001HHXX4UCNADG4K": ((0.55, 0.65, 1.0, 0.75), (0.35, 1.0, 0.75)),
}

PAPER = ("alice_gain", "bob_gain", "efficiency", "fairness")
PUBLISHED = ("bob_gain", "efficiency", "fairness")


def test_metrics_match_hand_computed_values(records: dict[str, MatchRecord]) -> None:
    for id_ in BY_HAND:
        record = records[id_]
        metrics = get_game(record.game).metrics
        result = record.result()
        computed = [metrics[name].variant(as_published=False)(result) for name in PAPER]
        published = [metrics[name].variant(as_published=True)(result) for name in PUBLISHED]
        by_paper, by_code = BY_HAND[id_]
        assert computed == pytest.approx(by_paper, abs=1e-12)
        assert published == pytest.approx(by_code, abs=1e-12)


def all_messages(record: MatchRecord) -> list[str]:
    """Return all messages of a match, including undelivered ones."""
    moves: list[dict[str, Any]] = [answer.action or {} for answer in record.answers]
    moves += [unused["cells"] for unused in record.body["source"]["unused"]]
    return [move["message"] for move in moves if "message" in move]


def test_names_of_addressed_people_are_redacted(
    tmp_path: Path, records: dict[str, MatchRecord]
) -> None:
    with Store.open(tmp_path / "redacted.sqlite", create=True) as store:
        importing = import_matches(read_glee(SAMPLE), store, "redacted")
        assert (importing.imported, importing.skipped) == (GAMES, [])
        changed = {}
        for record in store.records("redacted", bodies=True):
            before, after = all_messages(records[record.instance_key]), all_messages(record)
            if before != after:
                changed[record.instance_key] = sum(text.count("[name]") for text in after)
    # Rounds that address a person by name; one game was published with the name redacted.
    assert changed == {
        "272E6C6F38BBD9B9": 1,
        "431AF58CE83924DD": 2,
        "447740CB14774C24": 1,
        "23E43CB8A35DF2D1": 20,
    }
    assert importing.redactions == sum(changed.values())
