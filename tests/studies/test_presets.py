"""Preset studies of the package."""

import math
from collections import Counter

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.games.item_bargaining.rules import PRESETS, ItemBargaining
from cheaptalk.papers.glee.human_study import (
    FAMILIES,
    StudyFamily,
    other_configurations,
    random_configurations,
    variants,
)
from cheaptalk.records import digest_key
from cheaptalk.rules import get_game
from cheaptalk.studies import Plan, plan, preset_names, preset_text
from cheaptalk.studies.estimates.participants import untranslated
from cheaptalk.studies.people.page_texts.texts import placeholders, texts_in
from cheaptalk.web.rooms.languages import languages

GLEE = {"bargaining": 384, "negotiation": 576, "persuasion": 360}
"""Configurations in GLEE's Table 1."""


def preset_study(name: str) -> ct.Study:
    preset = ct.preset(name)
    assert preset is not None
    return preset


def matches_by_configuration(planned: Plan) -> Counter[str]:
    counts: Counter[str] = Counter()
    for group in planned.matches.groups():
        counts[group.configuration.digest] += group.matches
    return counts


@pytest.fixture(scope="module")
def glee() -> Plan:
    return plan(preset_study("glee"))


def test_presets_are_found_by_name() -> None:
    assert preset_names() == [
        "chip-trading",
        "chip-trading-human",
        "deal-or-no-deal",
        "deal-or-no-deal-human",
        "gama",
        "gama-appendix-g",
        "gama-scripted",
        "gama-settings",
        "glee",
        "glee-human",
        "glee-small",
        "item-bargaining",
        "item-bargaining-heuristics",
        "item-bargaining-walk",
        "public-goods-punishment",
        "quickstart",
        "self-play",
        "trust",
        "ultimatum-strategy-method",
    ]
    for name in ("gle", "../presets/glee"):
        with pytest.raises(ct.rules.UnknownName, match="unknown preset"):
            ct.preset(name)
    assert all(preset_study(name).name == name for name in preset_names())


def test_presets_round_trip_as_text_and_data() -> None:
    for name in preset_names():
        text = preset_text(name)
        assert text.startswith(f'# The preset "{name}": change the name in your copy.\n')
        preset = preset_study(name)
        assert ct.studies.parse_study(yaml.safe_load(text), name) == preset
        assert ct.studies.parse_study(preset.written(), name) == preset


def test_glee_covers_every_configuration_with_80100_matches(glee: Plan) -> None:
    configurations = [game for grid in preset_study("glee").games for game in grid.configurations()]
    keys = {(game.name, digest_key(game.model_dump(mode="json"))) for game in configurations}
    assert Counter(game.name for game in configurations) == GLEE
    assert len(keys) == len(configurations) == 1_320
    assert len(glee.matches) == len({*glee.matches.ids()}) == 80_100
    assert glee.configurations() == GLEE
    counts = matches_by_configuration(glee).values()
    assert max(counts) - min(counts) <= 1


def test_glee_small_plays_each_configuration_three_times(glee: Plan) -> None:
    counts = matches_by_configuration(plan(preset_study("glee-small")))
    assert set(counts.values()) == {3}
    assert counts.keys() == matches_by_configuration(glee).keys()


GAMA = {
    "guess_the_average": 13,
    "el_farol_bar": 6,
    "divide_the_dollar": 5,
    "public_goods": 5,
    "diners_dilemma": 6,
    "sealed_bid_auction": 4,
    "battle_royale": 3,
    "pirate_game": 4,
}
"""Settings in GAMA-Bench's Table 8."""


def test_gama_plays_five_runs_per_game_with_settings_of_table_8() -> None:
    runs = plan(preset_study("gama"))
    assert runs.configurations() == dict.fromkeys(GAMA, 1)
    assert {match.seating[0].label for match in runs.matches} == {"equilibrium", "chance"}
    assert all(len({seat.label for seat in match.seating}) == 1 for match in runs.matches)
    assert len(runs.matches) == 8 * 2 * 5
    assert plan(preset_study("gama-settings")).configurations() == GAMA


def test_other_presets_plan_the_games_and_pairings_of_their_papers() -> None:
    planned = plan(preset_study("chip-trading"))
    assert planned.configurations() == {"chip_trading": 3}
    assert set(planned.counts().values()) == {3 * 48}
    planned = plan(preset_study("deal-or-no-deal"))
    assert planned.configurations() == {"deal_or_no_deal": 3}
    assert len(planned.counts()) == 25


