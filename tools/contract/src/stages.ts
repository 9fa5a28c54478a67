import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';
import { MachineId } from './machines.ts';
import { StageMerge } from './merge.ts';
import { HeldBy } from './pauses.ts';
import { Finishing, PullRequest, StageIssue } from './pull-requests.ts';
import { StageFork } from './rewind.ts';
import { awaitsTasks, isActive, SessionSummary } from './sessions.ts';
import { storedFields } from './stage-fields.ts';

export const Column = z.enum(['backlog', 'ready', 'running', 'needs-you', 'review', 'done']);
export type Column = z.infer<typeof Column>;

/** A stage's own checkout: absolute path, its branch, and the commit it was made from. */
export const Worktree = z.object({
  path: z.string(),
  branch: z.string(),
  base: z.string(),
  /**
   * How its work was squashed or rebased, oldest first, also after the stage was reopened: the branch's history does not tell.
   * A completion that was taken back is left out.
   */
  merges: z.array(StageMerge).optional(),
  /** Callboard took it away in a clean-up and kept what was in it: the next start makes it again. */
  isCleanedUp: z.boolean().optional(),
});
export type Worktree = z.infer<typeof Worktree>;

/** What a new worktree begins with, when it is not simply the newest commit of a branch. */
export const WorktreeOrigin = z.object({
  commit: z.string(),
  /** The files that it is filled with, as uncommitted changes; null: those of the commit. */
  tree: z.string().nullable(),
  /** Keeps `tree` until the worktree has its files; null: there is nothing to keep. */
  ref: z.string().nullable(),
  /** The worktree has the files. */
  isTaken: z.boolean(),
});
export type WorktreeOrigin = z.infer<typeof WorktreeOrigin>;

/** The conversation in a terminal that a stage goes on from. */
export const Adopted = z.object({
  conversationId: z.string(),
  /** Where it was held, and on which branch; null if it does not tell. */
  folder: z.string(),
  branch: z.string().nullable(),
  at: z.iso.datetime(),
  /** The index of the last transcript entry from before Callboard. */
  lastEntry: z.int().nonnegative(),
});
export type Adopted = z.infer<typeof Adopted>;

/** A stage was on a machine that a person declared lost, and has not been started since. */
export const LostOn = z.object({
  machineId: MachineId,
  /** The name of the machine. */
  machine: z.string(),
  at: z.iso.datetime(),
  by: z.string(),
  /** Its worktree there; null if it had none. */
  worktree: Worktree.nullable(),
});
export type LostOn = z.infer<typeof LostOn>;

