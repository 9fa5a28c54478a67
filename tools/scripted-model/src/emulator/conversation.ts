import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lastMarker } from '../last-marker.ts';
import type { Script, Step } from '../script.ts';

/** What a conversation's file remembers, one to a line, in the order in which it happened. Messages stand there as in the CLI's own files. */
export type Remembered =
  | { type: 'begun'; cwd: string }
  /** A message that the model was told of. */
  | { type: 'user'; uuid: string; text: string }
  /** A reply of the model, whole or interrupted, with the ids of its tool calls. */
  | { type: 'reply'; toolUseIds: string[] };

/** Where the files of all conversations are, under the HOME of the emulator. */
export const conversationsFolder = (home: string): string => join(home, '.claude', 'projects', 'emulated');

/** One conversation: what the model knows of it, kept in a file so that `--resume` can go on with it. */
export interface Conversation {
  /** Whether the model was told of a message of that uuid, in this life or an earlier one. */
  hasRead(uuid: string): boolean;
  told(uuid: string, text: string): void;
  replied(toolUseIds: string[]): void;
  /** What the model says next, as the scripted model would; null when the script cannot be read. */
  due(): Step | null;
}

/** Begins a conversation, or opens the one to be resumed; null when there is none of that id. */
export function openConversation(home: string, id: string, cwd: string, isResumed: boolean): Conversation | null {
  const file = join(conversationsFolder(home), `${id}.jsonl`);
  if (isResumed && !existsSync(file)) return null;
  const read = new Set<string>();
  let script: Script | null | undefined;
  let step = 0;
  let hasNewerMessage = false;

  function learn(item: Remembered): void {
    if (item.type === 'reply') {
      step += 1;
      hasNewerMessage = false;
    } else if (item.type === 'user') {
      read.add(item.uuid);
      const marker = lastMarker(item.text);
      hasNewerMessage = marker === undefined;
      if (marker === undefined) return;
      script = marker.kind === 'inline' ? decode(marker.encoded) : null;
      step = 0;
    }
  }

  function remember(item: Remembered): void {
    // Like the CLI's own, the file is begun with the first message and not before.
    if (!existsSync(file)) {
      mkdirSync(dirname(file), { recursive: true });
      appendFileSync(file, line({ type: 'begun', cwd }));
    }
    appendFileSync(file, line(item));
    learn(item);
  }

  if (isResumed) for (const item of readConversation(file)) learn(item);
  return {
    hasRead: (uuid) => read.has(uuid),
    told: (uuid, text) => remember({ type: 'user', uuid, text }),
    replied: (toolUseIds) => remember({ type: 'reply', toolUseIds }),
    due() {
      if (script === null) return null;
      return script?.steps[step] ?? { text: script === undefined || hasNewerMessage ? 'OK.' : 'Done.' };
    },
  };
}

/** Everything that a conversation's file remembers; a line that a kill has torn is passed over. */
export function readConversation(file: string): Remembered[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text) => {
      try {
        return [JSON.parse(text) as Remembered]; // written by `remember` alone
      } catch {
        return [];
      }
    });
}

const line = (item: Remembered): string => `${JSON.stringify(item)}\n`;

/** `prompt()` has checked it with the schema; the emulator goes without zod, to be light. */
function decode(encoded: string): Script | null {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8')) as Script;
  } catch {
    return null;
  }
}
