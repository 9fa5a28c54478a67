import { z } from 'zod';
import { Decision, type DelayedAnswer, isUnsettled, PendingRequest } from './approvals.ts';
import { Budget } from './budgets.ts';
import { type BoardEvent, type EventData, isRequestEvent } from './events.ts';
import { LimitsView, NO_LIMITS } from './limits.ts';
import { Machine } from './machines.ts';
import { Pause, StartDelay } from './pauses.ts';
import { Me, NOBODY } from './people.ts';
import { Project } from './projects.ts';
import { SANDBOX_UNTRIED, SandboxSupport } from './sandbox.ts';
import { SessionState, type SessionSummary } from './sessions.ts';
import { Column, column, type Stage, StageView } from './stages.ts';

/** Whether the installed Claude Code can work, as far as Callboard knows. */
export const ClaudeState = z.object({
  /**
   * `unknown`: nothing was found out yet, or nothing can be. `ready`: a program and a login were found. `missing`: there is no
   * program. `not-logged-in`: Claude Code itself says so. The last two end without a restart when they are mended.
   */
  state: z.enum(['unknown', 'ready', 'missing', 'not-logged-in']),
  /** What is wrong and what to do, for people; null if nothing is known to be wrong. */
  why: z.string().nullable(),
  /** The command that mends it, to copy; null if there is none. */
  command: z.string().nullable(),
});
export type ClaudeState = z.infer<typeof ClaudeState>;

export const CLAUDE_UNCHECKED: ClaudeState = { state: 'unknown', why: null, command: null };

/** Whether a session that starts now would fail. */
export const isClaudeAway = ({ state }: Pick<ClaudeState, 'state'>): boolean =>
  state === 'missing' || state === 'not-logged-in';

/** How a warning begins that says why the store cannot be written. It comes first. */
export const NOTHING_STORED = 'Nothing can be stored: ';

/** Everything the board shows, as of `seq`. */
export const BoardView = z.object({
  seq: z.int().nonnegative(),
  projects: z.array(Project),
  stages: z.array(StageView),
  pending: z.array(PendingRequest),
  /** Answers with an unknown delivery that nobody has settled yet; the oldest first. */
  unsettled: z.array(Decision).default([]),
  /** What is wrong on this machine, in words, for instance promises that the installed `claude` no longer keeps. */
  warnings: z.array(z.string()).default([]),
  /** Why nothing is started and no message is delivered at the moment, in words; null while nothing is paused. */
  paused: z.string().nullable().default(null),
  /** What keeps stages from starting automatically at the moment. */
  startHolds: z.array(StartDelay).default([]),
  /** How much may be spent, with what was. */
  budgets: z.array(Budget).default([]),
  /** The usage limits of the account, and what happens at one. */
  limits: LimitsView.default(NO_LIMITS),
  /** What people keep on hold, beside single stages. */
  holds: z.array(Pause).default([]),
  /** The machines that share the store; none with a store in a file. */
  machines: z.array(Machine).default([]),
  /** Whether this machine can run Claude's commands in a sandbox. */
  sandbox: SandboxSupport.default(SANDBOX_UNTRIED),
  /** What is kept for the person who asked for the board. */
  me: Me.default(NOBODY),
  /** Whether Claude Code is there and logged in. */
  claude: ClaudeState.default(CLAUDE_UNCHECKED),
});
export type BoardView = z.infer<typeof BoardView>;

/** The part of the board that describes the machine, and what all stages share: it has no `seq` and is sent whenever it changes. */
export const BoardNotices = BoardView.pick({
  warnings: true,
  paused: true,
  startHolds: true,
  budgets: true,
  sandbox: true,
  claude: true,
});
export type BoardNotices = z.infer<typeof BoardNotices>;

/** What the store holds, before the columns are derived. */
export interface BoardParts {
  seq: number;
  projects: Project[];
  stages: (Stage & { session: SessionSummary | null })[];
  pending: PendingRequest[];
  unsettled: Decision[];
  limits: LimitsView;
  holds: Pause[];
  warnings: string[];
  paused: string | null;
  startHolds: StartDelay[];
  budgets: Budget[];
  sandbox: SandboxSupport;
  machines?: Machine[];
  me?: Me;
  claude: ClaudeState;
}

