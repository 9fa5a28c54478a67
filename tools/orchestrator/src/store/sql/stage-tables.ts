import {
  Attachment,
  type CheckState,
  type CommentId,
  Draft,
  MachineId,
  type MessageId,
  type ProjectId,
  SideRun,
  type SideRunState,
  Stage,
  StageId,
} from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import {
  type AttachmentsTable,
  type ChecksTable,
  type CommentsTable,
  type DraftFilesTable,
  type DraftsTable,
  MAX_MARKS,
  type SideRunsTable,
  type StagesTable,
  type TurnMarksTable,
  type ViewedTable,
} from '../ports/stage-port.ts';
import { CheckRecord, CommentRecord, type TurnMark } from '../records.ts';
import type { RowCaches } from './cached-rows.ts';
import { builder, param, prepare } from './prepared.ts';
import { documentOf, mapRow, parsedOnce } from './rows.ts';
import type { Database } from './schema.ts';

/** See `AttachmentsTable`. */
export function attachmentsTable(db: Database): AttachmentsTable {
  return {
    async find(stageId, fileId) {
      const rows = db.selectFrom('attachments').select('document').where('stage_id', '=', stageId);
      return mapRow(await rows.where('id', '=', fileId).executeTakeFirst(), documentOf(Attachment));
    },
    async insert(stageId, fileId, file) {
      const row = { id: fileId, stage_id: stageId, document: JSON.stringify(file) };
      await db.insertInto('attachments').values(row).execute();
    },
    async remove(stageId, fileId) {
      await db.deleteFrom('attachments').where('stage_id', '=', stageId).where('id', '=', fileId).execute();
    },
  };
}

/** How many runs are kept of a stage. */
const MAX_SAVED = 50;

/** See `ChecksTable`. */
export function checksTable(db: Database): ChecksTable {
  async function prune(stageId: StageId): Promise<void> {
    const saved = db.selectFrom('checks').select('ordinal').where('stage_id', '=', stageId).orderBy('ordinal', 'desc');
    const oldest = await saved
      .offset(MAX_SAVED - 1)
      .limit(1)
      .executeTakeFirst();
    if (oldest === undefined) return;
    await db.deleteFrom('checks').where('stage_id', '=', stageId).where('ordinal', '<', oldest.ordinal).execute();
  }

  return {
    async listOf(stageId: StageId): Promise<CheckRecord[]> {
      const rows = db.selectFrom('checks').select('document').where('stage_id', '=', stageId);
      return (await rows.orderBy('ordinal', 'desc').execute()).map(documentOf(CheckRecord));
    },
    async listIn(states: readonly CheckState[]): Promise<CheckRecord[]> {
      const rows = db.selectFrom('checks').select('document').where('state', 'in', states);
      return (await rows.orderBy('ordinal').execute()).map(documentOf(CheckRecord));
    },
    async find(id: string): Promise<CheckRecord | null> {
      const row = await db.selectFrom('checks').select('document').where('id', '=', id).executeTakeFirst();
      return mapRow(row, documentOf(CheckRecord));
    },
    async save(run: CheckRecord): Promise<void> {
      const { id, stageId: stage_id, state } = run;
      const document = JSON.stringify(run);
      await db
        .insertInto('checks')
        .values({ id, stage_id, state, document })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ state, document }))
        .execute();
      await prune(run.stageId);
    },
  };
}

const toComment = documentOf(CommentRecord);

const unanswered = prepare(
  builder
    .selectFrom('comments')
    .select('document')
    .where('stage_id', '=', param('stageId'))
    .where('message_id', 'is not', null)
    .where('answered_at', 'is', null)
    .orderBy('ordinal'),
);

