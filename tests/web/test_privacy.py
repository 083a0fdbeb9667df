"""Players at a table in the browser receive no secrets of others and no pending answers.

Each game is played through its pages with people in all seats, and again for each of its secrets
with only that secret changed. Everything that is sent to the others must be identical, byte by
byte: pages, headers, redirects, error pages and events.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import pytest

from cheaptalk.conformance.matches import played
from cheaptalk.rules import Secret, Table, get_game
from cheaptalk.rules.registry import GAMES
from cheaptalk.web.rooms import pages, views
from cheaptalk.web.rooms.languages import Language
from cheaptalk.web.rooms.room_manager import RoomManager
from cheaptalk.web.rooms.rooms import Room, Visitor
from tests.web.wire import Message, Mutation, Step, World, opened_tables, place_of

SMALL = {"players": 3, "rounds": 2, "hit_rates": (0.35, 0.55, 0.75)}
SHORT = {"rounds": 2, "hidden": False}
SETTINGS: dict[str, Sequence[dict[str, bool]]] = {
    "bargaining": [{"complete_information": False}],
    "negotiation": [{"complete_information": False}],
    "persuasion": [
        {},
        {
            "myopic": True,
            "seller_knows_values": False,
            "buyer_knows_prior": False,
            "buyer_messages": True,
        },
    ],
}
"""Settings in which a game has secrets that it lacks by default."""
QUICK = ("bargaining", "deal_or_no_deal", "persuasion", "public_goods", "sealed_bid_auction")
"""Games whose test is not slow: in turns or simultaneous, with private values or none."""
MAX_SECRETS = 3
"""Number of secrets to test per setting; secrets of different owners and facts come first."""


def base(name: str, settings: Mapping[str, bool]) -> Table:
    """Return a match of a short game played at random."""
    game_spec = get_game(name)
    fields = game_spec.rules.model_fields
    small = {key: value for key, value in SMALL.items() if key in fields}
    if name == "chip_trading":
        small["rounds"] = 1  # a round has nine answers
    if "horizon" in fields:
        small["horizon"] = SHORT
    game = game_spec.rules.model_validate({**small, **settings})
    return played(game_spec, game, "privacy/1")


def select_secrets(match: Table) -> list[Secret]:
    """Select secrets to test, of every owner, and at least the first one."""
    secrets = list(match.game.secrets(match.instance))
    owners = {tuple(sorted(secret.owners)): secret for secret in secrets}
    games = {repr(secret.game): secret for secret in secrets if secret.game != match.game}
    selected = [*owners.values(), *games.values(), *secrets[:1]]
    return list({id(item): item for item in selected}.values())


def known(
    secret: Secret, first: Sequence[Step], second: Sequence[Step]
) -> Iterator[tuple[Step, Step]]:
    """Yield the steps of a seat in two worlds until an event reveals the difference."""
    for pair in zip(first, second, strict=False):
        if any(secret.revealed(event) for step in pair for event in step.heard):
            return
        yield pair


def difference(first: Step, second: Step) -> str:
    """Describe the first difference between the data sent in two steps."""
    pairs = zip(first.sent, second.sent, strict=False)
    same = next((at for at, (left, right) in enumerate(pairs) if left != right), 0)
    around = slice(max(0, same - 80), same + 60)
    return f"{first.sent[around]!r} becomes {second.sent[around]!r}"


async def leaks(
    name: str,
    where: Path,
    settings: Mapping[str, bool] = MappingProxyType({}),
    mutation: Mutation | None = None,
) -> list[str]:
    """Return a sentence for each leak to a player who must not know it."""
    match = base(name, settings)
    given = match.given[:1] if mutation else match.given
    world = World(match.game, match.instance, match.chance.seed, given)
    async with opened_tables(name, where / f"{name}.sqlite") as table:
        seen = await table(world, mutation).play()
        problems = early_answers(seen)
        for secret in select_secrets(match)[: 2 if mutation else MAX_SECRETS]:
            changed = World(secret.game, secret.instance, world.seed, world.given)
            others = await table(changed, mutation).play()
            owners = {place_of(match.game, seat) for seat in secret.owners}
            problems += [
                f"{place} is sent what only {owners} know: {difference(first, second)}"
                for place in seen.keys() - owners
                for first, second in known(secret, seen[place], others[place])
                if first.sent != second.sent
            ]
            assert any(seen[place] != others[place] for place in owners), f"{owners} see no change"
    return problems


def early_answers(steps: Mapping[str, Sequence[Step]]) -> list[str]:
    """Report pages that changed during a request: they reveal others' answers to it."""
    return [
        f"{place} sees others answer {after.question}"
        for place, seen in steps.items()
        for before, after in pairwise(seen)
        if after.question and before.question == after.question and before.page != after.page
    ]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(GAMES)],
)
async def test_no_player_receives_the_secrets_of_others(tmp_path: Path, name: str) -> None:
    for number, settings in enumerate(SETTINGS.get(name, [{}])):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert await leaks(name, folder, settings) == []


def in_body(message: Message, secret: str) -> Message:
    return (
        {**message, "body": message["body"] + secret.encode()} if message.get("body") else message
    )


def in_header(status: int) -> Mutation:
    """Add the secret to a header of responses with one status."""

    def leak(message: Message, secret: str) -> Message:
        if message.get("status") != status:
            return message
        return {**message, "headers": [*message["headers"], (b"x-deal", secret.encode())]}

    return leak


def in_events(message: Message, secret: str) -> Message:
    body = message.get("body", b"")
    return {**message, "body": body.replace(b"moved", secret.encode())}


async def test_leaks_are_detected_in_every_channel(tmp_path: Path) -> None:
    channels = (in_body, in_header(200), in_header(303), in_header(403), in_events)
    for number, mutation in enumerate(channels):
        (tmp_path / str(number)).mkdir()
        problems = await leaks("deal_or_no_deal", tmp_path / str(number), mutation=mutation)
        assert {line.split()[0] for line in problems} >= {"player_1", "player_2"}


async def test_leak_of_another_page_is_detected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def shared_view(
        room_manager: RoomManager, room: Room, visitor: Visitor, en: Language
    ) -> views.TableView | None:
        seen = [
            views.table_view(room_manager, room, visitor, en)
            for visitor in room.visitors.values()
            if visitor
        ]
        view = views.table_view(room_manager, room, visitor, en)
        return view and view._replace(briefing="".join(item.briefing for item in seen if item))

    monkeypatch.setattr(pages, "table_view", shared_view)
    assert await leaks("deal_or_no_deal", tmp_path)


async def test_leak_of_a_pending_answer_is_detected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def early_view(
        room_manager: RoomManager, room: Room, visitor: Visitor, en: Language
    ) -> views.TableView | None:
        view = views.table_view(room_manager, room, visitor, en)
        table = room.table
        return view and view._replace(me=str(len(table.pending if table else ())))

    monkeypatch.setattr(pages, "table_view", early_view)
    assert await leaks("public_goods", tmp_path)
