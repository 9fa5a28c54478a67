import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

const OfProject = z.strictObject({ projectId: ProjectId });
const Everything = z.strictObject({});

/** A project, or everything (`{}`). A single stage that is on hold says so itself (`held`). */
export const PauseScope = z.union([OfProject, Everything]);
export type PauseScope = z.infer<typeof PauseScope>;

const PauseException = z.union([z.strictObject({ stageId: StageId }), OfProject]);

/**
 * A person keeps stages from everything that Callboard does by itself: starting, going on, delivering queued messages, beginning
 * phases, checks and reviews, and finishing.
 */
export const Pause = z.object({
  scope: PauseScope,
  by: z.string(),
  at: z.iso.datetime(),
  /** What was released since. */
  except: z.array(PauseException),
});
export type Pause = z.infer<typeof Pause>;

/** Who put a single stage on hold, and when. */
export const HeldBy = Pause.pick({ by: true, at: true });

/** What a person holds or releases: up to 500 stages, a project, or everything. */
const PauseTarget = z.union([z.strictObject({ stageIds: z.array(StageId).min(1).max(500) }), OfProject, Everything]);
export type PauseTarget = z.infer<typeof PauseTarget>;

export const PauseBody = z.strictObject({
  scope: PauseTarget,
  held: z.boolean(),
  /** Interrupts running turns; they go on when they are released. Left out, they finish. Only with `held`. */
  interrupt: z.boolean().optional(),
});

/** What decides whether a stage is on hold. */
interface Holdable {
  id: string;
  projectId: string;
  held: boolean;
}

/** Whether a scope is that of the project, or everything. */
export const coversProject = (scope: PauseScope, projectId: string): boolean =>
  !('projectId' in scope) || scope.projectId === projectId;

/** Returns the hold of the stage's project, or of everything, that keeps the stage; null if there is none. */
export function pauseOver({ id, projectId }: Omit<Holdable, 'held'>, pauses: readonly Pause[]): Pause | null {
  const isExcepted = ({ except }: Pause) =>
    except.some((one) => ('stageId' in one ? one.stageId === id : one.projectId === projectId));
  return pauses.find((pause) => coversProject(pause.scope, projectId) && !isExcepted(pause)) ?? null;
}

/** Returns the hold of everything; null if there is none. */
export const pauseOfAll = (pauses: readonly Pause[]): Pause | null =>
  pauses.find(({ scope }) => !('projectId' in scope)) ?? null;

/** Whether the stage itself, its project or everything is on hold. */
export const isPaused = (stage: Holdable, pauses: readonly Pause[]): boolean =>
  stage.held || pauseOver(stage, pauses) !== null;

/** Why stages that are ready and start automatically do not start at the moment. A person's start is not held. */
export const StartDelay = z.object({
  code: z.enum(['budget', 'hold', 'machine', 'memory', 'usage-limit']),
  /** In a few words, for a card ("Waits for memory"). */
  reason: z.string(),
  /** When it ends by itself; null if that is not known. */
  until: z.iso.datetime().nullable(),
  /** The most urgent first. */
  stageIds: z.array(StageId),
});
export type StartDelay = z.infer<typeof StartDelay>;
