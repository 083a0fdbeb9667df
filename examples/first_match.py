"""Play one match of bargaining between two strategies and read it in words.

python examples/first_match.py
"""

import cheaptalk as ct


def main() -> None:
    """Play, print what Bob lived through, and what each of them got."""
    box = ct.game_box("bargaining")
    game = ct.games.Bargaining(money=100, discounts=(0.9, 0.9), horizon=ct.Horizon(rounds=12))
    seed = "my first match"
    deal = game.deal(ct.Chance(seed))
    players = {"alice": box.strategies["linear"], "bob": box.strategies["boulware"]}
    table = ct.play(game, deal, seed, players)

    words = ct.style("bargaining")
    for moment in table.heard["bob"]:
        print(words.tell(moment.event, game, "bob"))
        if moment.action is not None:
            print(f"Bob answers: {words.codec.write(moment.action)}")
        print()

    result = table.result()
    for seat, dollars in game.payoffs(result.outcome).items():
        print(f"{seat} gets ${dollars:.2f}")
    for measure in box.measures.values():
        print(f"{measure.name}: {measure.of(result):.3f}")


if __name__ == "__main__":
    main()
