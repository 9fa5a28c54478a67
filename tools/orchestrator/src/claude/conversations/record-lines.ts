import { z } from 'zod';
import { parseJson } from '../../lib/parse-json.ts';

/** The lines of Claude Code's own record of a conversation that tell what was said (seen with 2.1.330). */

const Block = z.looseObject({ type: z.string() });

const Line = z.object({
  type: z.string(),
  uuid: z.string(),
  parentUuid: z.string().nullish(),
  /** At a compaction the chain of parents begins again; this is the line before it. */
  logicalParentUuid: z.string().nullish(),
  isSidechain: z.boolean().nullish(),
  isMeta: z.boolean().nullish(),
  isCompactSummary: z.boolean().nullish(),
  subtype: z.string().nullish(),
  timestamp: z.iso.datetime().optional().catch(undefined),
  cwd: z.string().optional().catch(undefined),
  gitBranch: z.string().optional().catch(undefined),
  message: z
    .object({ id: z.string().optional(), content: z.union([z.string(), z.array(Block)]) })
    .optional()
    .catch(undefined),
});
export type RecordLine = z.infer<typeof Line>;

/** Lines of the tree of messages begin like this; all others are bookkeeping, and some of those are very long. */
const IN_TREE = '{"parentUuid":';

/** A longer line (pictures, whole files) is not parsed: its place in the tree is read from its text. */
const MAX_PARSED_LENGTH = 1024 * 1024;

/** Returns a line of the tree of messages; null for any other, and for one that was cut off. */
export function parseRecordLine(text: string): RecordLine | null {
  if (!text.startsWith(IN_TREE)) return null;
  if (text.length > MAX_PARSED_LENGTH) return locationOf(text);
  return Line.safeParse(parseJson(text)).data ?? null;
}

/** What a text shows where Callboard left something out. */
const TOO_LONG = '[too long to be shown]';

function locationOf(text: string): RecordLine | null {
  const parent = /^\{"parentUuid":(?:"([0-9a-f-]{36})"|null)/.exec(text);
  const uuid = text.slice(-MAX_PARSED_LENGTH / 4).match(/.*"uuid":"([0-9a-f-]{36})"/s)?.[1];
  const type = /"type":"(user|assistant)"/.exec(text.slice(0, 1_000))?.[1];
  if (parent === null || uuid === undefined) return null;
  const line = { type: type ?? 'attachment', uuid, parentUuid: parent[1] ?? null };
  return type === undefined ? line : { ...line, message: { content: TOO_LONG } };
}

/** Tags in which Claude Code wraps what a person did in a terminal. */
const WRAPPED = [
  [/^<bash-input>([\s\S]*?)<\/bash-input>\s*$/, (command: string) => `! ${command}`],
  [
    /^\s*<command-message>[\s\S]*?<\/command-message>\s*<command-name>([\s\S]*?)<\/command-name>/,
    (name: string) => name,
  ],
  [/^\s*<command-name>([\s\S]*?)<\/command-name>/, (name: string) => name],
] as const;
const PRINTED = /^\s*<(?:bash-stdout|bash-stderr|local-command-stdout|local-command-stderr|local-command-caveat)>/;

/** What a user line says: a person's words, or what a command in the terminal printed. */
export interface Said {
  text: string;
  isPerson: boolean;
  /** It runs something in the terminal; it is no message to Claude. */
  isCommand: boolean;
}

/** Returns what a person said in a line; null if the line is something else, for example the result of a tool. */
export function saidIn({ type, isMeta, isSidechain, isCompactSummary, message }: RecordLine): Said | null {
  if (type !== 'user' || isMeta === true || isSidechain === true || isCompactSummary === true) return null;
  const text = message === undefined ? '' : textOf(message.content);
  if (text.trim() === '') return null;
  if (PRINTED.test(text))
    return { text: text.replaceAll(/<\/?(?:bash|local-command)-\w+>/g, '').trim(), isPerson: false, isCommand: false };
  for (const [form, shown] of WRAPPED) {
    const found = form.exec(text);
    if (found !== null) return { text: shown(found[1]?.trim() ?? ''), isPerson: true, isCommand: true };
  }
  return { text: text.trim(), isPerson: true, isCommand: false };
}

/** Returns the text of a message's content, without tool results and pictures. */
export const textOf = (content: string | readonly z.infer<typeof Block>[]): string =>
  typeof content === 'string'
    ? content
    : content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n\n');
