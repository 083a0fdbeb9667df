-- Views of a store in PostgreSQL: those of views.sql, in its words for dates and JSON.

-- A row is a study.
create view v_studies as
select studies.name as study, studies.package,
    to_char(
        to_timestamp(studies.created) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
    ) as created_at,
    studies.planned, studies.halted, studies.spec as spec
from studies;

-- A row is a match of a study.
create view v_matches as
select studies.name as study, matches.id as match_id, configurations.game,
    configurations.version as rules_version, configurations.parameters as parameters,
    matches.deal as deal_key, matches.repeat, matches.status, matches.reason,
    members.current as planned,
    cast(nullif(cast(matches.outcome as text), 'null') as json) as outcome,
    cast(nullif(cast(matches.payoffs as text), 'null') as json) as payoffs, matches.calls,
    matches.input_tokens, matches.output_tokens, matches.cached_tokens, matches.reasoning_tokens,
    matches.dollars, matches.unpriced, matches.uncounted, matches.implausible,
    to_char(
        to_timestamp(matches.begun) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
    ) as began_at,
    to_char(
        to_timestamp(matches.finished) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
    ) as ended_at
from matches
join members on members.match_number = matches.number
join studies on studies.id = members.study_id
left join configurations on configurations.id = matches.configuration_id;

-- A row is a place of a match of a study.
create view v_seats as
select studies.name as study, matches.id as match_id, configurations.game, seats.key as place,
    rosters.label as player, players.spec as settings, matches.status,
    members.current as planned, cast(payoffs.value as double precision) as payoff,
    matches.kinds -> seats.key as kinds
from matches
join members on members.match_number = matches.number
join studies on studies.id = members.study_id
left join configurations on configurations.id = matches.configuration_id
cross join lateral json_each_text(matches.seats) as seats
left join players on players.id = cast(seats.value as integer)
left join rosters on rosters.study_id = studies.id and rosters.player_id = players.id
left join lateral json_each_text(
    cast(nullif(cast(matches.payoffs as text), 'null') as json)
) as payoffs on payoffs.key = seats.key;

-- A row is a study and a match of which it bought calls, those that are in no record included.
create view v_costs as
select study, match_id, sum(calls) as calls, sum(input_tokens) as input_tokens,
    sum(output_tokens) as output_tokens, sum(cached_tokens) as cached_tokens,
    sum(reasoning_tokens) as reasoning_tokens, sum(dollars) as dollars, sum(unpriced) as unpriced,
    sum(uncounted) as uncounted, sum(implausible) as implausible
from (
    select studies.name as study, matches.id as match_id, purchases.calls,
        purchases.input_tokens, purchases.output_tokens, purchases.cached_tokens,
        purchases.reasoning_tokens, purchases.dollars, purchases.unpriced, purchases.uncounted,
        purchases.implausible
    from purchases
    join studies on studies.id = purchases.study_id
    join matches on matches.number = purchases.match_number
    union all
    select studies.name, calls.match_id, 1,
        coalesce(cast(calls.reply #>> '{usage,input_tokens}' as integer), 0),
        coalesce(cast(calls.reply #>> '{usage,output_tokens}' as integer), 0),
        coalesce(cast(calls.reply #>> '{usage,cached_tokens}' as integer), 0),
        coalesce(cast(calls.reply #>> '{usage,reasoning_tokens}' as integer), 0),
        coalesce(cast(calls.reply #>> '{dollars}' as double precision), 0.0),
        cast(calls.reply #>> '{dollars}' is null as integer),
        cast(
            coalesce(cast(calls.reply #>> '{usage,input_tokens}' as integer), 0) = 0
            and calls.reply #>> '{status}' is null as integer
        ),
        cast(calls.reply #>> '{reported}' is not null as integer)
    from calls
    join studies on studies.id = calls.study_id
    where calls.call #>> '{model}' is not null
        and calls.match_id in (select id from matches)
        and not coalesce(cast(calls.reply #>> '{unreached}' as boolean), false)
        and not coalesce(cast(calls.reply #>> '{cached}' as boolean), false)
) as bought
group by study, match_id;

-- A row is a call that is in no record: of a match under way, failed, or unresolved.
create view v_open_calls as
select studies.name as study, calls.match_id, calls.request, calls.seat, calls.attempt,
    calls.try as sending, calls.state, calls.call #>> '{model}' as asked_model,
    calls.call #> '{settings}' as settings,
    calls.call #> '{messages}' as messages,
    calls.call #> '{form}' as form, calls.reply #>> '{text}' as reply,
    calls.reply #>> '{failure}' as failure,
    calls.reply #>> '{detail}' as detail,
    cast(calls.reply #>> '{status}' as integer) as status,
    cast(calls.reply #>> '{usage,input_tokens}' as integer) as input_tokens,
    cast(calls.reply #>> '{usage,output_tokens}' as integer) as output_tokens,
    cast(calls.reply #>> '{dollars}' as double precision) as dollars,
    to_char(
        to_timestamp(calls.sent) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
    ) as sent_at,
    to_char(
        to_timestamp(calls.received) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
    ) as answered_at
from calls
left join studies on studies.id = calls.study_id;

-- A row is a verdict of a judge.
create view v_judgements as
select studies.name as study, judgements.match_id, judgements.judge,
    judges.spec #>> '{rubric,name}' as rubric,
    judges.spec #>> '{model,model}' as judge_model, judgements.item, judgements.kind,
    judgements.verdict #>> '{category}' as category,
    judgements.verdict #> '{score}' as score,
    judgements.verdict #>> '{reason}' as reason,
    to_char(
        to_timestamp(judgements.made) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
    ) as made_at
from judgements
left join judges on judges.digest = judgements.judge
left join studies on studies.id = judgements.study_id;
