import { z } from 'zod';
import { AlertSettings } from './alerts.ts';
import { Decision, DelayedAnswer, RequestKind } from './approvals.ts';
import { WorktreeCommand } from './dev-servers.ts';
import { requestEvents } from './generated/request-events.ts';
import { MessageId, ProjectId, RequestId, StageId } from './ids.ts';
import { LimitsView } from './limits.ts';
import { Login } from './logins.ts';
import { Machine, MachineId } from './machines.ts';
import { Draft, QueuedMessage } from './messages.ts';
import { Pause } from './pauses.ts';
import { Later, Presentation } from './people.ts';
import { Project } from './projects.ts';
import { SideRun } from './review.ts';
import { PermissionRule } from './rules.ts';
import { LiveNow, SessionSummary } from './sessions.ts';
import { Stage } from './stages.ts';

const ofStage = { stageId: StageId };

/** The data of each stored event, flat, by the event's name. The name and the data are what SSE clients see. */
export const eventData = {
  'project-updated': z.object({ projectId: ProjectId, project: Project }),
  'project-removed': z.object({ projectId: ProjectId }),
  /** All rules of the project and its stages, as they are now. */
  'rules-updated': z.object({ projectId: ProjectId, rules: z.array(PermissionRule) }),
  'stage-created': z.object({ ...ofStage, stage: Stage }),
  'stage-updated': z.object({ ...ofStage, stage: Stage }),
  'stage-removed': z.object(ofStage),
  'session-updated': SessionSummary,
  ...requestEvents,
  /** The CLI withdrew the request, or its process ended: nobody decided. */
  'approval-cancelled': z.object({ ...ofStage, requestId: RequestId, reason: z.string() }),
  /** Somebody is answering the request: their answer is kept back for a moment; or they took it back (null). */
  'answer-held': z.object({ ...ofStage, requestId: RequestId, held: DelayedAnswer.nullable() }),
  /** The request is answered or closed; from here on every answer is a conflict. */
  'approval-resolved': Decision,
  /** Claude Code denied a call itself and asked nobody. */
  'call-denied': Decision,
  /** The delivery of an answer progressed. */
  'decision-updated': Decision,
  'message-queued': QueuedMessage,
  'message-sent': z.object({ ...ofStage, messageId: MessageId, text: z.string() }),
  'queue-updated': z.object({ ...ofStage, queue: z.array(QueuedMessage), held: z.boolean() }),
  /** A command of the project began or ended in a worktree, or its port is known. */
  'worktree-command-updated': WorktreeCommand,
  /** Somebody is typing; null means that the draft was sent or discarded. */
  'draft-updated': Draft,
  /** Comments of the stage were added, changed, removed, sent, or followed the code: read them again. */
  'comments-updated': z.object(ofStage),
  /** Claude was asked something beside the conversation, or that began or ended. */
  'side-run-updated': SideRun,
  /** A person ticked files of the stage as viewed, or took a tick back: their own are read again. */
  'viewed-updated': z.object({ ...ofStage, person: z.string() }),
  'mode-changed': z.object({ ...ofStage, mode: z.string() }),
  /** Entries up to `index` can be read from the transcript. */
  'transcript-appended': z.object({ ...ofStage, index: z.int().positive() }),
  /** A person set a request aside (`later`), or it calls this person again (null). */
  'later-updated': z.object({
    ...ofStage,
    requestId: RequestId,
    person: z.string(),
    later: Later.pick({ until: true }).nullable(),
  }),
  /** A person changed settings of their own. Events of older releases have no `alerts`. */
  'person-updated': z.object({ person: z.string(), presentation: Presentation, alerts: AlertSettings.optional() }),
  /** The usage limits of the account were reported anew, or what happens at one was changed. */
  'limits-updated': LimitsView,
  /** A project, or everything, was put on hold or released, or something was released from such a hold. All holds that there are now. */
  'holds-updated': z.object({ holds: z.array(Pause) }),
  /** A machine joined, its name or version changed, or it became reachable, unreachable or lost. Figures alone tell nothing. */
  'machine-updated': z.object({ machine: Machine }),
  /** A person took a lost machine off the list. `machine-updated` tells if it is back. */
  'machine-removed': z.object({ machineId: MachineId }),
  /** A browser logged in through a link, or a terminal. */
  'login-created': Login,
  /** A login was revoked or logged out: its requests are refused from now on. */
  'login-ended': z.object({ loginId: z.string(), by: z.string() }),
} as const;

export type EventType = keyof typeof eventData;
export type EventData<T extends EventType> = z.infer<(typeof eventData)[T]>;

/** One change of state before it has its number. */
export type NewEvent = { [T in EventType]: { type: T; data: EventData<T> } }[EventType];

