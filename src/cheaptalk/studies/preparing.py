"""What a run needs before it starts: the plan, and players who can be reached."""

from collections.abc import Iterator

from cheaptalk.models.prices import Prices
from cheaptalk.players import ModelSeat, PersonSeat, RecordedSeat
from cheaptalk.records import MatchRecord, Status, Store, StoreError
from cheaptalk.rules import Given
from cheaptalk.studies.calling import AskPerson
from cheaptalk.studies.planning import Configuration, Dealt, Plan, deal_key, plan
from cheaptalk.studies.purse import unpriced
from cheaptalk.studies.redealing import redealt
from cheaptalk.studies.seating import Seated
from cheaptalk.studies.spec import Cap, Study, StudyError

SETTLED = (Status.FINISHED, Status.FORFEITED)
"""How a match has ended that is not played again."""


def lay_out(study: Study, store: Store | None) -> Plan:
    """The plan of a study; one that takes its deals from another finds them in the store.

    Raises:
        StudyError: it cannot be laid out.
        OtherVersion: an earlier match was dealt under other rules than those installed.
    """
    if study.deals_from is None:
        laid = plan(study)
        if store is not None:
            laid.matches += redealt(laid, store)
        return laid
    if store is None:
        raise StudyError(
            f'deals_from: there is no store to take "{study.deals_from}" from; name it with --store'
        )
    tables = list(_tables_of(store, study.deals_from))
    if not tables:
        raise StudyError(f'deals_from: "{study.deals_from}" has no finished match in {store.path}')
    return plan(study, tables)


def _tables_of(store: Store, name: str) -> Iterator[tuple[Configuration, list[Dealt]]]:
    """The configurations of a study with the deals and turn orders it was played on."""
    try:
        store.study(name)
    except StoreError as error:
        raise StudyError(f"deals_from: {error}") from None
    found: dict[str, tuple[Configuration, dict[tuple[str, str], Dealt]]] = {}
    for record in store.records(name, bodies=True):
        if record.status not in SETTLED:
            continue
        configuration = Configuration(record.rules)
        _, deals = found.setdefault(configuration.digest, (configuration, {}))
        deal = record.table().deal
        dealt = Dealt(f"{record.deal_key}:{deal_key(deal)}", record.body["seed"], deal)
        deals.setdefault((dealt.key, dealt.seed), dealt)
    for configuration, deals in found.values():
        yield configuration, list(deals.values())


def check_seats(
    laid: Plan, store: Store | None, ask_person: AskPerson | None = None
) -> dict[str, list[Given]]:
    """Refuse a plan whose players cannot be reached, before anything is written.

    Returns:
        The moves that recorded players repeat, by match.

    Raises:
        StudyError: a provider's key is not set, a person is to play and nobody asks them, or a
            recorded match is not there, has not ended or is one of another game.
        ReplayMismatch: the installed rules do not replay a recorded match.
    """
    moves: dict[str, list[Given]] = {}
    seated = [
        (match.configuration.game.name, one) for match in laid.matches for one in match.seating
    ]
    for game, player in dict.fromkeys(seated):
        match player.spec:
            case ModelSeat() as model if model.missing():
                raise _unreachable(player, model.missing() or "")
            case PersonSeat() if ask_person is None:
                raise _unreachable(player, "a person plays with: cheaptalk play")
            case RecordedSeat(recorded=wanted):
                record = _recorded(player, wanted, store)
                if record.game != game:
                    raise _unreachable(
                        player, f"match {wanted} is one of {record.game}, not {game}"
                    )
                moves[wanted] = record.replay().given
    return moves


def check_prices(laid: Plan, prices: Prices, cap: Cap) -> None:
    """Refuse a budget in dollars where a model's price is not known.

    Args:
        cap: what the run may spend, besides the study's budget.

    Raises:
        StudyError: there is a cap in dollars, and no price for a model.
    """
    budget = laid.study.budget
    if not any(one.dollars for one in (budget, budget.per_match, cap)):
        return
    for player in laid.players().values():
        if isinstance(player.spec, ModelSeat) and prices.of(player.spec.model) is None:
            raise _unreachable(player, unpriced(player.spec.model))


def _unreachable(player: Seated, reason: str) -> StudyError:
    return StudyError(f"players.{player.label}: {reason}")


def _recorded(player: Seated, wanted: str, store: Store | None) -> MatchRecord:
    if store is None:
        raise _unreachable(player, f"there is no store to take match {wanted} from")
    try:
        record = store.find(wanted)
    except StoreError as error:
        raise _unreachable(player, str(error)) from None
    if record.status not in SETTLED:
        raise _unreachable(player, f"match {wanted} has not ended")
    return record
