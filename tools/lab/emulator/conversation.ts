import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lastMarker } from '../../scripted-model/src/marker.ts';
import type { Script, Step } from '../../scripted-model/src/script.ts';

/** The lines of a conversation's file, in the order in which they happened. Messages have the format of the CLI's own files. */
export type Remembered =
  | { type: 'begun'; cwd: string }
  /** A message that the model received. */
  | { type: 'user'; uuid: string; text: string }
  /** A reply of the model, complete or interrupted, with the ids of its tool calls. */
  | { type: 'reply'; toolUseIds: string[] };

/** The folder of all conversations, below the emulator's HOME. */
export const conversationsFolder = (home: string): string => join(home, '.claude', 'projects', 'emulated');

/** One conversation as the model knows it, kept in a file for `--resume`. */
export interface Conversation {
  /** Whether the model received a message with that uuid, in this process or an earlier one. */
  hasRead(uuid: string): boolean;
  told(uuid: string, text: string): void;
  replied(toolUseIds: string[]): void;
  /** The model's next step, as the scripted model would choose it; null when the script cannot be read. */
  due(): Step | null;
}

/** Begins a conversation, or opens one to resume; null when there is none with that id. */
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
    // Like the CLI's own file, it is created with the first message.
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

/** Reads a conversation's file. Skips a line that was cut off by a kill. */
export function readConversation(file: string): Remembered[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text) => {
      try {
        return [JSON.parse(text) as Remembered]; // written only by `remember`
      } catch {
        return [];
      }
    });
}

const line = (item: Remembered): string => `${JSON.stringify(item)}\n`;

/** `prompt()` has checked it with the schema. The emulator does not load zod, to stay small. */
function decode(encoded: string): Script | null {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8')) as Script;
  } catch {
    return null;
  }
}
