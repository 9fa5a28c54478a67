import { CLAUDE_CODE, RequestId, StageId } from '@callboard/contract';
import { sql } from 'kysely';
import { z } from 'zod';
import type { AnsweredCall, AnsweredCallsQuery, RequestsTable } from '../../ports/requests-table.ts';
import type { Database } from '../database.ts';
import { dialectOf } from '../dialect.ts';

/** A longer request is counted, and not compared with a rule. */
const COMPARED_BYTES = 20_000;

const FILE_TOOLS = ['Read', 'Edit', 'Write', 'MultiEdit', 'NotebookEdit'];

const Row = z.object({
  ordinal: z.int(),
  stage_id: StageId,
  request_id: RequestId,
  title: z.string().nullable(),
  tool_name: z.string(),
  command: z.string().nullable(),
  url: z.string().nullable(),
  filePath: z.string().nullable(),
  notebookPath: z.string().nullable(),
  folder: z.string().nullable(),
  outcome: z.enum(['allowed', 'denied', 'timed-out']),
  decided_by: z.string().nullable(),
  decided_at: z.string(),
  asked: z.string().nullable(),
  waited: z.int().nullable(),
  reason: z.string().nullable(),
  isRulable: z.int().nullable(),
  isBarred: z.int().nullable(),
});

type AnsweredCalls = Pick<RequestsTable, 'newestOrdinal' | 'answeredCalls' | 'countAnswered'>;

/** What rules are compared with. See `RequestsTable`. */
export const answeredCallsOf = (db: Database): AnsweredCalls => ({
  async newestOrdinal(): Promise<number> {
    const newest = db.selectFrom('requests').select((eb) => eb.fn.max('ordinal').as('newest'));
    return (await newest.executeTakeFirst())?.newest ?? 0;
  },
  answeredCalls: (query) => answeredCalls(db, query),
  countAnswered: (query) => countAnswered(db, query),
});

async function answeredCalls(db: Database, query: AnsweredCallsQuery): Promise<AnsweredCall[]> {
  const isShort = sql`octet_length(requests.document) <= ${COMPARED_BYTES}`;
  const { text, number, boolean, length, position, flag } = dialectOf(db);
  const document = sql.ref<string | null>('requests.document');
  const decision = sql.ref<string | null>('requests.decision');
  const field = (path: string) => sql<string | null>`case when ${isShort} then ${text(document, path)} end`;
  // Claude Code names the path of a command that writes, also inside the worktree, where a rule helps.
  const worktree = text(sql.ref('stages.document'), 'worktree.path');
  const blocked = text(document, 'blockedPath');
  const isInside = sql`${position(sql`${blocked} || '/'`, sql`${worktree} || '/'`)} = 1`;
  // A rule about files also lets through what is outside.
  const isFileTool = sql`requests.tool_name in (${sql.join(FILE_TOOLS)})`;
  let rows = answered(db, query)
    .leftJoin('stages', 'stages.id', 'requests.stage_id')
    .select(
      ['ordinal', 'stage_id', 'request_id', 'tool_name', 'outcome', 'decided_by', 'decided_at'].map((name) =>
        sql`requests.${sql.ref(name)}`.as(name),
      ),
    )
    .select([
      sql<string | null>`coalesce(requests.stage_title, ${text(sql.ref('stages.document'), 'title')})`.as('title'),
      field('input.command').as('command'),
      field('input.url').as('url'),
      field('input.file_path').as('filePath'),
      field('input.notebook_path').as('notebookPath'),
      worktree.as('folder'),
      text(decision, 'asked').as('asked'),
      number(decision, 'waitedMs').as('waited'),
      text(decision, 'reason').as('reason'),
      flag(
        sql`${isShort} and ${text(decision, 'updatedInput')} is null and ${text(decision, 'delivery')} <> 'not-applied'
          and (${blocked} is null or ${isInside} or ${isFileTool}) and ${length(document, 'suggestions')} > 0`,
      ).as('isRulable'),
      flag(
        sql`case when ${isShort} then ${boolean(document, 'suppressAlwaysAllow')} or ${text(document, 'leavesSandbox')} is not null
          else false end`,
      ).as('isBarred'),
    ])
    .where('requests.tool_name', '=', query.toolName)
    .orderBy('requests.ordinal', 'desc');
  if (query.text !== undefined)
    rows = rows.where(sql<boolean>`${isShort} and ${position(document, sql.val(query.text))} > 0`);
  return (await rows.execute()).map((row) => toCall(Row.parse(row)));
}

/** Counts by ordinals, so it never reads more than the range. */
async function countAnswered(
  db: Database,
  query: Omit<AnsweredCallsQuery, 'toolName' | 'text'>,
): ReturnType<RequestsTable['countAnswered']> {
  const row = await answered(db, query)
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('requests.decided_at').as('oldest')])
    .executeTakeFirst();
  return { count: row?.count ?? 0, oldest: row?.oldest ?? null };
}

/** The calls that a person was asked about and that were not closed unanswered. */
function answered(db: Database, { projectId, stageId, from, to }: Omit<AnsweredCallsQuery, 'toolName' | 'text'>) {
  const rows = db
    .selectFrom('requests')
    .where('requests.ordinal', '>=', from)
    .where('requests.ordinal', '<=', to)
    .where('requests.kind', '=', 'approval')
    .where('requests.outcome', 'in', ['allowed', 'denied', 'timed-out'])
    .where((eb) => eb.or([eb('requests.decided_by', 'is', null), eb('requests.decided_by', '<>', CLAUDE_CODE)]));
  if (stageId !== undefined) return rows.where('requests.stage_id', '=', stageId);
  return rows.where((eb) =>
    eb.or([
      eb('requests.project_id', '=', projectId),
      eb.and([
        eb('requests.project_id', 'is', null),
        eb(
          'requests.stage_id',
          'in',
          eb.selectFrom('stages').select('stages.id').where('stages.project_id', '=', projectId),
        ),
      ]),
    ]),
  );
}

function toCall(row: z.infer<typeof Row>): AnsweredCall {
  const input = { command: row.command, url: row.url, file_path: row.filePath, notebook_path: row.notebookPath };
  return {
    ordinal: row.ordinal,
    stageId: row.stage_id,
    requestId: row.request_id,
    stageTitle: row.title,
    toolName: row.tool_name,
    input: Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)),
    folder: row.folder,
    outcome: row.outcome,
    by: row.decided_by,
    at: row.decided_at,
    reason: row.reason,
    asked: row.asked ?? row.tool_name,
    waitedMs: row.waited ?? 0,
    isRulable: row.isRulable === 1,
    isBarred: row.isBarred === 1,
  };
}
