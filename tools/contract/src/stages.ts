import { z } from 'zod';
import { Gate, Template, withoutBlankEnds } from './checks.ts';
import { ProjectId, StageId } from './ids.ts';
import { MachineId, MachinePin } from './machines.ts';
import { StageMerge } from './merge.ts';
import { AttachedFile, Attachment } from './messages.ts';
import { HeldBy } from './pauses.ts';
import { Finishing, FinishWay, PullRequest, StageIssue } from './pull-requests.ts';
import { StageFork } from './rewind.ts';
import { awaitsTasks, Effort, isActive, PermissionMode, SessionSummary } from './sessions.ts';

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

/** 0 is the most urgent. */
const Priority = z.int().min(0).max(9);

/** A step of a stage's pipeline. */
export const Phase = z.strictObject({
  name: z.string().trim().min(1, 'is empty').max(100, 'is longer than 100 characters'),
  prompt: z.string().overwrite(withoutBlankEnds).min(1, 'is empty').max(200_000, 'is longer than 200,000 characters'),
  permissionMode: PermissionMode.optional(),
  gate: Gate.default('none'),
  /**
   * `review`: Claude reviews the changes beside the conversation, with `prompt` as what to look for; its findings become comments.
   * With the gate `none`, the pipeline continues if it found nothing. Left out: Claude works on the prompt.
   */
  kind: z.enum(['work', 'review']).optional(),
  /** `fresh`: Claude knows nothing of the phases before it but what the prompt says. */
  conversation: z.enum(['same', 'fresh']).default('same'),
});
export type Phase = z.infer<typeof Phase>;

/** A phase as it is given: its prompt is a template (`{{stage.title}}`, for example). */
const NewPhase = Phase.extend({ prompt: Template });

/** Whether a phase is a review by Claude. */
export const isReview = (phase: Pick<Phase, 'kind'> | undefined): boolean => phase?.kind === 'review';

/** The phases of a stage or of a pipeline. */
export const NewPhases = z
  .array(NewPhase)
  .max(20, 'has more than 20 phases')
  .superRefine((phases, context) => {
    for (const [index, phase] of phases.entries()) {
      if (!isReview(phase)) continue;
      const refuse = (key: string, message: string) =>
        context.addIssue({ code: 'custom', path: [index, key], message });
      if (index === 0) refuse('kind', 'cannot be a review, as there is nothing to review yet');
      if (typeof phase.gate !== 'string') refuse('gate', 'of a review cannot be a check; give it to the phase before');
    }
  });

const PipelineName = z.string().trim().min(1, 'is empty').max(100, 'is longer than 100 characters');

