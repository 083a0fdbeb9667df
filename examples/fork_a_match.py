"""What if Bob had said yes? Replay a match up to a question, answer it otherwise, play on.

python examples/fork_a_match.py
"""

import cheaptalk as ct

bargaining = ct.games.bargaining


def play_on(table: ct.Table, players: dict[str, ct.Strategy]) -> dict[str, float]:
    """Let the players finish a table, wherever it stands, and say what each of them gets."""
    while table.pending:
        for ask in table.unanswered():
            table.answer(ask.seat, players[ask.seat](table.asked(ask.seat)))
    return table.game.payoffs(table.outcome)


def fork(match: ct.Table, given: ct.Given) -> ct.Table:
    """A second table of the same match, at the question to which this answer was given."""
    before = [
        (earlier.request, earlier.seat, earlier.action.model_dump() if earlier.action else None)
        for earlier in match.given
        if earlier.request < given.request
    ]
    return ct.replay(match.game, match.deal, match.chance.seed, before)


def main() -> None:
    """Turn each of Bob's refusals into a yes, and print what he would have got."""
    box = ct.game_box("bargaining")
    game: ct.Game = bargaining.rules.Bargaining(money=100, discounts=(0.9, 0.9), horizon=12)
    players = {"alice": box.strategies["linear"], "bob": box.strategies["boulware"]}
    seed = "what if"
    match = ct.play(game, game.deal(ct.Chance(seed)), seed, players)
    print(f"as played: Bob gets ${game.payoffs(match.outcome)['bob']:.2f}")

    for given in match.given:
        if given.action == bargaining.events.Reply(decision="reject") and given.seat == "bob":
            other = fork(match, given)
            other.answer("bob", bargaining.events.Reply(decision="accept"))
            gains = play_on(other, players)
            print(f"had he accepted in request {given.request}: ${gains['bob']:.2f}")


if __name__ == "__main__":
    main()
