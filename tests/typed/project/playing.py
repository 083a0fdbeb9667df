"""Games, players, models, learning, and web servers."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import cheaptalk as ct
from cheaptalk import starters


@ct.strategy("alice", "bob")
def stubborn(request: ct.DecisionRequest) -> ct.Action:
    """Ask for everything."""
    return ct.get_game("bargaining").strategies["fixed_demand"](request)


def match() -> dict[str, float]:
    game_spec = ct.get_game("bargaining")
    game = ct.games.Bargaining(money=100, discounts=(0.9, 0.9), horizon=4)
    players: Mapping[str, ct.rules.Decide] = {
        "alice": stubborn,
        "bob": game_spec.strategies["linear"],
    }
    result: ct.Result = ct.play(game, game.draw_instance(ct.Chance("a")), "a", players).result()
    return game.payoffs(result.outcome)


def every_game() -> list[ct.Game]:
    glee = [ct.games.Bargaining(), ct.games.Negotiation(), ct.games.Persuasion()]
    others = [ct.games.DealOrNoDeal(), ct.games.ItemBargaining(), ct.games.ChipTrading()]
    choices = [
        ct.games.GuessTheAverage(ratio=0.5),
        ct.games.ElFarolBar(),
        ct.games.DivideTheDollar(),
    ]
    groups = [ct.games.PublicGoods(), ct.games.DinersDilemma(), ct.games.SealedBidAuction()]
    rounds = [ct.games.BattleRoyale(horizon=12), ct.games.PirateGame(players=3)]
    classics = [ct.games.UltimatumGame(), ct.games.TrustGame(), ct.games.PublicGoodsPunishment()]
    return [*glee, *others, *choices, *groups, *rounds, *classics]


def preview_prompt() -> list[str]:
    game = ct.games.Bargaining()
    linear = ct.get_game("bargaining").strategies["linear"]
    seat = ct.players.ModelSeat(model="openai/gpt-4o", temperature=0.5)
    preview = ct.players.preview(seat, game, "alice", {"bob": linear}, "1", turn=1)
    return [] if preview is None else [message.content for message in preview.calls[0].messages]


def catalogue() -> tuple[object, ...]:
    prices: ct.models.Prices = ct.models.load_prices()
    price = prices.of("openai/gpt-4o")
    provider: ct.models.Provider = ct.models.PROVIDERS["openai"]
    roster: ct.players.Roster = ct.players.roster("glee")
    games: Mapping[str, ct.GameSpec] = ct.rules.games()
    return price and price.input, provider.url, roster.entries(), list(games)


def check_game() -> list[str]:
    game_spec = ct.conformance.spec_at("bargaining")
    files: list[Path] = starters.write_game("haggle", Path("haggle"))
    print(files)
    verdicts = ct.conformance.verdicts(game_spec, ["1"])
    return [verdict.check for verdict in verdicts if verdict.problem]


def train_policy(out: Path) -> list[float]:
    wanted = ct.learning.get_preset("nfsp", "bargaining", 1_000, {})
    rules = ct.learning.game_of(wanted.game, {})
    settings = ct.learning.settings_of(wanted.algorithm, wanted.settings)
    ct.learning.train(wanted.algorithm, rules, settings, wanted.matches, out)
    policy: ct.learning.Policy = ct.learning.read_policy(out)
    tree = ct.learning.Tree(policy.game)
    ct.adapters.write_efg(tree, "game.efg")
    return [entry.gain for entry in ct.learning.exploitability(policy, 1_000).gains]


async def ask_person(call: ct.players.PersonCall) -> ct.models.Reply:
    return ct.models.Reply(text=await asyncio.to_thread(input, call.question))


async def run_with_person(study: ct.Study) -> ct.Progress:
    return await ct.run_async(study, "played.sqlite", ask_person=ask_person)


async def serve_study(study: Path, folder: Path) -> ct.web.Tally:
    with ct.web.listen(0) as there:
        address = ct.web.own_address(there)
        async with ct.web.open_site(study, "served.sqlite", address) as site:
            serving = asyncio.create_task(ct.web.serve_app(site.app, there, address))
            tally = await ct.web.Crowd(site.link, people=2).play()
            serving.cancel()
        async with ct.web.open_laboratory(folder, address) as laboratory:
            print(laboratory.link, laboratory.notes)
    return tally


async def serve_viewer(path: Path) -> None:
    with ct.Store.open(path) as store, ct.web.listen() as there:
        await ct.web.serve_app(ct.web.make_viewer(store), there, ct.web.own_address(there))