/** See `CommentsTable`. */
export function commentsTable(db: Database): CommentsTable {
  const ofStage = (stageId: StageId) =>
    db.selectFrom('comments').select('document').where('stage_id', '=', stageId).orderBy('ordinal');
  return {
    async listOf(stageId) {
      return (await ofStage(stageId).execute()).map(toComment);
    },
    async find(stageId, commentId) {
      return mapRow(await ofStage(stageId).where('id', '=', commentId).executeTakeFirst(), toComment);
    },
    async listSentWith(stageId: StageId, messageId: MessageId) {
      return (await ofStage(stageId).where('message_id', '=', messageId).execute()).map(toComment);
    },
    async listUnanswered(stageId) {
      return (await unanswered(db, { stageId })).map(toComment);
    },
    async save(comment) {
      const { stageId, messageId, answeredAt } = comment;
      const columns = { message_id: messageId, answered_at: answeredAt, document: JSON.stringify(comment) };
      await db
        .insertInto('comments')
        .values({ stage_id: stageId, id: comment.id, ...columns })
        .onConflict((conflict) => conflict.columns(['stage_id', 'id']).doUpdateSet(columns))
        .execute();
    },
    async remove(stageId: StageId, commentId: CommentId) {
      await db.deleteFrom('comments').where('stage_id', '=', stageId).where('id', '=', commentId).execute();
    },
  };
}

/** See `DraftFilesTable`. */
export function draftFilesTable(db: Database): DraftFilesTable {
  return {
    async find(stageId: StageId, fileId: string): Promise<Attachment | null> {
      const rows = db.selectFrom('draft_files').select('document').where('id', '=', fileId);
      const row = await rows.where('stage_id', '=', stageId).executeTakeFirst();
      return mapRow(row, documentOf(Attachment));
    },
    async insert(stageId: StageId, fileId: string, addedAt: string, file: Attachment): Promise<void> {
      await db
        .insertInto('draft_files')
        .values({ id: fileId, stage_id: stageId, added_at: addedAt, document: JSON.stringify(file) })
        .execute();
    },
    async remove(stageId: StageId, fileId: string): Promise<void> {
      await db.deleteFrom('draft_files').where('id', '=', fileId).where('stage_id', '=', stageId).execute();
    },
    async addedBefore(instant: string): Promise<{ stageId: StageId; fileIds: string[] }[]> {
      const rows = await db
        .selectFrom('draft_files')
        .select(['id', 'stage_id'])
        .where('added_at', '<', instant)
        .execute();
      return [...Map.groupBy(rows, (row) => row.stage_id)].map(([stageId, files]) => ({
        stageId: StageId.parse(stageId),
        fileIds: files.map((file) => file.id),
      }));
    },
  };
}

/** See `DraftsTable`. */
export function draftsTable(db: Database): DraftsTable {
  return {
    async listOf(stageId: StageId): Promise<Draft[]> {
      const rows = await db
        .selectFrom('drafts')
        .select('document')
        .where('stage_id', '=', stageId)
        .orderBy('key')
        .execute();
      return rows.map(documentOf(Draft));
    },
    async save(draft: Draft): Promise<void> {
      const document = JSON.stringify(draft);
      await db
        .insertInto('drafts')
        .values({ stage_id: draft.stageId, key: draft.key, document })
        .onConflict((conflict) => conflict.columns(['stage_id', 'key']).doUpdateSet({ document }))
        .execute();
    },
    async remove(stageId: StageId, key: string): Promise<void> {
      await db.deleteFrom('drafts').where('stage_id', '=', stageId).where('key', '=', key).execute();
    },
  };
}

const Identity = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() });
const toRun = documentOf(SideRun);

