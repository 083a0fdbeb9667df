-- Views of a store, for whoever reads it with plain SQL.
--
-- They hold what stands in the tables, with names in place of numbers. What was asked and answered
-- in a match that ended is compressed, and in none of them: exports have it.

-- A row is a study.
create view v_studies as
select studies.name as study, studies.package,
    strftime('%Y-%m-%dT%H:%M:%fZ', studies.created, 'unixepoch') as created_at,
    studies.planned, studies.halted, json(studies.spec) as spec
from studies;

-- A row is a match of a study.
create view v_matches as
select studies.name as study, matches.id as match_id, configurations.game,
    configurations.version as rules_version, json(configurations.parameters) as parameters,
    matches.deal as deal_key, matches.repeat, matches.status, matches.reason,
    members.current as planned, nullif(json(matches.outcome), 'null') as outcome,
    nullif(json(matches.payoffs), 'null') as payoffs, matches.calls,
    matches.input_tokens, matches.output_tokens, matches.cached_tokens, matches.reasoning_tokens,
    matches.dollars, matches.unpriced, matches.uncounted, matches.implausible,
    strftime('%Y-%m-%dT%H:%M:%fZ', matches.begun, 'unixepoch') as began_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', matches.finished, 'unixepoch') as ended_at
from matches
join members on members.match_number = matches.number
join studies on studies.id = members.study_id
left join configurations on configurations.id = matches.configuration_id;

-- A row is a place of a match of a study.
create view v_seats as
select studies.name as study, matches.id as match_id, configurations.game, seats.key as place,
    rosters.label as player, json(players.spec) as settings, matches.status,
    members.current as planned, payoffs.value as payoff,
    json_extract(matches.kinds, '$."' || seats.key || '"') as kinds
from matches
join members on members.match_number = matches.number
join studies on studies.id = members.study_id
left join configurations on configurations.id = matches.configuration_id
join json_each(matches.seats) as seats
left join players on players.id = seats.value
left join rosters on rosters.study_id = studies.id and rosters.player_id = seats.value
left join json_each(matches.payoffs) as payoffs on payoffs.key = seats.key;

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
        coalesce(json_extract(calls.reply, '$.usage.input_tokens'), 0),
        coalesce(json_extract(calls.reply, '$.usage.output_tokens'), 0),
        coalesce(json_extract(calls.reply, '$.usage.cached_tokens'), 0),
        coalesce(json_extract(calls.reply, '$.usage.reasoning_tokens'), 0),
        coalesce(json_extract(calls.reply, '$.dollars'), 0.0),
        json_extract(calls.reply, '$.dollars') is null,
        coalesce(json_extract(calls.reply, '$.usage.input_tokens'), 0) = 0
            and json_extract(calls.reply, '$.status') is null,
        json_extract(calls.reply, '$.reported') is not null
    from calls
    join studies on studies.id = calls.study_id
    where json_extract(calls.call, '$.model') is not null
        and calls.match_id in (select id from matches)
        and not coalesce(json_extract(calls.reply, '$.unreached'), 0)
        and not coalesce(json_extract(calls.reply, '$.cached'), 0)
)
group by study, match_id;

-- A row is a call that is in no record: of a match under way, failed, or unresolved.
create view v_open_calls as
select studies.name as study, calls.match_id, calls.request, calls.seat, calls.attempt,
    calls.try as sending, calls.state, json_extract(calls.call, '$.model') as asked_model,
    json_extract(calls.call, '$.settings') as settings,
    json_extract(calls.call, '$.messages') as messages,
    json_extract(calls.call, '$.form') as form, json_extract(calls.reply, '$.text') as reply,
    json_extract(calls.reply, '$.failure') as failure,
    json_extract(calls.reply, '$.detail') as detail,
    json_extract(calls.reply, '$.status') as status,
    json_extract(calls.reply, '$.usage.input_tokens') as input_tokens,
    json_extract(calls.reply, '$.usage.output_tokens') as output_tokens,
    json_extract(calls.reply, '$.dollars') as dollars,
    strftime('%Y-%m-%dT%H:%M:%fZ', calls.sent, 'unixepoch') as sent_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', calls.received, 'unixepoch') as answered_at
from calls
left join studies on studies.id = calls.study_id;

-- A row is a verdict of a judge.
create view v_judgements as
select studies.name as study, judgements.match_id, judgements.judge,
    json_extract(judges.spec, '$.rubric.name') as rubric,
    json_extract(judges.spec, '$.model.model') as judge_model, judgements.item, judgements.kind,
    json_extract(judgements.verdict, '$.category') as category,
    json_extract(judgements.verdict, '$.score') as score,
    json_extract(judgements.verdict, '$.reason') as reason,
    strftime('%Y-%m-%dT%H:%M:%fZ', judgements.made, 'unixepoch') as made_at
from judgements
left join judges on judges.digest = judgements.judge
left join studies on studies.id = judgements.study_id;
