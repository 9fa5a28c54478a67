import { lastMarker, type Marker } from './marker.ts';
import { type Message, type MessagesRequest, textsOf } from './messages-request.ts';
import { decodeScript } from './prompt.ts';
import type { Script, Step } from './script.ts';

/** The reply to a request, and why it was chosen. */
export type Choice = {
  /** `script`: a step; `finished`: after the last step; `default`: no marker; `side`: not the conversation; `invalid`: a bad marker. */
  kind: 'script' | 'finished' | 'default' | 'side' | 'invalid';
  reply: Step;
  script?: string;
  step?: number;
  /** Identifies a step across its attempts, for failures that happen a limited number of times. */
  key: string;
};

const DEFAULT_REPLY: Step = { text: 'OK.' };
const CLOSING_REPLY: Step = { text: 'Done.' };

/**
 * Chooses the model's reply from the request alone.
 * @param unscripted the reply where no script has one
 */
export function chooseReply(
  request: MessagesRequest,
  scripts: ReadonlyMap<string, Script>,
  unscripted: Step = DEFAULT_REPLY,
): Choice {
  if (isSideRequest(request)) return { kind: 'side', reply: sideReply(request), key: 'side' };
  const position = findPosition(request.messages, (text) => lastMarker(text) ?? markerFor(text, scripts));
  if (position === undefined) return { kind: 'default', reply: unscripted, key: 'default' };
  const { marker, step, markerIndex, newerMessage } = position;
  const name = marker.kind === 'named' ? marker.name : 'inline';
  const found = resolve(marker, scripts);
  if (typeof found === 'string') return { kind: 'invalid', reply: badRequest(found), script: name, key: 'invalid' };
  const key = `${markerIndex} ${marker.kind === 'named' ? `@${marker.name}` : marker.encoded} ${step}`;
  const due = found.steps[step];
  if (due !== undefined) return { kind: 'script', reply: due, script: name, step, key };
  return { kind: 'finished', reply: newerMessage ? unscripted : CLOSING_REPLY, script: name, step, key };
}

/** A marker for the script whose `when` occurs in the text. */
function markerFor(text: string, scripts: ReadonlyMap<string, Script>): Marker | undefined {
  const found = [...scripts].find(([, { when }]) => when !== undefined && text.includes(when));
  return found === undefined ? undefined : { kind: 'named', name: found[0] };
}

/** An error that the CLI shows at once, without retries. */
function badRequest(message: string): Step {
  return { error: { status: 400, message: `scripted model: ${message}` } };
}

function resolve(marker: Marker, scripts: ReadonlyMap<string, Script>): Script | string {
  if (marker.kind === 'named') return scripts.get(marker.name) ?? `no script is named "${marker.name}"`;
  try {
    return decodeScript(marker.encoded);
  } catch {
    return 'the script in the prompt cannot be read';
  }
}

/** The position of a conversation in its newest script. */
export type Position = {
  marker: Marker;
  /** Replies given since the marker: the index of the step that is due. */
  step: number;
  /** Distinguishes two uses of one script in one conversation. */
  markerIndex: number;
  /** A message without a marker came after the newest reply. */
  newerMessage: boolean;
};

type Item = { kind: 'reply' } | { kind: 'result' } | { kind: 'text'; text: string; role: 'user' | 'system' };

/** What the CLI leaves in the history of a reply that was interrupted before its first word, or had no content. */
const LOST_REPLIES: readonly string[] = [
  '[Request interrupted by user]',
  '[Your previous response had no visible output. Please continue and produce a user-visible response.]',
];
/** The CLI's own assistant message in place of a reply that never came. */
const STAND_IN = 'No response requested.';

/**
 * Finds the newest marker in the history and counts the replies behind it. Nothing is remembered between requests,
 * so the count survives restarts of the model, of the CLI, and `--resume`.
 */
export function findPosition(
  messages: readonly Message[],
  markerIn: (text: string) => Marker | undefined = lastMarker,
): Position | undefined {
  const items = messages.flatMap(toItems);
  const found = items
    .map((item, index) => ({ index, marker: item.kind === 'text' ? markerIn(item.text) : undefined }))
    .findLast((candidate) => candidate.marker !== undefined);
  if (found?.marker === undefined) return undefined;
  const later = items.slice(found.index + 1);
  return {
    marker: found.marker,
    step: countReplies(later),
    markerIndex: found.index,
    newerMessage: later.slice(later.findLastIndex((item) => item.kind !== 'text') + 1).some(isMessage),
  };
}

/** One reply may span several consecutive assistant messages; an interrupted one may have left none. */
function countReplies(items: readonly Item[]): number {
  return items.filter((item, index) => {
    const before = items[index - 1]?.kind;
    if (item.kind === 'reply') return before !== 'reply';
    return isLostReply(item) && before !== 'reply';
  }).length;
}

function isLostReply(item: Item): boolean {
  return item.kind === 'text' && LOST_REPLIES.includes(item.text.trim());
}

/** Whether the item is a person's message rather than a text of the CLI. */
function isMessage(item: Item): boolean {
  if (item.kind !== 'text' || isLostReply(item)) return false;
  if (item.role === 'system') return item.text.startsWith('The user sent a new message');
  return !/^<(?:system-reminder|local-command|command-name)/.test(item.text);
}

function toItems({ role, content }: Message): Item[] {
  if (role === 'assistant') return textsOf(content).join('').trim() === STAND_IN ? [] : [{ kind: 'reply' }];
  if (typeof content === 'string') return [{ kind: 'text', text: content, role }];
  return content.flatMap((block): Item[] => {
    if (block.type === 'text') return [{ kind: 'text', text: block.text ?? '', role }];
    return block.type === 'tool_result' ? [{ kind: 'result' }] : [];
  });
}

/** How the CLI's side requests begin. Each follows a copy of the history, or quotes it. */
const SUMMARY = /^CRITICAL: Respond with TEXT ONLY/;
const OPENINGS: readonly RegExp[] = [
  SUMMARY,
  /^<system-reminder>This is a side question from the user/,
  /^\s*Web page content:/,
  /most recent action in 3-5 words/,
  /^\[SUGGESTION MODE/,
];

/**
 * Whether a request is not part of the conversation: a title, a summary, a side question. It may quote the prompt, marker included, so
 * the marker must not be followed: a title would wait for a gate, a summary would take the words of a step.
 */
function isSideRequest(request: MessagesRequest): boolean {
  if (request.output_config?.format && (request.tools ?? []).length === 0) return true;
  return OPENINGS.some((opening) => asks(request, opening));
}

/** A short harmless text, or the smallest valid object if the request demands an object. */
export function sideReply(request: MessagesRequest): Step {
  const format = request.output_config?.format;
  if (format) return { text: JSON.stringify(sample(format.schema)) };
  return { text: asks(request, SUMMARY) ? '<analysis>-</analysis>\n<summary>Work so far.</summary>' : 'OK.' };
}

function asks(request: MessagesRequest, opening: RegExp): boolean {
  const last = request.messages.findLast((message) => message.role === 'user');
  return textsOf(last?.content).some((text) => opening.test(text));
}

/** The smallest value that is valid for a simple JSON schema. */
export function sample(schema: unknown): unknown {
  if (!isRecord(schema)) return null;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if ('const' in schema) return schema.const;
  switch (schema.type) {
    case 'object':
      return sampleObject(schema);
    case 'array':
      return [];
    case 'string':
      return 'OK';
    case 'number':
    case 'integer':
      return 0;
    case 'boolean':
      return false;
    default:
      return null;
  }
}

function sampleObject(schema: Record<string, unknown>): Record<string, unknown> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, sample(value)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