/** See `SideRunsTable`. */
export function sideRunsTable(db: Database): SideRunsTable {
  async function prune(stageId: StageId): Promise<void> {
    const saved = db.selectFrom('side_runs').select('ordinal').where('stage_id', '=', stageId);
    const last = await saved
      .orderBy('ordinal', 'desc')
      .offset(MAX_SAVED - 1)
      .limit(1)
      .executeTakeFirst();
    if (last === undefined) return;
    await db.deleteFrom('side_runs').where('stage_id', '=', stageId).where('ordinal', '<', last.ordinal).execute();
  }

  return {
    async listOf(stageId: StageId): Promise<SideRun[]> {
      const rows = db.selectFrom('side_runs').select('document').where('stage_id', '=', stageId);
      return (await rows.orderBy('ordinal', 'desc').execute()).map(toRun);
    },
    async listIn(states: readonly SideRunState[]): Promise<{ run: SideRun; process: ProcessIdentity | null }[]> {
      const rows = db.selectFrom('side_runs').select(['document', 'process']).where('state', 'in', states);
      return (await rows.orderBy('ordinal').execute()).map((row) => ({
        run: toRun(row),
        process: row.process === null ? null : Identity.parse(JSON.parse(row.process)),
      }));
    },
    async find(id: string): Promise<SideRun | null> {
      return mapRow(await db.selectFrom('side_runs').select('document').where('id', '=', id).executeTakeFirst(), toRun);
    },
    async save(run: SideRun): Promise<void> {
      const { id, stageId: stage_id, state } = run;
      const document = JSON.stringify(run);
      await db
        .insertInto('side_runs')
        .values({ id, stage_id, state, process: null, document })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ state, document }))
        .execute();
      await prune(run.stageId);
    },
    async setProcess(id: string, process: ProcessIdentity): Promise<void> {
      await db
        .updateTable('side_runs')
        .set({ process: JSON.stringify(process) })
        .where('id', '=', id)
        .execute();
    },
  };
}

const stageOf = parsedOnce((text) => Stage.parse(JSON.parse(text)));
interface Row {
  id: string;
  document: string;
  machine_id: string | null;
}

function toStage({ id, document, machine_id }: Row): Stage {
  const stage = stageOf(id, document);
  return machine_id === null ? stage : { ...stage, machineId: MachineId.parse(machine_id) };
}

/** Its machine has a column of its own. */
const stageDocument = (stage: Stage): string =>
  JSON.stringify(stage.machineId === null ? stage : { ...stage, machineId: null });

const COLUMNS = ['id', 'document', 'machine_id'] as const;

const byId = prepare(builder.selectFrom('stages').select(COLUMNS).where('id', '=', param('id')));