/** Tells of a new request, of whatever kind. */
type RequestEvent = Extract<NewEvent, { type: keyof typeof requestEvents }>;

/** The events that tell of a new request, one for each kind. */
export const REQUEST_EVENTS = Object.keys(requestEvents).filter(isRequestType);

function isRequestType(type: string): type is RequestEvent['type'] {
  return Object.hasOwn(requestEvents, type);
}

/** Whether an event tells of a new request. */
export const isRequestEvent = <E extends NewEvent>(event: E): event is E & RequestEvent =>
  Object.hasOwn(requestEvents, event.type);

/** One change of state, numbered by `seq`, in one log. */
export type BoardEvent = NewEvent & { seq: number; at: string };

const stamp = { seq: z.int().positive(), at: z.iso.datetime() };

const eventSchema = <T extends EventType>(type: T) =>
  z.object({ type: z.literal(type), data: eventData[type], ...stamp });

/** A stored event as it crosses a process. */
export const BoardEvent = z.discriminatedUnion('type', [
  eventSchema('project-updated'),
  eventSchema('project-removed'),
  eventSchema('stage-created'),
  eventSchema('stage-updated'),
  eventSchema('stage-removed'),
  eventSchema('session-updated'),
  ...RequestKind.options.map((kind) => eventSchema(`${kind}-requested`)),
  eventSchema('rules-updated'),
  eventSchema('approval-cancelled'),
  eventSchema('answer-held'),
  eventSchema('approval-resolved'),
  eventSchema('call-denied'),
  eventSchema('decision-updated'),
  eventSchema('message-queued'),
  eventSchema('message-sent'),
  eventSchema('queue-updated'),
  eventSchema('worktree-command-updated'),
  eventSchema('draft-updated'),
  eventSchema('comments-updated'),
  eventSchema('side-run-updated'),
  eventSchema('viewed-updated'),
  eventSchema('mode-changed'),
  eventSchema('transcript-appended'),
  eventSchema('later-updated'),
  eventSchema('person-updated'),
  eventSchema('limits-updated'),
  eventSchema('holds-updated'),
  eventSchema('machine-updated'),
  eventSchema('machine-removed'),
  eventSchema('login-created'),
  eventSchema('login-ended'),
]);

/**
 * A cheap look at an event that another part of Callboard made from these very types: it has a name that we know, a
 * number, an instant, and all fields that its data must have. What is in them is not looked at: what comes from a
 * stranger, or from an older version's store, is read with `BoardEvent`.
 */
export function looksLikeEvent(value: unknown): value is BoardEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { type, seq, at, data }: Partial<Record<keyof BoardEvent, unknown>> = value;
  if (typeof type !== 'string' || !isEventType(type) || !isSeq(seq) || typeof at !== 'string') return false;
  return typeof data === 'object' && data !== null && hasFieldsOf(type, (name) => Object.hasOwn(data, name));
}

export const isEventType = (type: string): type is EventType => Object.hasOwn(eventData, type);

/** Whether data has all the fields that those of such an event cannot do without. */
export const hasFieldsOf = (type: EventType, has: (name: string) => boolean): boolean => fieldsOf(type).every(has);

const fields = new Map<EventType, readonly string[]>();

/** The names of the fields that an event's data cannot do without. */
function fieldsOf(type: EventType): readonly string[] {
  const known = fields.get(type);
  if (known !== undefined) return known;
  // What the schema misses where there is nothing.
  const missing = eventData[type].safeParse({}).error?.issues ?? [];
  const required = missing.map(({ path: [name] }) => String(name));
  fields.set(type, required);
  return required;
}

const isSeq = (value: unknown): boolean => typeof value === 'number' && Number.isSafeInteger(value) && value > 0;

/** A finer account of what a session does: never stored, without a number, at most once a second for each session. */
export const SessionNowUpdate = z.object({
  stageId: StageId,
  /** Stands for the session's `now` while that is `thinking`; null: the session's own `now` says it all. */
  now: LiveNow.nullable(),
});
export type SessionNowUpdate = z.infer<typeof SessionNowUpdate>;

/** Text while it streams: never stored, without a number, only for the stages being watched. */
export const TextDelta = z.object({
  stageId: StageId,
  /** Identifies the content block that the text belongs to; a new block starts a new text. */
  blockId: z.string(),
  kind: z.enum(['text', 'thinking']),
  text: z.string(),
  /** How many characters (UTF-16) of the block came before: who lacks them asks for them with `get_live_text`. */
  offset: z.int().nonnegative(),
  parentToolUseId: z.string().nullable(),
});
export type TextDelta = z.infer<typeof TextDelta>;
