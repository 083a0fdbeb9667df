"""Deal or No Deal played by people, at a terminal and in any style."""

from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal import BOX
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.models import Reply
from cheaptalk.players import Kind
from cheaptalk.players.person import Person
from cheaptalk.rules import Chance, Table
from cheaptalk.styles import style_in
from tests.cli.terminal import Terminal


def fill_in(screen: Terminal, **fields: str) -> None:
    """Fill in a form; a field that is left empty is not given."""
    for field, text in fields.items():
        screen.read_until(f"{field} (" if "message" in fields else f"{field}: ")
        screen.type(text)


def test_a_person_talks_and_proposes_at_the_terminal(tmp_path: Path) -> None:
    context = "contexts=[{counts: [1, 1, 3], values: [[0, 1, 3], [1, 0, 3]]}]"
    arguments = ["play", "deal_or_no_deal", "--against", "fair", "--set", context, "--seed", "1"]
    with Terminal(*arguments, folder=tmp_path) as screen:
        screen.read_until("I take 0 books, 0 hats and 2 balls, and you take")
        fill_in(screen, message="", books="2", hats="1", balls="1")
        screen.read_until("That does not count")
        fill_in(screen, message="Deal.")
        screen.read_until("Player 2 has proposed.")
        fill_in(screen, books="1", hats="1", balls="1")
        status, end = screen.ends()
    assert status == 0
    assert "Your payoff is 4." in end
    with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
        (record,) = store.records(bodies=True)
    mine = [answer for answer in record.answers if answer.seat == "player_1"]
    assert [answer.kind for answer in mine] == [Kind.REPAIRED, Kind.OK]


@pytest.mark.parametrize("style", BOX.styles)
def test_a_form_is_read_in_every_style(style: str) -> None:
    game = DealOrNoDeal()
    table = Table(game, game.deal(Chance("1")), "1")
    (seat,) = table.pending
    thinking = Person(game, style_in(BOX, style)).answer(table.asked(seat))
    next(thinking)
    with pytest.raises(StopIteration) as end:
        thinking.send(Reply(text='{"message": "Hi.", "books": null, "hats": null, "balls": null}'))
    assert end.value.value == (MessageOrProposal(message="Hi."), Kind.OK)
