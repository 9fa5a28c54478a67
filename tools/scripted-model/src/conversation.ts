import { lastMarker, type Marker } from './last-marker.ts';
import { type Message, textsOf } from './messages-request.ts';

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
