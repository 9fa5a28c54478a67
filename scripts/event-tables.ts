import {
  AttachmentInfo,
  BackgroundTask,
  ContextUsage,
  Decision,
  type EventType,
  eventData,
  Machine,
  PendingRequest,
  PermissionRule,
  Phase,
  Project,
  ProjectSettings,
  QueuedMessage,
  type RequestKind,
  SessionAlarm,
  SessionSummary,
  Stage,
  type StreamEventType,
  streamEventData,
  Todo,
  TokenUsage,
  TurnOutcome,
  TurnUsage,
  Worktree,
} from '@callboard/contract';
import { z } from 'zod';
import { requestKinds } from '../tools/orchestrator/src/core/kinds/registry.ts';
import { markdownTable } from './markdown-table.ts';

/** Shapes that are documented under their own name. */
const shapes: Readonly<Record<string, z.ZodType>> = {
  Project,
  ProjectSettings,
  Stage,
  Phase,
  Worktree,
  SessionSummary,
  TurnOutcome,
  TokenUsage,
  TurnUsage,
  SessionAlarm,
  ContextUsage,
  Todo,
  BackgroundTask,
  PendingRequest,
  Decision,
  QueuedMessage,
  Machine,
  AttachmentInfo,
  PermissionRule,
};

const requested = Object.fromEntries(
  Object.entries(requestKinds).map(([kind, { eventMeaning }]) => [`${kind}-requested`, eventMeaning]),
);

const when: Readonly<Record<Exclude<EventType, `${RequestKind}-requested`>, string>> = {
  'project-updated': 'A project was registered, renamed, or its settings changed',
  'project-removed': 'A project was removed from the board',
  'rules-updated': 'A rule was kept or removed: all rules of the project, as they are now',
  'stage-created': 'A stage was written or imported',
  'stage-updated': 'A stage was changed, completed, or got its worktree',
  'stage-removed': 'A stage was removed from the board, and its pending requests with it',
  'session-updated': 'Anything shown of a session changed, such as its `state`',
  'approval-cancelled':
    'A request of any kind was withdrawn, or its process ended: nobody decided. `approval-resolved` follows',
  'answer-held':
    'Somebody is answering a request: the answer is kept back for a moment, or was taken back (`held` is null)',
  'approval-resolved': 'A request of any kind is answered or closed; from here on every answer is a conflict',
  'call-denied': 'Claude Code itself denied a tool call, by its mode, a rule or a hook, and asked nobody',
  'decision-updated': 'The delivery of an answer progressed, by one step or several',
  'message-queued': 'A message waits in the queue',
  'message-sent': 'A message is on its way to Claude',
  'worktree-command-updated':
    'Something that the project runs in a worktree began or ended, or the port of a server is known',
  'draft-updated': 'Somebody is typing a message or an answer, or has sent it',
  'comments-updated':
    'Comments on the changes were added, changed, removed, sent or answered, or followed the code: read them again',
  'side-run-updated': 'Claude was asked for a review or for the text of a pull request, or that began or ended',
  'viewed-updated': 'A person ticked files as viewed, or took a tick back',
  'queue-updated': 'The queue changed in any way: all waiting messages, as they are now',
  'mode-changed': 'The permission mode of a session changed',
  'transcript-appended': 'There are new entries: the transcript can be read up to `index`',
  'limits-updated': 'The usage limits of the account were reported anew, or what happens at one was changed',
  'holds-updated':
    'A project or everything was put on hold or released, or something was released from such a hold: all such holds, as they are now',
  'machine-updated':
    'A machine joined, its name or version changed, or it became connected, unreachable or lost. Its figures are as they were then',
  'machine-removed': 'A person took a machine that was declared lost off the list',
  'later-updated': 'A person set a request aside, or it calls this person again (`later` is null)',
  'person-updated': 'A person changed a setting of their own',
  'login-created': 'A browser has logged in through a link, or a terminal with `callboard login`',
  'login-ended': 'A login was revoked or logged out: its requests are refused and its streams end',
};

