import {
  isChecking,
  isReviewing,
  type LostOn,
  type MachineId,
  type Stage,
  type StageId,
  type Worktree,
} from '@callboard/contract';
import type { SessionRecord } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { changeSession } from './change-session.ts';
import { stopCheck } from './checks.ts';
import { endLaunch } from './end-launch.ts';
import { addNotice, type SessionChange } from './session-change.ts';
import { giveUpSideRun } from './side-runs.ts';

/** Which machine was lost, and who declared it. */
export type Loss = Omit<LostOn, 'worktree'>;

/**
 * Takes a stage from a lost machine: closes its open requests, ends what ran there as far as the store is concerned, and lets
 * nothing go on by itself. A person starts it, wherever its repository is.
 */
export async function loseStage(tx: Tx, stage: Stage, loss: Loss): Promise<void> {
  const lost: LostOn = { ...loss, worktree: stage.worktree };
  const updated: Stage = { ...stage, machineId: null, worktree: null, setup: null, lost, updatedAt: tx.now };
  await tx.stages.update(updated);
  await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: updated } });
  await noteOrphaned(tx, stage, loss.machineId);
  await tx.mergeIntents.remove(stage.id);
  await endCommands(tx, stage.id, reasonOf(loss));
  const session = await tx.sessions.find(stage.id);
  if (session === null) return;
  if (session.launchId !== null)
    await endLaunch(
      tx,
      { id: session.launchId, stageId: stage.id },
      { kind: 'died', reason: reasonOf(loss), wasWatched: false },
    );
  await changeSession(tx, stage.id, (change) => settle(tx, change, loss, lost));
}

/** Whatever becomes of the stage, the machine finds its worktree by this when it is back: also one that a start had just made. */
async function noteOrphaned(tx: Tx, stage: Stage, machineId: MachineId): Promise<void> {
  const { id, title, projectId, worktree } = stage;
  const project = await tx.projects.find(projectId);
  const places = await tx.projectLocations.list();
  const place = places.find((one) => one.projectId === projectId && one.machineId === machineId);
  await tx.orphanedWorktrees.save({
    machineId,
    stageId: id,
    stageTitle: title,
    projectId,
    projectName: project?.name ?? projectId,
    worktree: worktree ?? firstChoice(stage),
    isRecorded: worktree !== null,
    repository: place?.path ?? null,
    isKept: false,
    isTaken: false,
    told: null,
  });
}

const firstChoice = ({ id, branch, base }: Stage): Worktree => ({
  path: id,
  branch: branch ?? `callboard/${id}`,
  base: base ?? 'HEAD',
});

const reasonOf = ({ machine, by }: Loss): string => `Interrupted on ${machine}, which ${by} declared lost.`;

async function settle(tx: Tx, change: SessionChange, loss: Loss, { worktree }: LostOn): Promise<void> {
  const reason = reasonOf(loss);
  const wasChecking = isChecking(change.record);
  if (wasChecking) await stopCheck(tx, change, reason);
  const wasReviewing = isReviewing(change.record);
  for (const run of await tx.sideRuns.listOf(change.record.stageId)) {
    if (run.state === 'waiting' || run.state === 'running')
      await giveUpSideRun(tx, change, run, { state: 'interrupted', reason });
  }
  const gate = wasChecking || wasReviewing ? { atGate: true } : {};
  change.record = { ...change.record, ...NOTHING_GOES_ON, ...gate };
  const branch = worktree === null ? '' : ` from ${worktree.branch} as it was last pushed`;
  addNotice(change, tx.now, {
    level: 'warning',
    code: 'machine-lost',
    text: `${reason} Processes there may go on until it comes back. The stage can be started on another machine${branch}. Its conversation is in the home folder of ${loss.machine}: elsewhere Claude begins a new one.`,
  });
}

/** What the next launch would have gone on with, on the machine that is lost. */
const NOTHING_GOES_ON: Partial<SessionRecord> = {
  queueHeld: true,
  turnMessages: [],
  lastTurnMessages: [],
  joinedMessages: [],
  holdInterrupt: null,
  limitWait: null,
  terminal: null,
  goingBack: null,
  isGoingBack: false,
  undo: null,
};

async function endCommands(tx: Tx, stageId: StageId, reason: string): Promise<void> {
  for (const command of await tx.worktreeCommands.listOf(stageId)) {
    if (command.state !== 'running') continue;
    const ended = { ...command, state: 'interrupted' as const, reason, endedAt: tx.now };
    await tx.worktreeCommands.update(ended);
    await tx.emit({ type: 'worktree-command-updated', data: ended });
  }
}

/** What a start has to know of a stage whose machine was lost. */
export interface TakenOver {
  stage: Stage;
  /** Claude has no conversation here, so it is told what the stage is about. */
  isElsewhere: boolean;
}

/** Prepares the start of a stage whose machine was lost. The machine that comes back goes on with its worktree and conversation. */
export async function takeOver(tx: Tx, stage: Stage, here: MachineId | null): Promise<TakenOver> {
  const { lost } = stage;
  if (lost === null) return { stage, isElsewhere: false };
  const isElsewhere = lost.machineId !== here;
  // `lost` stays until the worktree is there: it names the branch to begin at.
  const updated: Stage = isElsewhere ? stage : { ...stage, worktree: lost.worktree, lost: null, updatedAt: tx.now };
  if (!isElsewhere) {
    await tx.stages.update(updated);
    await tx.emit({ type: 'stage-updated', data: { stageId: stage.id, stage: updated } });
  }
  return { stage: updated, isElsewhere };
}

/** How much of what Claude said last the new conversation is told. */
const QUOTED = 6_000;

/** Returns the first message of a stage that goes on elsewhere. @param said what Claude said last, the newest last */
export function continueElsewhere({ prompt, lost }: Pick<Stage, 'prompt' | 'lost'>, said: readonly string[]): string {
  const branch = lost?.worktree?.branch;
  const files =
    branch === undefined
      ? 'No branch of it was known'
      : `The files here are those of the branch ${branch} as it was pushed last, if it was; look at git log first`;
  const text = said.join('\n\n').slice(-QUOTED);
  const quoted = text === '' ? '' : `\n\nWhat you said last there:\n\n${text}`;
  return `${prompt}\n\n---\nThis work was begun on another machine (${lost?.machine ?? 'unknown'}), which is lost, in a conversation that you do not have here. ${files}. Find out what is done already, and go on from there.${quoted}`;
}