def test_item_bargaining_plays_the_papers_baselines_of_each_class() -> None:
    """The LLM+baselines analysis has 3 baselines in BG1 to BG3 and 6 in BG4 to BG6 (section 5)."""
    study = preset_study("item-bargaining")
    games = [game for grid in study.games for game in grid.configurations()]
    assert games == [ItemBargaining.model_validate(PRESETS[f"BG{n}"]) for n in range(1, 7)]
    agents: dict[str, set[str]] = {}
    for match in plan(study).matches:
        labels = agents.setdefault(match.configuration.digest, set())
        labels.update(seat.label for seat in match.seating)
    everywhere = {"soft", "tough", "walk"}
    with_learned = everywhere | {"aspire", "nfsp", "rnad"}
    assert list(agents.values()) == [everywhere] * 3 + [with_learned] * 3
    assert len(plan(study).matches) == 3 * 100 * (3**2 + 6**2)


def test_gama_appendix_g_plays_the_papers_models_with_fixed_players() -> None:
    planned = plan(preset_study("gama-appendix-g"))
    tables = {
        (match.configuration.game.name, *(seat.label for seat in match.seating))
        for match in planned.matches
    }
    gpt = "gpt-3.5-0125"
    assert tables == {
        ("divide_the_dollar", "dominant", *[gpt] * 9),
        ("divide_the_dollar", *[gpt] * 10),
        ("public_goods", "free-rider", *[gpt] * 9),
        ("public_goods", *[gpt] * 10),
        ("guess_the_average", *["gpt-4o-0806"] * 10),
    }
    assert planned.configurations()["guess_the_average"] == 4, "no information, and (a) to (c)"
    assert len(planned.matches) == 5 * (2 + 2 + 4)


def test_quickstart_plays_all_families_in_every_pairing() -> None:
    planned = plan(preset_study("quickstart"))
    games = Counter(game for game, _ in planned.counts())
    assert games == {"bargaining": 25, "negotiation": 25, "persuasion": 16}
    assert {match.scripted for match in planned.matches} == {True}


def test_glee_human_matches_the_counts_of_the_paper() -> None:
    """GLEE's Table 7: 78, 60 and 57 configurations with a role for a person, 3,280 games."""
    planned = plan(preset_study("glee-human"))
    seats = {
        (match.configuration.game.name, match.configuration.digest, match.seating[0].label)
        for match in planned.matches
    }
    for match in planned.matches:
        if getattr(match.configuration.game, "myopic", False):
            assert match.seating[0].label == "human", "people never play the myopic buyer"
    counts = Counter(game for game, _, _ in seats)
    assert counts == {"bargaining": 78, "negotiation": 60, "persuasion": 57}
    assert len(seats) == 195
    assert len(planned.matches) == 3_280
    assert {tuple(sorted(p.label for p in match.seating)) for match in planned.matches} == {
        ("human", "model")
    }


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f"{f.game}{f.main.get('myopic')}")
def test_variants_differ_in_one_parameter_and_others_in_several(family: StudyFamily) -> None:
    def changes(case: dict[str, object]) -> int:
        return sum(case[name] != family.main[name] for name in family.main)

    assert {changes(case) for case in variants(family)} == {1}
    assert min(changes(case) for case in other_configurations(family)) == 2
    size = math.prod(len(values) for values in family.values.values())
    assert 1 + len(variants(family)) + len(other_configurations(family)) == size
    few = random_configurations(family, ct.Chance("1"))
    assert len(few) == len(other_configurations(family)) // 20
    assert few != random_configurations(family, ct.Chance("2"))
    game_spec = get_game(family.game)
    assert all(game_spec.rules.model_validate(case) for case in [family.main, *few])


def test_presets_with_participants_have_all_languages_of_their_pages() -> None:
    checked = []
    for name in preset_names():
        protocol = preset_study(name).people
        if protocol is not None:
            checked.append(name)
            written = [words for _, words in texts_in(protocol) if isinstance(words, dict)]
            assert {code for words in written for code in words} == {*languages()}, name
            assert untranslated(protocol) == {}, name
            for words in written:
                gaps = {code: sorted(placeholders(text)) for code, text in words.items()}
                assert len({*map(tuple, gaps.values())}) == 1, (name, words)
    assert len(checked) >= 5