const whenPassing: Readonly<Record<StreamEventType, string>> = {
  stream: 'First of every stream: its id, for `watch`, and the number after which it goes on',
  'orchestrator-status': 'Second of every stream, and whenever it changes: whether commands can be given',
  resync: 'Events before `seq` cannot be replayed: load the board again. The stream continues after `seq`',
  'notices-updated':
    'Third of every stream, and whenever it changes: what is wrong on the machine (`warnings`), and why nothing is started or delivered at the moment (`paused`), and what keeps stages from starting automatically (`startHolds`)',
  'session-now':
    'What Claude does in a session this moment (`writing` with the end of its text, `preparing` a tool call), at most once a second. It refines a `now` of the kind `thinking`; null takes it back',
  'text-delta': 'Text of a watched stage while Claude writes it. The stored entry that follows has the same `blockId`',
};

const Json = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  format: z.string().optional(),
  required: z.array(z.string()).optional(),
  get anyOf() {
    return z.array(Json).optional();
  },
  get items() {
    return Json.optional();
  },
  get properties() {
    return z.record(z.string(), Json).optional();
  },
});
type Json = z.infer<typeof Json>;

const names = z.registry<{ id: string }>();
for (const [id, schema] of Object.entries(shapes)) names.add(schema, { id });

const jsonOf = (schema: z.ZodType): Json => {
  const { $defs, ...json } = z.toJSONSchema(schema, { metadata: names, unrepresentable: 'any' });
  const id = names.get(schema)?.id;
  return Json.parse(id === undefined || $defs?.[id] === undefined ? json : $defs[id]);
};

const FORMATS: Readonly<Record<string, string>> = { 'date-time': 'timestamp', uuid: 'uuid' };

/** A type in a few words, with links to the shapes. */
function typeOf({ $ref, type, const: only, enum: values, format, anyOf, items, properties }: Json): string {
  if ($ref !== undefined) return refTo($ref.replace(/^.*\//, ''));
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (properties !== undefined) {
    return `{ ${Object.entries(properties)
      .map(([name, field]) => `${name}: ${typeOf(field)}`)
      .join(', ')} }`;
  }
  return (format !== undefined ? FORMATS[format] : undefined) ?? [type ?? 'anything'].flat().join(' or ');
}

const linkTo = (name: string): string => `[${name}](#${name.toLowerCase()})`;

/** The only unnamed reference is `z.json()`, which refers to itself. */
const refTo = (name: string): string => (Object.hasOwn(shapes, name) ? linkTo(name) : 'any JSON');

/** The name and type of each field; an optional one has a question mark. */
const fieldsOf = ({ properties = {}, required = [] }: Json): [string, string][] =>
  Object.entries(properties).map(([name, field]) => [
    `\`${name}\`${required.includes(name) ? '' : '?'}`,
    typeOf(field),
  ]);

function dataOf(schema: z.ZodType): string {
  const id = names.get(schema)?.id;
  if (id !== undefined) return linkTo(id);
  return fieldsOf(jsonOf(schema))
    .map((field) => field.join(': '))
    .join('<br>');
}

/** When an event is sent. */
const whenSent = (name: string): string => requested[name] ?? when[name as keyof typeof when]; // a key of one of the tables

export const eventTable = (): string =>
  markdownTable(
    ['name', 'when', 'data'],
    Object.entries(eventData).map(([name, schema]) => [`\`${name}\``, whenSent(name), dataOf(schema)]),
  );

export const streamEventTable = (): string =>
  markdownTable(
    ['name', 'when', 'data'],
    Object.entries(streamEventData).map(([name, schema]) => [
      `\`${name}\``,
      whenPassing[name as StreamEventType],
      dataOf(schema),
    ]),
  );

/** A heading and a table for each shape. */
export const shapeTables = (): string =>
  Object.entries(shapes)
    .map(([name, schema]) => `### ${name}\n\n${markdownTable(['field', 'type'], fieldsOf(jsonOf(schema)))}`)
    .join('\n\n');