/** Stages, oldest first. */
export function stagesTable(db: Database, caches: RowCaches): StagesTable {
  return {
    async list(): Promise<Stage[]> {
      return (await db.selectFrom('stages').select(COLUMNS).orderBy('ordinal').execute()).map(toStage);
    },
    async find(id: StageId): Promise<Stage | null> {
      const saved = caches.stages.find(id);
      if (saved !== undefined) return saved;
      const [row] = await byId(db, { id });
      return mapRow(row, (found) => {
        const stage = toStage(found);
        caches.stages.save(id, stage);
        return stage;
      });
    },
    async isUsed(project: ProjectId): Promise<boolean> {
      const row = await db.selectFrom('stages').select('id').where('project_id', '=', project).executeTakeFirst();
      return row !== undefined;
    },
    async findCreated(creationId: string): Promise<Stage | null> {
      const found = db.selectFrom('stages').select(COLUMNS).where('creation_id', '=', creationId);
      return mapRow(await found.executeTakeFirst(), toStage);
    },
    async insert(stage: Stage, creationId?: string): Promise<void> {
      await db
        .insertInto('stages')
        .values({
          id: stage.id,
          project_id: stage.projectId,
          completed_at: stage.completedAt,
          document: stageDocument(stage),
          machine_id: stage.machineId,
          creation_id: creationId ?? null,
        })
        .execute();
    },
    async update(stage: Stage): Promise<void> {
      caches.stages.forget(stage.id);
      await db
        .updateTable('stages')
        .set({ completed_at: stage.completedAt, document: stageDocument(stage) })
        .where('id', '=', stage.id)
        .execute();
    },
    async claim(id: StageId, machineId: MachineId): Promise<boolean> {
      caches.stages.forget(id);
      const { numUpdatedRows } = await db
        .updateTable('stages')
        .set({ machine_id: machineId })
        .where('id', '=', id)
        .where((eb) => eb.or([eb('machine_id', 'is', null), eb('machine_id', '=', machineId)]))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async releaseOf(machineId: MachineId): Promise<void> {
      caches.stages.forgetAll();
      await db.updateTable('stages').set({ machine_id: null }).where('machine_id', '=', machineId).execute();
    },
    async remove(id: StageId): Promise<void> {
      caches.sessions.forget(id);
      caches.stages.forget(id);
      caches.queued.forget(id);
      await db.deleteFrom('stages').where('id', '=', id).execute();
    },
    async nextId(): Promise<string> {
      const { value } = await db
        .updateTable('counters')
        .set((eb) => ({ value: eb('value', '+', 1) }))
        .where('name', '=', 'stage')
        .returning('value')
        .executeTakeFirstOrThrow();
      return `STAGE-${value}`;
    },
  };
}

const TURN_MARK_COLUMNS = ['at', 'tree', 'commit_id', 'place', 'conversation_id', 'phase_index'] as const;

/** See `TurnMarksTable`. */
export function turnMarksTable(db: Database): TurnMarksTable {
  return {
    async newestOf(stageId, before) {
      let marks = db.selectFrom('turn_marks').select(TURN_MARK_COLUMNS).where('stage_id', '=', stageId);
      if (before !== undefined) marks = marks.where('at', '<', before);
      return markOf(await marks.orderBy('at', 'desc').limit(1).executeTakeFirst());
    },
    async newestBefore(stageId, index) {
      const marks = db.selectFrom('turn_marks').select(TURN_MARK_COLUMNS).where('stage_id', '=', stageId);
      const earlier = marks.where('place', '<', index).where('commit_id', 'is not', null);
      return markOf(await earlier.orderBy('at', 'desc').limit(1).executeTakeFirst());
    },
    async conversationsOf(stageId) {
      const marks = db.selectFrom('turn_marks').select('conversation_id').where('stage_id', '=', stageId);
      const ids = (await marks.orderBy('at', 'desc').execute()).map((mark) => mark.conversation_id);
      return [...new Set(ids.filter((id) => id !== null))];
    },
    async countOf(stageId) {
      const counted = db.selectFrom('turn_marks').select(({ fn }) => fn.countAll().as('count'));
      return Number((await counted.where('stage_id', '=', stageId).executeTakeFirstOrThrow()).count);
    },
    async save(stageId, { at, tree, commit, place, conversationId, phaseIndex }) {
      const rest = { tree, commit_id: commit, place, conversation_id: conversationId, phase_index: phaseIndex };
      await db
        .insertInto('turn_marks')
        .values({ stage_id: stageId, at, ...rest })
        .onConflict((conflict) => conflict.columns(['stage_id', 'at']).doUpdateSet(rest))
        .execute();
      const newest = db.selectFrom('turn_marks').select('at').where('stage_id', '=', stageId);
      await db
        .deleteFrom('turn_marks')
        .where('stage_id', '=', stageId)
        .where('at', 'not in', newest.orderBy('at', 'desc').limit(MAX_MARKS))
        .execute();
    },
  };
}

interface TurnMarkRow {
  at: string;
  tree: string;
  commit_id: string | null;
  place: number | null;
  conversation_id: string | null;
  phase_index: number;
}

const markOf = (row: TurnMarkRow | undefined): TurnMark | null =>
  row === undefined
    ? null
    : {
        at: row.at,
        tree: row.tree,
        commit: row.commit_id,
        place: row.place,
        conversationId: row.conversation_id,
        phaseIndex: row.phase_index,
      };

/** See `ViewedTable`. */
export function viewedTable(db: Database): ViewedTable {
  return {
    async listOf(stageId, person) {
      const rows = await db
        .selectFrom('viewed')
        .select(['path', 'version'])
        .where('stage_id', '=', stageId)
        .where('person', '=', person)
        .orderBy('path')
        .execute();
      return Object.fromEntries(rows.map(({ path, version }) => [path, version]));
    },
    async save(stageId, person, { path, version }) {
      await db
        .insertInto('viewed')
        .values({ stage_id: stageId, person, path, version })
        .onConflict((conflict) => conflict.columns(['stage_id', 'person', 'path']).doUpdateSet({ version }))
        .execute();
    },
    async remove(stageId, person, path) {
      await db
        .deleteFrom('viewed')
        .where('stage_id', '=', stageId)
        .where('person', '=', person)
        .where('path', '=', path)
        .execute();
    },
  };
}
