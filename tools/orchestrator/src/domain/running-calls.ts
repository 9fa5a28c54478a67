import { awaitedTasks, type SessionNow, type SessionState, type ToolInput } from '@callboard/contract';
import { oneLine } from '../agent/describe-tool.ts';
import type { SessionRecord } from '../store/records.ts';
import type { SessionChange } from './session-change.ts';

type RunningCall = SessionRecord['running'][number];

/** How many running calls are kept. Parallel subagents make several at once. */
const MAX_CALLS = 64;
const MAX_ACTION_LENGTH = 160;

const COMMANDS: ReadonlySet<string> = new Set(['Bash', 'PowerShell']);
/** Claude Code runs these beside each other; other calls of one message run one after the other. */
const SIDE_BY_SIDE: ReadonlySet<string> = new Set(['Agent', 'Glob', 'Grep', 'Read', 'Task', 'WebFetch', 'WebSearch']);

interface BegunCall {
  toolUseId: string;
  toolName: string;
  input: ToolInput;
  parentToolUseId: string | null;
  /** The call in a few words. */
  description: string;
}

/** Claude has made a tool call. */
export function callBegan(change: SessionChange, now: string, begun: BegunCall): void {
  const { toolUseId, toolName, parentToolUseId } = begun;
  const others = change.record.running.filter((call) => call.toolUseId !== toolUseId);
  const { action, isCommand } = actionOf(begun);
  const call = { toolUseId, parentToolUseId, toolName, action, isCommand, since: now, isAsking: false };
  change.record = { ...change.record, running: [...others, call].slice(-MAX_CALLS) };
}

function actionOf({ toolName, input, description }: Pick<BegunCall, 'toolName' | 'input' | 'description'>) {
  const isCommand = COMMANDS.has(toolName) && typeof input.command === 'string';
  return { isCommand, action: oneLine(isCommand ? String(input.command) : description, MAX_ACTION_LENGTH) };
}

/** A hook has changed a call that runs, or waits to run. */
export function callChanged(
  change: SessionChange,
  toolUseId: string,
  changed: Pick<BegunCall, 'input' | 'description'>,
): void {
  const call = change.record.running.find((one) => one.toolUseId === toolUseId);
  if (call !== undefined) changeCall(change, toolUseId, actionOf({ ...changed, toolName: call.toolName }));
}

/** The result of a call has arrived. What a subagent ran ends with the call that started the subagent. */
export function callEnded(change: SessionChange, toolUseId: string): void {
  const { running } = change.record;
  if (running.length === 0) return;
  const left = running.filter((call) => call.toolUseId !== toolUseId && call.parentToolUseId !== toolUseId);
  change.record = { ...change.record, running: left };
}

/** A person is asked whether a call may run. */
export function callAsks(change: SessionChange, toolUseId: string): void {
  changeCall(change, toolUseId, { isAsking: true });
}

/** The request for a call is answered or closed: from now on it runs, or its result says that it was denied. */
export function callDecided(change: SessionChange, now: string, toolUseId: string): void {
  changeCall(change, toolUseId, { isAsking: false, since: now });
}

function changeCall(change: SessionChange, toolUseId: string, fields: Partial<RunningCall>): void {
  const { running } = change.record;
  if (!running.some((call) => call.toolUseId === toolUseId)) return;
  const changed = running.map((call) => (call.toolUseId === toolUseId ? { ...call, ...fields } : call));
  change.record = { ...change.record, running: changed };
}

/** Returns what a session in this state does at this moment, as far as the store knows; null if it does nothing. */
export function nowOf(record: SessionRecord, state: SessionState, now: string): SessionNow | null {
  if (state === 'idle') return inBackground(record);
  if (state !== 'busy' && state !== 'waiting') return null;
  const { check, review } = record;
  if (review?.state === 'running') return { kind: 'review', since: review.since };
  if (review?.state === 'waiting') return null;
  if (check?.state === 'waiting') return null;
  if (check?.state === 'running')
    return { kind: 'check', command: oneLine(check.command, MAX_ACTION_LENGTH), since: check.since };
  const before = record.now;
  const call = firstRunning(record.running);
  if (call !== undefined) {
    const { toolUseId, action, isCommand, toolName } = call;
    const isShown = before?.kind === 'tool' && before.toolUseId === toolUseId;
    // A call that waited for another one begins when that has ended.
    const waited = before?.kind === 'tool' && !isShown && !SIDE_BY_SIDE.has(toolName);
    const since = isShown && before.since > call.since ? before.since : waited ? now : call.since;
    return { kind: 'tool', toolUseId, action, isCommand, since };
  }
  if (state === 'waiting') return null;
  return before?.kind === 'thinking' ? before : { kind: 'thinking', since: now };
}

/** Returns what runs in the background while Claude rests: the oldest task that the stage waits for, else the oldest. */
function inBackground({ backgroundTasks, stateSince }: SessionRecord): SessionNow | null {
  const [first] = [...awaitedTasks({ backgroundTasks }), ...backgroundTasks];
  if (first === undefined) return null;
  const { taskId, command, description, startedAt } = first;
  const action = oneLine(command ?? description, MAX_ACTION_LENGTH);
  const since = startedAt ?? stateSince;
  return { kind: 'background', taskId, action, isCommand: command !== null, since, others: backgroundTasks.length - 1 };
}

/** Returns the oldest call that runs; of a subagent's calls and the one that started it, the subagent's. */
function firstRunning(running: readonly RunningCall[]): RunningCall | undefined {
  const parents = new Set(running.map(({ parentToolUseId }) => parentToolUseId));
  return running.find(({ toolUseId, isAsking }) => !isAsking && !parents.has(toolUseId));
}
