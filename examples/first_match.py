"""Play one match of bargaining between two strategies, and print it as text.

python examples/first_match.py
"""

import cheaptalk as ct


def main() -> None:
    """Play a match, and print Bob's observations and answers and both payoffs."""
    game_spec = ct.get_game("bargaining")
    game = ct.games.Bargaining(money=100, discounts=(0.9, 0.9), horizon=ct.rules.Horizon(rounds=12))
    seed = "my first match"
    instance = game.draw_instance(ct.Chance(seed))
    players = {"alice": game_spec.strategies["linear"], "bob": game_spec.strategies["boulware"]}
    table = ct.play(game, instance, seed, players)

    style = ct.styles.style("bargaining")
    for moment in table.heard["bob"]:
        print(style.tell(moment.event, game, "bob"))
        if moment.action is not None:
            print(f"Bob answers: {style.codec.write(moment.action)}")
        print()

    result = table.result()
    for seat, dollars in game.payoffs(result.outcome).items():
        print(f"{seat} gets ${dollars:.2f}")
    for metric in game_spec.metrics.values():
        print(f"{metric.name}: {metric.of(result):.3f}")


if __name__ == "__main__":
    main()
