import type { ForkBody, Stage, StageFork, StageId, WorktreeOrigin } from '@callboard/contract';
import { isMidTurn } from '@callboard/contract';
import { saveChange } from '../domain/change-session.ts';
import { noteFork } from '../domain/going-back.ts';
import { newSession } from '../domain/new-session.ts';
import type { SessionChange } from '../domain/session-change.ts';
import { requireNotInTerminal } from '../domain/terminal.ts';
import { Rejection } from '../lib/errors.ts';
import type { Stages } from '../stages/stages.ts';
import { summaryOf } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import {
  FORKING,
  findMoment,
  type Location,
  type Moment,
  type MomentDeps,
  requireConversation,
} from './find-moment.ts';

export interface ForkDeps extends MomentDeps {
  worktrees: Pick<Worktrees, 'snapshotTurn' | 'pinTurn' | 'requireCommit'>;
  stages: Pick<Stages, 'create'>;
}

/** Makes stages that continue another one from an earlier moment, on a branch of their own. */
export type ForkStage = (stageId: StageId, body: ForkBody) => Promise<Stage>;

/** The conversation and the files that a fork begins with. */
interface Start extends Pick<StageFork, 'conversationId' | 'until'> {
  commit: string;
  files: string;
}

/**
 * Returns a stage with the conversation and the files from before a message, and that message as its prompt, not started yet; without
 * a message, one with all that was said and the present files, which goes on with its next message. The original is not touched.
 * One that was made with the same `creationId` is returned as it is now.
 * @throws Rejection `unknown_stage`, `no_session`, `unknown_message`; `stage_running` in the middle of a turn and `in_terminal`, both
 *   without a message; `cannot_go_back` if conversation or files of that moment are not known
 */
export const createForkStage =
  (deps: ForkDeps): ForkStage =>
  async (stageId, { messageId, title, creationId }) => {
    const { store, worktrees, stages } = deps;
    const earlier = creationId === undefined ? null : await store.read.stages.findCreated(creationId);
    if (earlier !== null) return earlier;
    const place = await requireConversation(store, stageId);
    const { stage } = place;
    const moment = messageId === undefined ? null : await findMoment(deps, place, { messageId, text: FORKING });
    const row = messageId === undefined ? null : await store.read.outbox.findMessage(stageId, messageId);
    const { commit, files, ...conversation } = await (moment === null
      ? present(deps, place)
      : startOf(deps, place, moment));
    const fork: StageFork = { ...conversation, stageId, title: stage.title, messageId: messageId ?? null };
    const origin: WorktreeOrigin = { commit, tree: files, ref: null, isTaken: false };
    const { projectId, priority, permissionMode, model, effort, group, sandbox, base } = stage;
    const made = await stages.create(
      {
        projectId,
        priority,
        permissionMode,
        model,
        effort,
        group,
        sandbox,
        base,
        pipeline: [],
        title: title ?? `${stage.title} (fork)`,
        prompt: moment?.message.text ?? stage.prompt,
        promptIsCommand: row?.body.isCommand ?? false,
        attachments: row?.body.attachments ?? [],
      },
      {
        creationId,
        fields: async () => ({ fork, origin }),
        ...(moment === null && { also: beginSession }),
      },
    );
    await worktrees.pinTurn(place.project, made.id, 'fork', files); // a start of Callboard repeats it
    return made;
  };

async function startOf(
  { worktrees }: ForkDeps,
  { worktree }: Location,
  { files, conversation }: Moment,
): Promise<Start> {
  if (typeof conversation === 'string') throw new Rejection('cannot_go_back', conversation);
  if (typeof files === 'string') throw new Rejection('cannot_go_back', files);
  const commit = await worktrees.requireCommit(worktree, files.head);
  const { at, id } = conversation;
  return { conversationId: at === null ? null : id, until: at, commit, files: files.target };
}

async function present({ worktrees }: ForkDeps, { stage, worktree, session }: Location): Promise<Start> {
  requireNotInTerminal(session);
  if (isMidTurn(session.state) || session.turnRunning) {
    const text = `Claude is working on ${stage.id}. Stop it first, or fork from one of its messages.`;
    throw new Rejection('stage_running', text);
  }
  const { commit: files } = await worktrees.snapshotTurn(worktree, { stageId: stage.id, name: 'fork' });
  const { sessionId, forkOf } = session;
  const conversation =
    sessionId === null
      ? { conversationId: forkOf?.fork ?? null, until: forkOf?.until ?? null }
      : { conversationId: sessionId, until: null };
  return { ...conversation, commit: await worktrees.requireCommit(worktree, `${files}^1`), files };
}

/** A stage that goes on after all that was said has a session at once: its next message starts Claude. */
async function beginSession(tx: Tx, stage: Stage): Promise<void> {
  const record = newSession(stage, tx.now);
  const change: SessionChange = { before: record, record, entries: [], queueChanged: false, delivered: [] };
  noteFork(change, tx.now, stage);
  await tx.emit({ type: 'session-updated', data: summaryOf(await saveChange(tx, change)) });
}
