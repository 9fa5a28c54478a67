import type { AskingCommand, TranscriptEntry } from '@callboard/contract';
import type { Tx } from '../store/store.ts';
import type { SessionChange } from './session-change.ts';

/** Running calls are among the newest entries. */
const LOOK_BACK = 200;
/** Enough of a command to recognise it. */
const LONGEST = 2_000;

/** The newest entries, including those not stored yet. */
export async function newestEntries(tx: Tx, { record, entries }: SessionChange): Promise<TranscriptEntry[]> {
  const stored = await tx.transcript.page(record.stageId, { after: undefined, before: undefined, limit: LOOK_BACK });
  return [...stored, ...entries];
}

/** Background tasks that run a command. */
export const backgroundCommands = ({ record }: SessionChange) =>
  record.backgroundTasks.filter(({ type }) => type === 'local_bash' || type === 'unknown');

/** The commands that a session runs now: those without a result that wait for nobody, and those in the background. */
export async function commandsOf(tx: Tx, change: SessionChange): Promise<AskingCommand[]> {
  const entries = await newestEntries(tx, change);
  const ended = new Set(entries.flatMap((entry) => (entry.kind === 'tool-result' ? [entry.toolUseId] : [])));
  const open = await tx.requests.listOpenOf(change.record.stageId);
  const waits = new Set(open.flatMap(({ toolUseId }) => (toolUseId === '' ? [] : [toolUseId])));
  const lastEnd = entries.findLastIndex(({ kind }) => kind === 'turn-end');
  const running = entries.flatMap((entry, index): AskingCommand[] => {
    if (entry.kind !== 'tool-use' || entry.toolName !== 'Bash') return [];
    const { toolUseId, parentToolUseId, input } = entry;
    if (input.dangerouslyDisableSandbox === true) return []; // outside the sandbox, nobody is asked about the network
    // A call of an earlier turn has ended, with or without a result; a subagent goes on.
    if (ended.has(toolUseId) || waits.has(toolUseId) || (index < lastEnd && parentToolUseId === null)) return [];
    const text = typeof input.command === 'string' ? input.command.slice(0, LONGEST) : '';
    return [{ id: toolUseId, isBackground: false, text }];
  });
  const inBackground = backgroundCommands(change).map(({ taskId: id, description }) => ({
    id,
    isBackground: true,
    text: description.slice(0, LONGEST),
  }));
  return [...running, ...inBackground];
}