/** Phases, or the name of a pipeline of the project, whatever its case. */
const ChosenPipeline = z.union([PipelineName, NewPhases], {
  error: ({ input, errors }) => {
    const [problem] = errors[typeof input === 'string' ? 0 : 1] ?? [];
    if (problem === undefined || (typeof input !== 'string' && !Array.isArray(input)))
      return 'is a list of phases, or the name of a pipeline';
    return `${z.core.toDotPath(problem.path)} ${problem.message}`.trim();
  },
});

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
  title: z.string(),
  prompt: z.string(),
  /** Claude Code runs the prompt as a command, with its leading `/`. */
  promptIsCommand: z.boolean().default(false),
  /** The files that go with the first message. */
  attachments: z.array(AttachedFile).default([]),
  dependsOn: z.array(StageId),
  priority: Priority,
  permissionMode: PermissionMode,
  model: z.string().nullable(),
  /** How much Claude thinks, from the first start on; null: the model's own default. */
  effort: Effort.nullable().default(null),
  /** The branch, tag or commit that its branch begins at; null: the current commit of the main checkout. */
  base: z.string().nullable().default(null),
  /** The name for its branch; null: `callboard/<stage-id>`. `worktree.branch` is the branch that it has. */
  branch: z.string().nullable().default(null),
  /** A free word to filter by. */
  group: z.string().nullable().default(null),
  /** Whether Claude's commands run in the sandbox; null: as the project says. A change applies from the next start. */
  sandbox: z.boolean().nullable().default(null),
  autoStart: z.boolean(),
  /** A person keeps it on hold: before its first start in the backlog, whatever its dependencies. */
  held: z.boolean(),
  /** Who put it on hold, and when; null if it is not held itself, and if unknown. */
  heldBy: HeldBy.nullable().default(null),
  /** The machine that it must run on, by name or id; null: as the project says. */
  machine: z.string().nullable().default(null),
  /** The machine that it was started on; null before, after that machine was declared lost, and with a store in a file. */
  machineId: MachineId.nullable().default(null),
  /** Set if it was interrupted with its machine, until its next start. */
  lost: LostOn.nullable().default(null),
  /** Empty for a stage with a single prompt. The first phase follows the stage's own prompt. */
  pipeline: z.array(Phase).default([]),
  /** What Callboard does by itself after the last gate; null: as the project says. */
  finish: FinishWay.nullable().default(null),
  /** Whether it goes on by itself when a usage limit that stopped it resets; null: as the board says. */
  goesOnAtReset: z.boolean().nullable().default(null),
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

const Title = z.string().trim().min(1, 'is empty').max(300, 'is longer than 300 characters');
const Prompt = z
  .string()
  .overwrite(withoutBlankEnds)
  .min(1, 'is empty')
  .max(200_000, 'is longer than 200,000 characters; put the rest into a file of the repository');
const Model = z.string().trim().min(1).max(200);
const Revision = z.string().trim().min(1, 'is empty').max(200, 'is longer than 200 characters');
const Group = z.string().trim().min(1, 'is empty').max(60, 'is longer than 60 characters');

export const NewStage = z.strictObject({
  projectId: ProjectId,
  title: Title,
  prompt: Prompt,
  /** For a prompt that begins with `/`: runs it as a command of Claude Code. */
  promptIsCommand: z.boolean().optional(),
  /** Images, PDF documents and texts for the first message: 20 files with 18 MB in all at most. */
  attachments: z.array(Attachment).max(20).optional(),
  dependsOn: z.array(StageId).max(100).optional(),
  priority: Priority.optional(),
  permissionMode: PermissionMode.optional(),
  model: Model.nullable().optional(),
  effort: Effort.nullable().optional(),
  /** A branch, tag or commit of the repository. */
  base: Revision.nullable().optional(),
  /** The name of a branch that does not exist yet. */
  branch: Revision.nullable().optional(),
  group: Group.nullable().optional(),
  sandbox: z.boolean().nullable().optional(),
  autoStart: z.boolean().optional(),
  held: z.boolean().optional(),
  /** The name or id of a machine. */
  machine: MachinePin.nullable().optional(),
  pipeline: ChosenPipeline.optional(),
  /** Left out with the name of a pipeline: as that says. Null: as the project says. */
  finish: FinishWay.nullable().optional(),
  goesOnAtReset: z.boolean().nullable().optional(),
});
export type NewStage = z.infer<typeof NewStage>;

export const CreateStage = NewStage.extend({
  /** Whoever sends one can send the same again if the reply was lost: that creates no second stage, and returns the first as it is now. */
  creationId: z.uuid().optional(),
});

export const StagePatch = NewStage.omit({ projectId: true })
  .partial()
  .extend({
    /** Ids of the stage's files that stay. With `files` or `attachments`, these are followed by those, and all others go. */
    files: z.array(z.uuid()).max(20).optional(),
    /** The texts that whoever changes them was shown: one that is another by now is not replaced, but refused with `stage_changed`. */
    seen: z.strictObject({ title: z.string().optional(), prompt: z.string().optional() }).optional(),
  });
export type StagePatch = z.infer<typeof StagePatch>;

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
