"""Nobody at a table in the browser is sent what only others know, or what is answered at once.

Every game is played by its pages with people in all places, and once more for each of its secrets
with that secret alone changed. All that is sent to the others must be the same, byte by byte:
pages, headers, redirects, refusals and events.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from cheaptalk.conformance.matches import played, variants
from cheaptalk.rules import Secret, Table, get_game
from cheaptalk.rules.registry import GAMES
from cheaptalk.web.rooms import pages, views
from cheaptalk.web.rooms.languages import Language
from cheaptalk.web.rooms.room_manager import RoomManager
from cheaptalk.web.rooms.rooms import Room, Visitor
from tests.web.wire import Message, Mutation, Step, World, place_of, wired

SMALL = {"players": 4, "rounds": 3, "hit_rates": (0.35, 0.55, 0.75)}
SHORT = {"rounds": 3, "hidden": False}
SETTINGS = {
    "bargaining": ("complete_information: False",),
    "negotiation": ("complete_information: False",),
    "persuasion": (
        "myopic: True", "seller_knows_values: False", "buyer_knows_prior: False",
        "buyer_messages: True",
    ),
}  # fmt: skip
"""The settings in which a game has secrets that it lacks by default, as the kit calls them."""
CASES = [(name, label) for name in sorted(GAMES) for label in ("defaults", *SETTINGS.get(name, ()))]
MOST = 4
"""Secrets of a setting that are tried, no two of one seat's same fact if there are more."""


def base(name: str, label: str) -> Table:
    """A match of a short game that was played at random."""
    game_spec = get_game(name)
    game = variants(game_spec)[label]
    fields = type(game).model_fields
    small = {key: value for key, value in SMALL.items() if key in fields}
    if "horizon" in fields:
        small["horizon"] = SHORT
    game = type(game).model_validate(game.model_dump() | small)
    return played(game_spec, game, "privacy/1")


def chosen(match: Table) -> list[Secret]:
    """Secrets to try: of every owner, and the last of them too."""
    secrets = list(match.game.secrets(match.instance))
    owners = {tuple(sorted(secret.owners)): secret for secret in secrets}
    games = {repr(secret.game): secret for secret in secrets if secret.game != match.game}
    found = [*owners.values(), *games.values(), *secrets[:1]]
    return list({id(item): item for item in found}.values())[:MOST]


def play(world: World, where: Path, mutation: Mutation | None = None) -> Mapping[str, list[Step]]:
    """What everybody was sent while a world was played."""

    async def main() -> Mapping[str, Sequence[Step]]:
        async with wired(world, where, mutation) as table:
            return await table.play()

    return {place: list(steps) for place, steps in asyncio.run(main()).items()}


def known(
    secret: Secret, one: Sequence[Step], other: Sequence[Step]
) -> Iterator[tuple[Step, Step]]:
    """What somebody was sent in two worlds, until they are told what is different."""
    for pair in zip(one, other, strict=False):
        if any(secret.revealed(event) for step in pair for event in step.heard):
            return
        yield pair


def apart(one: Step, other: Step) -> str:
    """Where what was sent differs first."""
    pairs = zip(one.sent, other.sent, strict=False)
    same = next((at for at, (left, right) in enumerate(pairs) if left != right), 0)
    around = slice(max(0, same - 80), same + 60)
    return f"{one.sent[around]!r} becomes {other.sent[around]!r}"


def leaks(name: str, label: str, where: Path, mutation: Mutation | None = None) -> list[str]:
    """Who was sent what they must not know, in sentences."""
    match = base(name, label)
    world = World(match.game, match.instance, match.chance.seed, match.given)
    seen = play(world, where / "base.sqlite", mutation)
    found = early(seen)
    for number, secret in enumerate(chosen(match)):
        changed = World(secret.game, secret.instance, world.seed, world.given)
        others = play(changed, where / f"{number}.sqlite", mutation)
        owners = {place_of(match.game, seat) for seat in secret.owners}
        for place in seen.keys() - owners:
            for one, other in known(secret, seen[place], others[place]):
                if one.sent != other.sent:
                    found.append(f"{place} is sent what only {owners} know: {apart(one, other)}")
        assert any(seen[place] != others[place] for place in owners), f"{owners} hear nothing of it"
    return found


def early(steps: Mapping[str, Sequence[Step]]) -> list[str]:
    """Whose page changed while they were asked: others' answers to the same question are out."""
    return [
        f"{place} sees others answer {after.question}"
        for place, seen in steps.items()
        for before, after in pairwise(seen)
        if after.question and before.question == after.question and before.page != after.page
    ]


@pytest.mark.parametrize(("name", "label"), CASES)
def test_nobody_is_sent_what_only_others_know(name: str, label: str, tmp_path: Path) -> None:
    assert leaks(name, label, tmp_path) == []


def in_body(message: Message, secret: str) -> Message:
    """Say it under every page and event."""
    return (
        {**message, "body": message["body"] + secret.encode()} if message.get("body") else message
    )


def in_header(status: int) -> Mutation:
    """Say it in a header of answers of one status."""

    def leak(message: Message, secret: str) -> Message:
        if message.get("status") != status:
            return message
        return {**message, "headers": [*message["headers"], (b"x-deal", secret.encode())]}

    return leak


def in_events(message: Message, secret: str) -> Message:
    """Say it in events alone."""
    body = message.get("body", b"")
    return {**message, "body": body.replace(b"moved", secret.encode())}


@pytest.mark.parametrize(
    "mutation", [in_body, in_header(200), in_header(303), in_header(403), in_events],
    ids=["body", "page", "redirect", "refusal", "event"],
)  # fmt: skip
def test_a_leak_is_found_wherever_it_is(mutation: Mutation, tmp_path: Path) -> None:
    found = leaks("deal_or_no_deal", "defaults", tmp_path, mutation)
    assert {line.split()[0] for line in found} >= {"player_1", "player_2"}


def test_a_page_of_another_seat_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def anybodys(
        room_manager: RoomManager, room: Room, visitor: Visitor, en: Language
    ) -> views.TableView | None:
        seen = [
            views.table_view(room_manager, room, visitor, en)
            for visitor in room.visitors.values()
            if visitor
        ]
        mine = views.table_view(room_manager, room, visitor, en)
        return mine and mine._replace(briefing="".join(item.briefing for item in seen if item))

    monkeypatch.setattr(pages, "table_view", anybodys)
    assert leaks("chip_trading", "defaults", tmp_path)


def test_an_answer_that_is_out_too_early_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def talkative(
        room_manager: RoomManager, room: Room, visitor: Visitor, en: Language
    ) -> views.TableView | None:
        mine = views.table_view(room_manager, room, visitor, en)
        table = room.table
        return mine and mine._replace(me=str(len(table.pending if table else ())))

    monkeypatch.setattr(pages, "table_view", talkative)
    assert leaks("public_goods", "defaults", tmp_path)
