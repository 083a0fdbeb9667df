"""What a player can propose that gains it something."""

from typing import NamedTuple

from cheaptalk.games.chip_trading.events import Proposal
from cheaptalk.games.chip_trading.stocks import Stock, read
from cheaptalk.rules import Asked, Stream


class Room(NamedTuple):
    """Proposals that give the same chips for more or fewer of one colour.

    Attributes:
        give, amount: the chips given.
        want: the colour wanted.
        least, most: how many chips of it are wanted, from and to.
    """

    give: str
    amount: int
    want: str
    least: int
    most: int

    @property
    def range(self) -> range:
        """How many chips can be wanted."""
        return range(self.least, self.most + 1)

    def asking(self, wanted: int) -> Proposal:
        """The proposal that wants so many chips."""
        return Proposal(give=self.give, give_amount=self.amount, want=self.want, want_amount=wanted)


def held(asked: Asked) -> tuple[Stock, Stock]:
    """What the seat holds, and the most that any other player holds of each colour."""
    holdings = read(asked.event.stocks)
    mine = holdings.pop(asked.seat)
    return mine, {colour: max(one[colour] for one in holdings.values()) for colour in mine}


def gainful(asked: Asked) -> list[Room]:
    """The proposals that gain the seat something and that some other player can pay for.

    Where there are none, those that gain it something for a single chip, and nobody can pay for.
    """
    worths = dict(asked.briefing.worths)
    mine, most = held(asked)
    rooms = [
        Room(give, amount, want, amount * worths[give] // worths[want] + 1, most[want])
        for give, stock in mine.items()
        for want in mine
        if give != want
        for amount in range(1, stock + 1)
    ]
    payable = [room for room in rooms if room.least <= room.most]
    return payable or [room._replace(most=room.least) for room in rooms if room.amount == 1]


def drawn(rooms: list[Room], stream: Stream) -> Proposal:
    """One of all the proposals in these rooms, each equally likely."""
    place = stream.integer(1, sum(len(room.range) for room in rooms))
    for room in rooms:
        if place <= len(room.range):
            break
        place -= len(room.range)
    return room.asking(room.range[place - 1])
