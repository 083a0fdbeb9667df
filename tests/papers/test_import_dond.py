"""Import of human Deal or No Deal dialogues as matches; others are skipped with a reason."""

import csv
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cheaptalk.papers.self_play.importer import read_dond, read_line
from cheaptalk.players import ImportedSeat, Kind
from cheaptalk.records import Store
from cheaptalk.records.imports import ImportedGame, Skipped, import_matches
from cheaptalk.records.imports.importing import ImportFailed
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.exports.exporter import export
from tests.conftest import Command
from tests.papers.studies import report, row_of

# One book, four hats, one ball; worth 0, 2, 2 to Ada and 4, 1, 2 to Ben.
ADA, BEN = "1 0 4 2 1 2", "1 4 4 1 1 2"
TALK = ("i would like 4 hats .", "deal")
HATS, REST = (0, 4, 0), (1, 0, 1)
CLAIMS = {"books": 0, "hats": 4, "balls": 0}, {"books": 1, "hats": 0, "balls": 1}
Items = tuple[int, ...] | str


def items(selected: Items) -> str:
    if isinstance(selected, str):
        return selected
    return " ".join(f"item{number}={count}" for number, count in enumerate(selected))


def format_dialogue(messages: Sequence[str], began: bool, selection: str = "") -> str:
    """Return a dialogue from one side, which ``began`` or not, with the final selection."""
    speakers = ("YOU", "THEM") if began else ("THEM", "YOU")
    turns = [*messages, f"<selection> {selection}".strip()]
    return " <eos> ".join(f"{speakers[turn % 2]}: {text}" for turn, text in enumerate(turns))


def plain(
    selected: Items,
    status: str = "agree",
    began: bool = True,
    messages: Sequence[str] = TALK,
    reward: object = None,
) -> str:
    """Return a line of data.txt from Ada, who speaks first, or from Ben if not ``began``."""
    context, other = (ADA, BEN) if began else (BEN, ADA)
    if reward is None:
        values = map(int, context.split()[1::2])
        worth = 0 if isinstance(selected, str) else sum(map(int.__mul__, values, selected))
        reward = selected if isinstance(selected, str) else worth
    talk = format_dialogue(messages, began, items(selected))
    return f"{context} {talk} <eos> reward={reward} {status} {other}"


def tagged(output: str, began: bool = True, messages: Sequence[str] = TALK) -> str:
    """Return a line of val.txt or test.txt."""
    context, other = (ADA, BEN) if began else (BEN, ADA)
    parts = {"input": context, "dialogue": format_dialogue(messages, began), "output": output}
    parts["partner_input"] = other
    return " ".join(f"<{name}> {text} </{name}>" for name, text in parts.items())


AGREED = [plain(HATS), plain(REST, began=False)]
TAGGED = [
    tagged(f"{items(HATS)} {items(REST)}"),
    tagged(f"{items(REST)} {items(HATS)}", began=False),
]


def write(folder: Path, *lines: str, name: str = "data.txt", end: str = "\n") -> Path:
    path = folder / name
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def read(*paths: Path) -> list[ImportedGame | Skipped]:
    return list(read_dond(paths).games)


def read_game(folder: Path, *lines: str) -> ImportedGame:
    """Read the only dialogue in these lines, which must be valid."""
    (game,) = read(write(folder, *lines))
    assert isinstance(game, ImportedGame), game
    return game


def reason(folder: Path, *lines: str) -> str:
    """Return why the only dialogue in these lines is skipped."""
    (game,) = read(write(folder, *lines))
    assert isinstance(game, Skipped), game
    return game.reason


def moves(game: ImportedGame) -> list[tuple[str, Any]]:
    return [
        (move.actor, move.action and move.action.model_dump(exclude_none=True))
        for move in game.table.given
    ]


def outcome(game: ImportedGame) -> dict[str, Any]:
    assert game.table.outcome is not None
    return game.table.outcome.model_dump()


# Valid dialogues