/** Counts for monitoring; states and columns with none are left out. */
export const BoardCounts = z.object({
  /** Requests that wait for an answer. */
  pending: z.int().nonnegative(),
  /** Stages, by column. */
  stages: z.partialRecord(Column, z.int().positive()),
  /** Sessions, by state. */
  sessions: z.partialRecord(SessionState, z.int().positive()),
});
export type BoardCounts = z.infer<typeof BoardCounts>;

/** Counts what is on a board. */
export function boardCounts({ pending, stages }: Pick<BoardView, 'pending' | 'stages'>): BoardCounts {
  const counts: BoardCounts = { pending: pending.length, stages: {}, sessions: {} };
  for (const { column, session } of stages) {
    counts.stages[column] = (counts.stages[column] ?? 0) + 1;
    if (session !== null) counts.sessions[session.state] = (counts.sessions[session.state] ?? 0) + 1;
  }
  return counts;
}

/** Puts every stage into its column. */
export function boardView(parts: BoardParts): BoardView {
  const done = new Set(parts.stages.filter((stage) => stage.completedAt !== null).map((stage) => String(stage.id)));
  const waiting = countByStage(parts.pending);
  const unsettled = countByStage(parts.unsettled);
  const isDone = (stageId: string) => done.has(stageId);
  const stages = parts.stages.map((stage) => ({
    ...stage,
    column: column({
      stage,
      session: stage.session,
      pending: waiting.get(stage.id) ?? 0,
      unsettled: unsettled.get(stage.id) ?? 0,
      isDone,
    }),
  }));
  return { ...parts, machines: parts.machines ?? [], me: parts.me ?? NOBODY, stages };
}

function countByStage(list: readonly { stageId: string }[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { stageId } of list) counts.set(stageId, (counts.get(stageId) ?? 0) + 1);
  return counts;
}

/**
 * The board after one more event. Idempotent: an event that the view already holds (`seq` not above the view's)
 * changes nothing. The order of stages is that of their creation.
 */
export function foldBoard(view: BoardView, event: BoardEvent): BoardView {
  if (event.seq <= view.seq) return view;
  const parts = foldDeps({ ...view, seq: event.seq }, event);
  const changed = { ...parts, machines: parts.machines ?? [], me: foldMe(view.me, event) };
  return changed.stages === view.stages && changed.pending === view.pending && changed.unsettled === view.unsettled
    ? { ...changed, stages: view.stages }
    : preserveUnchanged(view, boardView(changed));
}

function foldDeps(parts: BoardParts, event: BoardEvent): BoardParts {
  if (isRequestEvent(event)) return { ...parts, pending: upsert(parts.pending, event.data, requestKey) };
  switch (event.type) {
    case 'project-updated':
      return { ...parts, projects: upsert(parts.projects, event.data.project, (p) => p.id) };
    case 'project-removed':
      return { ...parts, projects: parts.projects.filter((p) => p.id !== event.data.projectId) };
    case 'stage-created':
    case 'stage-updated': {
      const session = parts.stages.find((s) => s.id === event.data.stageId)?.session ?? null;
      return { ...parts, stages: upsert(parts.stages, { ...event.data.stage, session }, (s) => s.id) };
    }
    case 'stage-removed':
      return {
        ...parts,
        stages: parts.stages.filter((s) => s.id !== event.data.stageId),
        pending: parts.pending.filter((p) => p.stageId !== event.data.stageId),
        unsettled: parts.unsettled.filter((d) => d.stageId !== event.data.stageId),
      };
    case 'session-updated': {
      const session = event.data;
      return { ...parts, stages: parts.stages.map((s) => (s.id === session.stageId ? { ...s, session } : s)) };
    }
    case 'approval-cancelled':
    case 'approval-resolved': {
      const key = requestKey(event.data);
      return { ...parts, pending: parts.pending.filter((p) => requestKey(p) !== key) };
    }
    case 'answer-held':
      return { ...parts, pending: withHeld(parts.pending, event.data) };
    case 'limits-updated':
      return { ...parts, limits: event.data };
    case 'holds-updated':
      return { ...parts, holds: event.data.holds };
    case 'machine-updated':
      return { ...parts, machines: upsert(parts.machines ?? [], event.data.machine, (m) => m.id) };
    case 'machine-removed':
      return { ...parts, machines: parts.machines?.filter(({ id }) => id !== event.data.machineId) ?? [] };
    case 'decision-updated':
      return { ...parts, unsettled: withDecision(parts.unsettled, event.data) };
    case 'call-denied':
    case 'rules-updated':
    case 'message-queued':
    case 'message-sent':
    case 'queue-updated':
    case 'worktree-command-updated':
    case 'draft-updated':
    case 'comments-updated':
    case 'side-run-updated':
    case 'viewed-updated':
    case 'mode-changed':
    case 'transcript-appended':
    case 'login-created':
    case 'login-ended':
    case 'later-updated':
    case 'person-updated':
      return parts; // not on the board, of one person (`foldMe`), or followed by a session-updated that is
    default:
      return event satisfies never;
  }
}

