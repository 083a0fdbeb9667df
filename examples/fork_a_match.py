"""Copy a match at each offer to Bob, accept it for him, and play the copy to the end.

python examples/fork_a_match.py
"""

import cheaptalk as ct

Reply = ct.games.bargaining.events.Reply


def main() -> None:
    """Print Bob's payoff if he had accepted each offer, and his payoff as played."""
    game = ct.games.Bargaining(money=100, discounts=(0.9, 0.9), horizon=ct.rules.Horizon(rounds=12))
    match = ct.Match(game, {"alice": "linear", "bob": "boulware"}, "what if")
    while request := match.request:
        if request.actor == "bob" and request.ask.action is Reply:
            fork = match.copy().step(Reply(decision="accept")).play()
            gain = game.payoffs(fork.table.result().outcome)["bob"]
            print(f"if Bob had accepted in request {request.number}: ${gain:.2f}")
        match.step()
    gain = game.payoffs(match.table.result().outcome)["bob"]
    print(f"as played: Bob gets ${gain:.2f}")


if __name__ == "__main__":
    main()
