import { isReview, type Project, type SideRun, type Stage, type Worktree } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { missingForSideRuns, SIDE_RUN_VARIABLES, sideRunArguments } from '../claude/launch/side-run-arguments.ts';
import type { pathFindingsOf } from '../comments/place-comment.ts';
import type { SideRunEnd } from '../domain/end-side-run.ts';
import { AppError, OperationalError, Rejection } from '../lib/errors.ts';
import type { LaunchPrograms } from '../sessions/launch/spawn-launch.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Trust } from '../trust/trust.ts';
import type { InputJob, RunningInput } from '../worktree-commands/run-with-input.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { type Answer, answerSchema, readAnswer } from './answers.ts';
import { patchesOf, sidePrompt } from './prompts.ts';

export interface AskDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'diff' | 'withContents' | 'requireInPlace'>;
  claude: Pick<LaunchPrograms, 'program'>;
  trust: Pick<Trust, 'forLaunch'>;
  dataDir: string;
  /** The environment that Claude Code gets. */
  env: Readonly<Record<string, string>>;
  /** Starts a program with a text as its input. */
  startProgram: (job: InputJob) => Promise<RunningInput>;
  pathFindingsOf: typeof pathFindingsOf;
}

/** What is stored of a run while it is under way. */
export interface AskSteps {
  onDiff: (diff: NonNullable<SideRun['diff']>) => Promise<void>;
  onSpawned: (process: ProcessIdentity) => Promise<void>;
}

/** Claude at work on one answer. */
export interface AskedClaude {
  /** Never rejects. Null: Callboard stops, so there is no result. All its processes are gone. */
  readonly ended: Promise<SideRunEnd | null>;
  stop(): void;
}

const TIME_LIMIT_MS = 15 * 60 * 1_000;

interface Location {
  stage: Stage;
  project: Project;
  worktree: Worktree;
}

/** Asks Claude for one answer about the changes of a stage, in a conversation of its own. */
export function askClaude(deps: AskDeps, run: SideRun, steps: AskSteps): AskedClaude {
  let isStopped = false;
  let program: RunningInput | null = null;

  function end(): void {
    if (isStopped) program?.end({ state: 'stopped', reason: 'It was stopped.' });
  }

  async function work(): Promise<SideRunEnd | null> {
    const place = await locationOf(deps, run);
    const diff = await deps.worktrees.diff(place.project, place.worktree);
    if (diff.files.length === 0) return failed(`${run.stageId} has no changes, so there is nothing to read.`);
    const { base, tree } = diff;
    await steps.onDiff({ base, tree });
    const patches = await patchesOf(diff.files, async (path) => {
      if (isStopped) return null;
      const { files } = await deps.worktrees.diff(place.project, place.worktree, { path, base, tree });
      return files[0]?.patch ?? null;
    });
    if (isStopped) return null;
    const input = sidePrompt(run.kind, { ...place, ...diff, wish: requestOf(place.stage, run), patches });
    const job = await jobOf(deps, place, run);
    program = await deps.startProgram({ ...job, input, onSpawned: steps.onSpawned });
    end();
    const { state, reason, output } = await program.ended;
    if (isStopped) return null;
    if (state === 'interrupted') return failed(reason ?? 'Callboard lost track of it.');
    const answer = readAnswer(run.kind, output);
    if (state === 'timed-out') return { state, reason: reason ?? 'It took too long.', costUsd: answer.costUsd };
    return endOf(deps, place, { ...diff, base, tree }, answer);
  }

  return {
    ended: work().catch((error: unknown) =>
      failed(error instanceof AppError ? error.message : `It could not be run: ${messageOf(error)}.`),
    ),
    stop() {
      isStopped = true;
      end();
    },
  };
}

const failed = (reason: string, costUsd: number | null = null) => ({ state: 'failed' as const, reason, costUsd });

async function locationOf({ store }: AskDeps, { stageId }: SideRun): Promise<Location> {
  const stage = await requireStage(store.read, stageId);
  const project = await requireProject(store.read, stage.projectId);
  const { worktree } = stage;
  if (worktree === null)
    throw new Rejection('no_worktree', `${stageId} has no worktree yet. Start the stage to create one.`);
  return { stage, project, worktree };
}

/** What the phase wants to have looked for. */
function requestOf({ pipeline }: Stage, { phaseIndex }: SideRun): string | null {
  const phase = phaseIndex === null ? undefined : pipeline[phaseIndex];
  return phase !== undefined && isReview(phase) ? phase.prompt : null;
}

async function jobOf(deps: AskDeps, { stage, project, worktree }: Location, { id, kind }: SideRun) {
  const { path: command, flags, version } = await deps.claude.program();
  const missing = missingForSideRuns(flags);
  if (missing.length > 0) {
    const message = `Claude Code ${version ?? ''} (${command}) does not know ${missing.join(', ')}, which this needs. Update it with \`claude update\`, then try again.`;
    throw new OperationalError('claude_too_old', message);
  }
  // What would ask is denied, since nobody is there to ask: so a rule to ask is a rule to deny.
  const { deny, ask } = await deps.trust.forLaunch(project, worktree);
  deps.worktrees.requireInPlace(project, worktree);
  const { path: cwd } = worktree;
  const args = sideRunArguments({
    dataDir: deps.dataDir,
    env: deps.env,
    worktree: cwd,
    model: stage.model,
    deny: [...deny, ...ask],
    schema: answerSchema(kind),
  });
  const env = { ...deps.env, ...SIDE_RUN_VARIABLES };
  return { id, stageId: stage.id, command, args, cwd, env, timeLimitMs: TIME_LIMIT_MS };
}

async function endOf(
  { worktrees, pathFindingsOf: place }: AskDeps,
  { worktree }: Location,
  diff: Parameters<typeof pathFindingsOf>[2],
  answer: Answer,
): Promise<SideRunEnd> {
  const { costUsd } = answer;
  switch (answer.kind) {
    case 'none':
      return { ...failed(answer.reason, costUsd), ...(answer.limit && { limit: answer.limit }) };
    case 'pull-request':
      return { state: 'done', costUsd, summary: null, comments: [], misplaced: [], text: answer.text };
    case 'review': {
      const { comments, misplaced } = await place(worktrees, worktree, diff, answer.findings);
      return { state: 'done', costUsd, summary: answer.summary, comments, misplaced, text: null };
    }
    default:
      return answer satisfies never;
  }
}
