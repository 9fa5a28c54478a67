import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

const OfProject = z.strictObject({ projectId: ProjectId });
const Everything = z.strictObject({});

/** A project, or everything (`{}`). A single stage that is on hold says so itself (`held`). */
export const HoldScope = z.union([OfProject, Everything]);
export type HoldScope = z.infer<typeof HoldScope>;

const HoldException = z.union([z.strictObject({ stageId: StageId }), OfProject]);

/**
 * A person keeps stages from everything that Callboard does by itself: starting, going on, delivering queued messages, beginning
 * phases, checks and reviews, and finishing.
 */
export const Hold = z.object({
  scope: HoldScope,
  by: z.string(),
  at: z.iso.datetime(),
  /** What was released since. */
  except: z.array(HoldException),
});
export type Hold = z.infer<typeof Hold>;

/** Who put a single stage on hold, and when. */
export const HeldBy = Hold.pick({ by: true, at: true });

/** What a person holds or releases: up to 500 stages, a project, or everything. */
const HoldTarget = z.union([z.strictObject({ stageIds: z.array(StageId).min(1).max(500) }), OfProject, Everything]);
export type HoldTarget = z.infer<typeof HoldTarget>;

export const HoldBody = z.strictObject({
  scope: HoldTarget,
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
export const coversProject = (scope: HoldScope, projectId: string): boolean =>
  !('projectId' in scope) || scope.projectId === projectId;

/** Returns the hold of the stage's project, or of everything, that keeps the stage; null if there is none. */
export function holdOver({ id, projectId }: Omit<Holdable, 'held'>, holds: readonly Hold[]): Hold | null {
  const isExcepted = ({ except }: Hold) =>
    except.some((one) => ('stageId' in one ? one.stageId === id : one.projectId === projectId));
  return holds.find((hold) => coversProject(hold.scope, projectId) && !isExcepted(hold)) ?? null;
}

/** Returns the hold of everything; null if there is none. */
export const holdOfAll = (holds: readonly Hold[]): Hold | null =>
  holds.find(({ scope }) => !('projectId' in scope)) ?? null;

/** Whether the stage itself, its project or everything is on hold. */
export const isOnHold = (stage: Holdable, holds: readonly Hold[]): boolean =>
  stage.held || holdOver(stage, holds) !== null;
