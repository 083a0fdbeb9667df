"""Copy a match at each of Bob's rejections, accept instead, and play it to the end.

python examples/fork_a_match.py
"""

import cheaptalk as ct

bargaining = ct.games.bargaining


def main() -> None:
    """Replace each of Bob's rejections by an acceptance, and print his payoff."""
    game_spec = ct.get_game("bargaining")
    game = ct.games.Bargaining(money=100, discounts=(0.9, 0.9), horizon=ct.rules.Horizon(rounds=12))
    players = {"alice": game_spec.strategies["linear"], "bob": game_spec.strategies["boulware"]}
    seed = "what if"
    match = ct.play(game, game.draw_instance(ct.Chance(seed)), seed, players)
    print(f"as played: Bob gets ${game.payoffs(match.result().outcome)['bob']:.2f}")

    for given in match.given:
        if given.action == bargaining.events.Reply(decision="reject") and given.actor == "bob":
            other = match.clone(given.request)
            other.answer("bob", bargaining.events.Reply(decision="accept"))
            gains = game.payoffs(ct.rules.play_on(other, players).result().outcome)
            print(f"if Bob had accepted in request {given.request}: ${gains['bob']:.2f}")


if __name__ == "__main__":
    main()