/** What is kept for this person after one more event. A request that ended is set aside for nobody. */
function foldMe(me: Me, event: BoardEvent): Me {
  switch (event.type) {
    case 'person-updated': {
      const { person, presentation, alerts = me.alerts } = event.data;
      return person === me.name ? { ...me, presentation, alerts } : me;
    }
    case 'later-updated': {
      const { person, stageId, requestId, later } = event.data;
      if (person !== me.name) return me;
      const others = me.later.filter((other) => requestKey(other) !== requestKey(event.data));
      return { ...me, later: later === null ? others : [...others, { stageId, requestId, ...later }] };
    }
    case 'approval-cancelled':
    case 'approval-resolved':
      return withoutLater(me, (other) => requestKey(other) === requestKey(event.data));
    case 'stage-removed':
      return withoutLater(me, ({ stageId }) => stageId === event.data.stageId);
    default:
      return me;
  }
}

const withoutLater = (me: Me, isGone: (later: Me['later'][number]) => boolean): Me =>
  me.later.some(isGone) ? { ...me, later: me.later.filter((later) => !isGone(later)) } : me;

const requestKey = ({ stageId, requestId }: { stageId: string; requestId: string }) => `${stageId}/${requestId}`;

const withHeld = (pending: PendingRequest[], { held, ...place }: EventData<'answer-held'>): PendingRequest[] =>
  pending.map((request) => (requestKey(request) === requestKey(place) ? withAnswerDelayed(request, held) : request));

/** Returns the request with an answer held back, or without one. */
export function withAnswerDelayed({ held: _, ...request }: PendingRequest, held: DelayedAnswer | null): PendingRequest {
  return held === null ? request : { ...request, held };
}

/** Returns the same list if the decision is not in it and does not belong there, which is nearly always so. */
function withDecision(unsettled: Decision[], decision: Decision): Decision[] {
  if (isUnsettled(decision)) return upsert(unsettled, decision, requestKey);
  const key = requestKey(decision);
  return unsettled.some((d) => requestKey(d) === key) ? unsettled.filter((d) => requestKey(d) !== key) : unsettled;
}

function upsert<T>(list: T[], item: T, key: (item: T) => string): T[] {
  const id = key(item);
  const index = list.findIndex((other) => key(other) === id);
  return index === -1 ? [...list, item] : list.with(index, item);
}

/** Unchanged stages keep their identity, so that only the cards that changed are drawn again. */
function preserveUnchanged(before: BoardView, after: BoardView): BoardView {
  const old = new Map(before.stages.map((stage) => [stage.id, stage]));
  const same = (a: StageView, b: StageView | undefined) =>
    b !== undefined && Object.keys(a).every((k) => a[k as keyof StageView] === b[k as keyof StageView]);
  return {
    ...after,
    stages: after.stages.map((stage) => (same(stage, old.get(stage.id)) ? (old.get(stage.id) ?? stage) : stage)),
  };
}
