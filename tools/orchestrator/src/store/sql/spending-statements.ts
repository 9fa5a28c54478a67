import type { OnlyFor } from './migration-statements.ts';

/**
 * What was spent, by day and stage (docs/decisions/limits.md). Of earlier turns and runs, the day on which each ended is known. What else a session
 * has cost, and its tokens, count for the day of its last turn.
 */
export const spendingStatements: readonly (string | OnlyFor)[] = [
  `create table spending (
     day text not null, stage_id text not null, project_id text not null, usd real not null, tokens real not null,
     primary key (day, stage_id))`,
  `create index spending_by_stage on spending(stage_id)`,
  `create index spending_by_project on spending(project_id)`,
  {
    sqlite: `insert into spending (day, stage_id, project_id, usd, tokens)
     select date(ended.at, 'localtime'), stages.id, stages.project_id, sum(ended.usd), 0
     from (
       select stage_id, json_extract(document, '$.at') as at, json_extract(document, '$.costUsd') as usd
         from transcript where json_extract(document, '$.kind') = 'turn-end'
       union all
       select stage_id, json_extract(document, '$.endedAt'), json_extract(document, '$.costUsd') from side_runs
     ) as ended
     join stages on stages.id = ended.stage_id
     where ended.usd > 0 and ended.at is not null group by 1, 2`,
  },
  {
    sqlite: `insert into spending (day, stage_id, project_id, usd, tokens)
     select date(rest.at, 'localtime'), rest.id, rest.project_id, max(rest.usd, 0), rest.tokens
     from (
       select stages.id, stages.project_id,
         coalesce(json_extract(sessions.document, '$.lastTurn.at'), json_extract(sessions.document, '$.startedAt')) as at,
         round(json_extract(sessions.document, '$.costUsd') - coalesce(
           (select sum(usd) from spending where spending.stage_id = stages.id), 0), 9) as usd,
         coalesce(json_extract(sessions.document, '$.tokens.input'), 0) +
         coalesce(json_extract(sessions.document, '$.tokens.output'), 0) +
         coalesce(json_extract(sessions.document, '$.tokens.cacheCreation'), 0) as tokens
       from sessions join stages on stages.id = sessions.stage_id
     ) as rest
     where rest.at is not null and (rest.usd > 0 or rest.tokens > 0)
     on conflict (day, stage_id) do update set usd = usd + excluded.usd, tokens = tokens + excluded.tokens`,
  },
];