def test_lines_of_dialogue_form_one_match(games: Path) -> None:
    for lines in (AGREED, AGREED[::-1], TAGGED, TAGGED[1:], AGREED + TAGGED):
        (game,) = read(write(games, *lines, "", end="\r\n"))  # blank lines are ignored
        assert isinstance(game, ImportedGame)
        assert moves(game) == [
            ("player_1", {"message": TALK[0]}),
            ("player_2", {"message": TALK[1]}),
            ("player_1", CLAIMS[0]),
            ("player_2", CLAIMS[1]),
        ]
        instance = game.table.instance.model_dump(mode="json")
        assert instance["context"]["counts"] == [1, 4, 1]
        assert instance["context"]["values"] == [[0, 2, 2], [4, 1, 2]]
        assert outcome(game)["ending"] == "agreement"
        assert outcome(game)["points"] == (8, 6)
        assert set(game.seats.values()) == {ImportedSeat(imported="dond", person=True)}
        assert game.id == read_game(games, *AGREED).id


def test_agreement_needs_only_one_line(games: Path) -> None:
    both = read_game(games, *AGREED)
    assert both.source["folder"] == "data.txt, line 1; data.txt, line 2"
    for line in AGREED:
        assert moves(read_game(games, line)) == moves(both)


def test_disagreement_becomes_mismatched_proposals(games: Path) -> None:
    lines = plain(HATS, "disagree"), plain((1, 1, 1), "disagree", began=False)
    game = read_game(games, *lines)
    assert outcome(game)["ending"] == "mismatch"
    assert outcome(game)["claims"] == (HATS, (1, 1, 1))
    assert game.failures == {}


def test_selecting_word_aborts_game(games: Path) -> None:
    for word, kind in (("no agreement", Kind.REFUSED), ("disconnect", Kind.TIMED_OUT)):
        game = read_game(games, plain(word), plain(word, began=False))
        assert moves(game)[2:] == [("player_1", None)]
        assert (outcome(game)["ending"], outcome(game)["aborted_by"]) == ("aborted", "player_1")
        assert game.failures == {2: kind}
        assert game.source["selections"] == {"player_1": word, "player_2": word}
        output = " ".join([f"<{word.replace(' ', '_')}>"] * 6)
        assert moves(read_game(games, tagged(output))) == moves(game)


def test_partner_can_abort_after_proposal(games: Path, store: Store) -> None:
    lines = plain(HATS, "disagree"), plain("no agreement", "disagree", began=False)
    game = read_game(games, *lines)
    assert moves(game)[2:] == [("player_1", CLAIMS[0]), ("player_2", None)]
    assert outcome(game)["aborted_by"] == "player_2"
    assert game.failures == {3: Kind.REFUSED}
    import_matches(read_dond([games]), store, "dond-import")
    (record,) = store.records("dond-import", bodies=True)
    assert record.kinds == {"player_1": {"ok": 2}, "player_2": {"ok": 1, "refused": 1}}
    assert record.payoffs == {"player_1": 0, "player_2": 0}
    assert record.replay().over


def test_missing_selection_skips_dialogue(games: Path) -> None:
    expected = "the lines lack a required selection"
    assert reason(games, plain(HATS, "disagree")) == expected
    assert reason(games, plain((1, 1, 1), "disagree", began=False)) == expected
    disagreed = " ".join(["<disagree>"] * 6)
    assert reason(games, tagged(disagreed)) == expected
    lines = plain(HATS, "disagree"), plain((1, 1, 1), "disagree", began=False)
    assert outcome(read_game(games, tagged(disagreed), *lines))["ending"] == "mismatch"


def test_first_speaker_is_player_1(games: Path) -> None:
    messages = ("hi", "hi .", "4 hats ?")
    game = read_game(games, plain(REST, began=False, messages=messages))
    assert [seat for seat, _ in moves(game)] == ["player_1", "player_2"] * 2 + ["player_1"][:1]
    assert moves(game)[3] == ("player_2", CLAIMS[1])


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8")), min_size=1))
def test_messages_are_preserved_exactly(texts: list[str]) -> None:
    messages = tuple(text for text in texts if "<eos>" not in text and "<" not in text) or ("x",)
    assert read_line("here", plain(HATS, messages=messages)).messages == messages
    assert read_line(
        "here", tagged(f"{items(HATS)} {items(REST)}", messages=messages)
    ).messages == (messages)


