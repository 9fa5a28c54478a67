import { type AskingCommand, isCommandTask, type TranscriptEntry } from '@callboard/contract';
import type { Tx } from '../store/store.ts';
import type { SessionChange } from './session-change.ts';

/** How many stored entries are searched: running calls are among the newest ones. */
const LOOKBACK = 200;
/** How many characters of a command are kept: enough to recognise it. */
const MAX_LENGTH = 2_000;

/** Returns the newest transcript entries, including those that the transaction has not stored yet. */
export async function newestEntries(tx: Tx, { record, entries }: SessionChange): Promise<TranscriptEntry[]> {
  const stored = await tx.transcript.page(record.stageId, { after: undefined, before: undefined, limit: LOOKBACK });
  return [...stored, ...entries];
}

/** Returns the background tasks that run a command; a task of unknown type may run one. */
export const backgroundCommands = ({ record }: SessionChange) => record.backgroundTasks.filter(isCommandTask);

/**
 * Returns the commands that a session runs now: calls without a result that do not wait for a person, and commands in the
 * background.
 */
export async function commandsOf(tx: Tx, change: SessionChange): Promise<AskingCommand[]> {
  const entries = await newestEntries(tx, change);
  const ended = new Set(entries.flatMap((entry) => (entry.kind === 'tool-result' ? [entry.toolUseId] : [])));
  const open = await tx.requests.listOpenOf(change.record.stageId);
  const waits = new Set(open.flatMap(({ toolUseId }) => (toolUseId === '' ? [] : [toolUseId])));
  const lastEnd = entries.findLastIndex(({ kind }) => kind === 'turn-end');
  const running = entries.flatMap((entry, index): AskingCommand[] => {
    if (entry.kind !== 'tool-use' || entry.toolName !== 'Bash') return [];
    const { toolUseId, parentToolUseId, input } = entry;
    if (input.dangerouslyDisableSandbox === true) return []; // commands outside the sandbox cause no network request
    // A call of an earlier turn is over, even without a result. Calls of subagents may outlast the turn.
    if (ended.has(toolUseId) || waits.has(toolUseId) || (index < lastEnd && parentToolUseId === null)) return [];
    const text = typeof input.command === 'string' ? input.command.slice(0, MAX_LENGTH) : '';
    return [{ id: toolUseId, isBackground: false, text }];
  });
  const inBackground = backgroundCommands(change).map(({ taskId: id, description }) => ({
    id,
    isBackground: true,
    text: description.slice(0, MAX_LENGTH),
  }));
  return [...running, ...inBackground];
}
