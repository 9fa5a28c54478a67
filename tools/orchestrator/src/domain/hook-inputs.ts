import { isDeepStrictEqual } from 'node:util';
import type { InputChange, ToolInput, TranscriptEntry } from '@callboard/contract';
import type { Ask, HookInput, RecordedHook } from '../agent/agent-event.ts';
import { describeTool, oneLine } from '../agent/describe-tool.ts';
import { MAX_STRING_LENGTH, truncateStrings } from '../lib/truncate.ts';
import type { SessionRecord } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import type { EventContext } from './event-context.ts';
import { callChanged } from './running-calls.ts';
import { addEntry, type SessionChange } from './session-change.ts';

type Saved = SessionRecord['hookInputs'][number];
type Call = Extract<TranscriptEntry, { kind: 'tool-use' }>;

/** How many are kept until their calls are known. Parallel subagents make several calls at once. */
const MAX = 64;

/** Keeps an input that a hook gave to a call. Which call that is shows in a request for it, or in the record. */
export function hookChangedInput({ change }: EventContext, { change: reported }: { change: HookInput }): void {
  const input = truncateStrings(reported.input, MAX_STRING_LENGTH);
  const saved: Saved = { ...reported, input, conversationId: change.record.sessionId, toolUseId: null };
  change.record = { ...change.record, hookInputs: [...change.record.hookInputs, saved].slice(-MAX) };
}

/** Returns how a hook changed the call that a person is asked about; undefined if none did. */
export async function changeOfAsked({ tx, change }: EventContext, ask: Ask): Promise<InputChange | undefined> {
  const { hookInputs } = change.record;
  if (ask.toolUseId === '') return undefined;
  // Of several hooks, the one that ended last counts (2.1.330).
  const saved = hookInputs.findLast((one) => one.toolUseId === null && isGiven(one, ask));
  if (saved === undefined) return undefined;
  setCall(change, saved, ask.toolUseId);
  const call = await findCall(tx, change, ask.toolUseId);
  return call === null || isPartOf(call.input, ask.input) ? undefined : { hook: null, from: call.input };
}

const isGiven = ({ toolName, input }: Saved, ask: Ask): boolean =>
  toolName === ask.toolName && isPartOf(input, truncateStrings(ask.input, MAX_STRING_LENGTH));

/** Claude Code adds defaults to what it asks about. */
const isPartOf = (part: ToolInput, whole: ToolInput): boolean =>
  Object.entries(part).every(([key, value]) => isDeepStrictEqual(value, whole[key]));

/** A request was withdrawn: a hook that decided about a call of this tool decided about this one, right before. */
export function hookDecided(
  change: SessionChange,
  { toolName, toolUseId }: { toolName: string; toolUseId: string },
): void {
  const saved = change.record.hookInputs.find(
    (one) => one.when === 'deciding' && one.toolUseId === null && one.toolName === toolName,
  );
  if (saved !== undefined && toolUseId !== '') setCall(change, saved, toolUseId);
}

function setCall(change: SessionChange, saved: Saved, toolUseId: string): void {
  const hookInputs = change.record.hookInputs.map((one) => (one === saved ? { ...one, toolUseId } : one));
  change.record = { ...change.record, hookInputs };
}

/**
 * Adds to the transcript what hooks changed, as far as the calls are known.
 * @param isLast whether what is unknown now stays so: then the transcript says that as well
 * @returns whether nothing is left
 */
export async function showHookInputs(
  tx: Tx,
  change: SessionChange,
  { recorded, worktree, isLast }: { recorded: readonly RecordedHook[]; worktree: string | null; isLast: boolean },
): Promise<boolean> {
  const left: Saved[] = [];
  for (const kept of change.record.hookInputs) {
    const shown = new Set(change.record.hookInputsShown);
    const found = recorded.find(
      ({ toolUseId, digest }) =>
        digest === kept.digest &&
        (kept.toolUseId === null || kept.toolUseId === toolUseId) &&
        !shown.has(`${toolUseId} ${digest}`),
    );
    // A hook that decides is in the record without its words.
    const isKnown = found !== undefined || (kept.toolUseId !== null && (kept.when === 'deciding' || isLast));
    if (!isKnown && !isLast) left.push(kept);
    else await showHookInput(tx, change, { kept, found, worktree });
  }
  change.record = { ...change.record, hookInputs: left };
  return left.length === 0;
}

async function showHookInput(
  tx: Tx,
  change: SessionChange,
  { kept, found, worktree }: { kept: Saved; found: RecordedHook | undefined; worktree: string | null },
): Promise<void> {
  const { toolName, input, digest } = kept;
  const toolUseId = found?.toolUseId ?? kept.toolUseId;
  const call = toolUseId === null ? null : await findCall(tx, change, toolUseId);
  const hook = found?.command ?? null;
  const who = hook === null ? 'A hook' : `The hook ${oneLine(hook, MAX_COMMAND_LENGTH)}`;
  const notice = { kind: 'notice', parentToolUseId: call?.parentToolUseId ?? null, level: 'warning' } as const;
  const code = 'input-changed';
  const after = describeTool(toolName, input, worktree);
  if (toolUseId === null) {
    const text = `${who} changed a ${toolName} call to: ${after}. Claude Code’s record does not say which call.`;
    addEntry(change, tx.now, { ...notice, code, text });
    return;
  }
  const hookInputsShown = [...change.record.hookInputsShown, `${toolUseId} ${digest}`].slice(-MAX);
  change.record = { ...change.record, hookInputsShown };
  if (call !== null && isDeepStrictEqual(call.input, input)) return; // it gave back what it got
  callChanged(change, toolUseId, { input, description: after });
  const before = call === null ? '' : ` Claude wrote: ${describeTool(toolName, call.input, worktree)}.`;
  const text = `${who} changed this call to: ${after}.${before}`;
  addEntry(change, tx.now, { ...notice, code, text, changedCall: { toolUseId, input, hook } });
}

const MAX_COMMAND_LENGTH = 160;

async function findCall(tx: Tx, { record, entries }: SessionChange, toolUseId: string): Promise<Call | null> {
  const fresh = entries.findLast((entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId);
  return fresh?.kind === 'tool-use' ? fresh : tx.transcript.findCall(record.stageId, toolUseId);
}