def test_people_are_exported_as_people(games: Path, store: Store, tmp_path: Path) -> None:
    import_matches(read_dond([write(games, *AGREED)]), store, "people")
    folder = export(store, "people", tmp_path / "out").path
    with (folder / "matches.csv").open(encoding="utf-8") as file:
        (match,) = csv.DictReader(file)
    assert (match["kind_player_1"], match["model_player_1"]) == ("person", "")


def test_recipe_leaves_error_rate_empty(games: Path, store: Store) -> None:
    talk = ("all", "no")
    lost = (
        plain(HATS, "disagree", messages=talk),
        plain("no agreement", "disagree", began=False, messages=talk),
    )
    import_matches(read_dond([write(games, *AGREED, *lost)]), store, "people")
    row = row_of(report(store, "self-play", "Errors and aborts"), "errors-aborts")
    assert row["erred"] is None
    assert (row["aborted"], row["aborted_n"]) == (50, 2)


def test_importing_same_dialogue_twice_adds_no_match(games: Path, store: Store) -> None:
    plain_, tagged_ = write(games, *AGREED), write(games, *TAGGED, name="val.txt")
    assert import_matches(read_dond([plain_]), store, "people").imported == 1
    importing = import_matches(read_dond([tagged_]), store, "people")
    assert (importing.imported, importing.present, importing.skipped) == (0, 1, [])


def test_names_are_redacted_unless_kept(games: Path) -> None:
    talk = "hello zelda ! i would like 4 hats .", "deal , zelda"
    path = write(games, plain(HATS, messages=talk))
    (game,), (kept,) = read(path), list(read_dond([path], keep_names=True).games)
    assert isinstance(game, ImportedGame)
    assert isinstance(kept, ImportedGame)
    assert spoken(game) == ["hello [name] ! i would like 4 hats .", "deal , [name]"]
    assert game.redactions == 2
    assert "zelda" in spoken(kept)[0]
    assert game.id == kept.id


def spoken(game: ImportedGame) -> list[str]:
    actions = [given.action.model_dump() for given in game.table.given if given.action]
    return [action["message"] for action in actions if action.get("message")]


# Invalid input

BAD = {
    "neither format": ("hello", "matches neither of the two formats of the published files"),
    "cut off": (AGREED[0][:60], "matches neither of the two formats"),
    "no partner": (AGREED[0].removesuffix(" " + BEN), "matches neither of the two formats"),
    "tag not closed": (TAGGED[0].replace("</output>", ""), "matches neither of the two formats"),
    "text for a number": (AGREED[0].replace(ADA, "1 0 4 two 1 2"), '"input": "1 0 4 two 1 2" is'),
    "five numbers": (TAGGED[0].replace(f"> {BEN}", "> 1 4 4 1 1"), '"partner_input": "1 4 4 1'),
    "a number below zero": (AGREED[0].replace(BEN, "1 -4 4 1 1 2"), '"partner_input": "1 -4 4'),
    "other counts": (AGREED[0].replace(BEN, "2 2 4 1 1 2"), '"partner_input": the counts differ'),
    "an illegal context": (AGREED[0].replace(BEN, "1 5 4 1 1 2"), "worth 10 to player 2, not 11"),
    "a stranger": (AGREED[0].replace("THEM:", "EVE:"), 'turn 2: must begin with "YOU: " or'),
    "twice in a row": (AGREED[0].replace("THEM:", "YOU:"), "turn 2: YOU must not speak twice"),
    "no selection": (AGREED[0].replace("<selection> ", ""), "must end with a selection"),
    "two items": (AGREED[0].replace(" item2=0", ""), '"selection": "item0=0 item1=4" is not item0'),
    "half an item": (AGREED[0].replace("item2=0", "item2=0.5"), "is not item0=N item1=N item2=N"),
    "an unknown word": (plain("perhaps"), '"selection": "perhaps" is not item0=N'),
    "another reward": (plain(HATS, reward=7), '"reward": is "7"; expected 8'),
    "a reward for a word": (plain("disconnect", reward=0), '"0"; expected disconnect'),
    "an unknown output": (tagged("<maybe>"), '"output": "<maybe>" is not item0=N'),
    "one output": (tagged(items(HATS)), '"output": "" is not item0=N item1=N item2=N'),
    "a selection too early": (
        TAGGED[0].replace("<selection>", "<selection> item0=1"),
        'contains the selection "item0=1"',
    ),
    "more than there is": (plain((0, 5, 0)), "5 hats cannot be claimed: there are only 4"),
    "nothing said": (plain(HATS, messages=()), "nothing has been said yet"),
    "a long message": (plain(HATS, messages=("x" * 4001,)), "at most 4,000 are possible"),
    "outputs that do not fit": (
        tagged(f"{items(HATS)} {items(HATS)}"),
        "the selections are incompatible, but recorded as an agreement",
    ),
}


