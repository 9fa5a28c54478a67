import { type Decision, ProjectId } from '@callboard/contract';
import { sql } from 'kysely';
import type { DecisionQuery, RequestsTable } from '../../ports/requests-table.ts';
import type { Database } from '../database.ts';
import { dialectOf } from '../dialect.ts';
import { rowsThatFit } from './page.ts';
import { toDecision } from './request-row.ts';

/** A decision of the log, with the title of its stage. */
function toLogged(row: LoggedRow): Decision[] {
  if (row.decision === null) return [];
  const { stage_title, project_id, title, project } = row;
  const isStageDeleted = stage_title !== null;
  const projectId = ProjectId.safeParse(project_id ?? project).data ?? null;
  return [{ ...toDecision(row.decision), stageTitle: stage_title ?? title, projectId, isStageDeleted }];
}

interface LoggedRow {
  decision: string | null;
  stage_title: string | null;
  project_id: string | null;
  title: string | null;
  project: string | null;
}

/** See `RequestsTable.decisions`. */
export async function decisionPage(
  db: Database,
  { limit, ...filter }: DecisionQuery,
): ReturnType<RequestsTable['decisions']> {
  const query = decided(db, filter);
  const sizes = await query
    .clearSelect()
    .select(['decided_at', sql<number>`octet_length(decision)`.as('bytes')])
    .limit(limit + 1)
    .execute();
  const fitting = rowsThatFit(sizes.slice(0, limit));
  const boundary = sizes[fitting]?.decided_at;
  if (boundary == null) return { decisions: (await query.execute()).flatMap(toLogged), next: null };
  const isTorn = sizes[0]?.decided_at === boundary; // the first instant alone is more than a page
  const page = await query.where('decided_at', isTorn ? '=' : '>', boundary).execute();
  const older = decided(db, { ...filter, before: boundary })
    .clearSelect()
    .select('decided_at')
    .limit(1);
  const isLast = isTorn && (await older.execute()).length === 0;
  return { decisions: page.flatMap(toLogged), next: isLast ? null : (page.at(-1)?.decided_at ?? null) };
}

/** The decisions that match, newest first. */
function decided(db: Database, filter: Omit<DecisionQuery, 'limit'>) {
  const { text } = dialectOf(db);
  let query = db
    .selectFrom('requests')
    .leftJoin('stages', 'stages.id', 'requests.stage_id')
    .select(['decision', 'decided_at', 'stage_title', 'requests.project_id', 'stages.project_id as project'])
    .select(text(sql.ref('stages.document'), 'title').as('title'))
    .where('decision', 'is not', null)
    .orderBy('decided_at', 'desc')
    .orderBy('request_id');
  const { projectId } = filter;
  if (projectId !== undefined)
    query = query.where((eb) => eb(eb.fn.coalesce('requests.project_id', 'stages.project_id'), '=', projectId));
  if (filter.stageId !== undefined) query = query.where('stage_id', '=', filter.stageId);
  if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind);
  if (filter.by !== undefined) query = query.where('decided_by', '=', filter.by);
  if (filter.device !== undefined) query = query.where(text(sql.ref('decision'), 'device'), '=', filter.device);
  const source = text(sql.ref('decision'), 'denial.source');
  if (filter.source === 'person') query = query.where(source, 'is', null);
  else if (filter.source !== undefined) query = query.where(source, '=', filter.source);
  if (filter.toolName !== undefined) query = query.where('tool_name', '=', filter.toolName);
  if (filter.since !== undefined) query = query.where('decided_at', '>=', filter.since);
  if (filter.before !== undefined) query = query.where('decided_at', '<', filter.before);
  return query;
}