/** A unit of work, shown as a card. These are its stored fields; `column` is derived from them and its session. */
export const Stage = z.object({
  id: StageId,
  projectId: ProjectId,
  ...storedFields,
  /** Who put it on hold, and when; null if it is not held itself, and if unknown. */
  heldBy: HeldBy.nullable().default(null),
  /** The machine that it was started on; null before, after that machine was declared lost, and with a store in a file. */
  machineId: MachineId.nullable().default(null),
  /** Set if it was interrupted with its machine, until its next start. */
  lost: LostOn.nullable().default(null),
  /** The absolute path of the file it was imported from; null if it was created here. */
  source: z.string().nullable().default(null),
  /** A sign of that file as it was last taken over; null: an older Callboard imported it. */
  sourceSign: z.string().nullable().default(null),
  /** The issue of a code host that it was made of. */
  issue: StageIssue.nullable().default(null),
  /** Set if the stage continues a conversation that was begun in a terminal. */
  adopted: Adopted.nullable().default(null),
  /** Null: its worktree begins at `base`. */
  origin: WorktreeOrigin.nullable().default(null),
  completedAt: z.iso.datetime().nullable(),
  /** Where the work of a done stage went; null while it is not done, and if it was not merged. */
  merged: StageMerge.nullable().default(null),
  /** Its newest pull request; it stays when it is merged or closed. */
  pullRequest: PullRequest.nullable().default(null),
  /** The newest pull request that was ordered, or what Callboard finished by itself; null if there was neither. */
  finishing: Finishing.nullable().default(null),
  worktree: Worktree.nullable(),
  /**
   * How far the set-up of its worktree is; `skipped`: a person started it without. Null: it has no worktree yet, or an older Callboard
   * made it.
   */
  setup: z.enum(['due', 'done', 'skipped']).nullable().default(null),
  /** Set if it was forked from another stage. */
  fork: StageFork.nullable().default(null),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Stage = z.infer<typeof Stage>;

/** A stage as the board shows it. */
export const StageView = Stage.extend({ column: Column, session: SessionSummary.nullable() });
export type StageView = z.infer<typeof StageView>;

/** The facts that determine a stage's column. */
export interface ColumnFacts {
  stage: Pick<Stage, 'completedAt' | 'held' | 'dependsOn'> & Partial<Pick<Stage, 'finishing'>>;
  session: Pick<
    SessionSummary,
    | 'state'
    | 'lastTurn'
    | 'atGate'
    | 'stalledSince'
    | 'alarm'
    | 'openDenial'
    | 'terminal'
    | 'limitWait'
    | 'withheld'
    | 'spentBudget'
    | 'backgroundTasks'
  > | null;
  /** The number of the stage's pending requests. */
  pending: number;
  /** The number of its unconfirmed answers that nobody has settled. */
  unsettled: number;
  /** Whether the stage with this id is done; false for an unknown id (dependencies fail closed). */
  isDone: (stageId: string) => boolean;
}

/** Returns the column of a stage. The server and the browser share this function, so they cannot disagree. */
export function column({ stage, session, pending, unsettled, isDone }: ColumnFacts): Column {
  if (stage.completedAt !== null) return 'done';
  if (pending > 0 || unsettled > 0) return 'needs-you';
  if (session?.alarm != null) return 'needs-you';
  if (session === null) return stage.held || !stage.dependsOn.every(isDone) ? 'backlog' : 'ready';
  if (session.terminal !== null) return 'running'; // a person works on it, elsewhere
  const { state } = session;
  // `waiting` without an open request: the answer was given, and Claude has not reacted yet.
  if (isActive(state)) return session.stalledSince === null ? 'running' : 'needs-you';
  if (session.spentBudget !== null) return 'needs-you';
  switch (state) {
    case 'failed':
      return 'needs-you';
    case 'idle':
    case 'ended':
      if (session.limitWait !== null && session.limitWait.goesOnAt !== null) return 'running'; // it goes on by itself
      if (session.withheld) return 'running'; // it goes on when a person releases it
      if (session.atGate || session.openDenial !== null) return 'needs-you';
      // Callboard could not finish it by itself.
      if (isRefused(stage, session)) return 'needs-you';
      if (session.lastTurn?.outcome !== 'succeeded') return 'needs-you';
      if (awaitsTasks(session)) return session.stalledSince === null ? 'running' : 'needs-you';
      return 'review';
    default:
      return state satisfies never;
  }
}

/** Whether Callboard could not finish the stage by itself after its newest turn. */
const isRefused = ({ finishing }: ColumnFacts['stage'], session: Pick<SessionSummary, 'lastTurn'>): boolean =>
  finishing?.state === 'refused' && finishing.turn !== null && finishing.turn === session.lastTurn?.at;

const MAX_LENGTH = 60;

/** Markdown at the start of a line: headings, list items, quotes, and the fence or back ticks of code. */
const MARKS = /^(?:\s|#+\s|[-*+]\s|>\s?|\d+[.)]\s|`+)+/;

/** The end of a sentence, not of "e.g." or "src/app.ts". */
const SENTENCE_END = /(?<!\b(?:e\.g|i\.e|etc|vs))[.!?:;](?=\s|$)/;

/** Proposes a title for a prompt: its first sentence without Markdown, cut at a word; empty for an empty prompt. */
export function titleProposal(prompt: string): string {
  const lines = prompt.split('\n').map((line) => line.replace(MARKS, '').trim());
  const named = lines.find((line) => /[\p{L}\p{N}]/u.test(line)) ?? '';
  const first = named
    .replace(/\*\*|__|`/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const end = SENTENCE_END.exec(first)?.index ?? first.length;
  const sentence = first
    .slice(0, end)
    .replace(/^please\s+/i, '')
    .trim();
  const title = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  if (title.length <= MAX_LENGTH) return title;
  const cut = title.slice(0, MAX_LENGTH);
  const atWord = cut.slice(0, Math.max(cut.lastIndexOf(' '), MAX_LENGTH / 2)).replace(/[\s,;:–-]+$/, '');
  return `${atWord}…`;
}