def test_invalid_line_is_skipped_with_reason(games: Path) -> None:
    for case in BAD:
        line, expected = BAD[case]
        results = read(write(games, line, plain(HATS, messages=("another",))))
        (skipped,) = [result for result in results if isinstance(result, Skipped)]
        assert skipped.game == "data.txt, line 1"
        assert expected in skipped.reason
        assert len(results) == 2


def test_contradictory_lines_are_skipped(games: Path) -> None:
    denied = plain(REST, "disagree", began=False)
    for first, second, expected in (
        (AGREED[0], plain((1, 1, 1), began=False), "are incompatible, but recorded as an"),
        (plain(HATS, "disagree"), denied, "selections are compatible, but"),
        (AGREED[0], plain((0, 3, 0)), "contain different selections of player_1"),
        (AGREED[0], denied, "contradict each other on whether"),
    ):
        assert expected in reason(games, first, second)


def test_damaged_files_are_skipped_and_others_imported(games: Path) -> None:
    write(games, *AGREED)
    write(games, name="empty.txt")
    (games / "latin.txt").write_bytes(b"caf\xe9")
    write(games, ADA, BEN, name="selfplay.txt")
    (games / "notes.md").write_text("no file of dialogues")
    os.mkfifo(games / "pipe.txt")
    results = read(games)
    assert results[:4] == [
        Skipped("empty.txt", "is empty"),
        Skipped("latin.txt", "is not UTF-8 text (byte 3)"),
        Skipped("pipe.txt", "is a pipe or device, not a file"),
        Skipped("selfplay.txt", "contains contexts instead of dialogues"),
    ]
    assert isinstance(results[4], ImportedGame)
    assert len(results) == 5


def test_path_without_files_raises_error(games: Path) -> None:
    with pytest.raises(CheaptalkError, match=r"contains no .txt files"):
        read_dond([games])
    with pytest.raises(CheaptalkError, match="no such file or folder"):
        read_dond([games / "missing.txt"])


@given(st.text(max_size=200))
def test_arbitrary_lines_raise_only_unfit(line: str) -> None:
    for text in (line, plain(HATS).replace("deal", line), tagged(line)):
        with suppress(ImportFailed):
            assert read_line("here", text).location == "here"


def test_command_reads_files_and_folders(cheaptalk: Command, games: Path, tmp_path: Path) -> None:
    write(games, *AGREED)
    lines = [plain(HATS, messages=("other",)), plain(HATS, "disagree", messages=("more",))]
    other = write(tmp_path, *lines, name="more.txt")
    done = cheaptalk("store", "import", "dond", str(games), str(other), "--json")
    assert done.status == 1, done.err
    output = json.loads(done.out)
    assert (output["study"], output["imported"], output["present"]) == ("dond-import", 2, 0)
    (skipped,) = output["skipped"]
    assert skipped["game"] == "more.txt, line 2"
