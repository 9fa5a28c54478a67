import { isDeepStrictEqual } from 'node:util';
import {
  type AskingCommand,
  isCommandTask,
  type LaunchId,
  type NewTranscriptEntry,
  TranscriptEntry,
} from '@callboard/contract';
import { truncateRaw } from '../../lib/text.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';

/**
 * A session while a transaction changes it. All changes of a session go through a `SessionChange`, so the rules about
 * its state, its queue and its events are in one place: `change-session.ts`.
 */
export interface SessionChange {
  readonly before: SessionRecord;
  record: SessionRecord;
  /** Entries to append, with their indices. */
  entries: TranscriptEntry[];
  /** Whether rows of the queue were added, removed or changed. */
  queueChanged: boolean;
  /** Ids of the message rows that were given to the launch. */
  delivered: string[];
}

/** Appends an entry to the transcript. */
export function addEntry(change: SessionChange, at: string, entry: NewTranscriptEntry): void {
  const index = change.record.transcriptLength + 1;
  change.record = { ...change.record, transcriptLength: index };
  change.entries.push(TranscriptEntry.parse({ ...entry, stageId: change.record.stageId, index, at }));
}

export type Notice = Pick<Extract<NewTranscriptEntry, { kind: 'notice' }>, 'level' | 'code' | 'text'>;

/** Appends a notice of Callboard to the transcript. */
export const addNotice = (change: SessionChange, at: string, notice: Notice): void =>
  addEntry(change, at, { kind: 'notice', parentToolUseId: null, ...notice });

/** Appends a line that Callboard does not understand: as received, but shortened. */
export const addRaw = (change: SessionChange, at: string, raw: unknown): void =>
  addEntry(change, at, { kind: 'unknown', parentToolUseId: null, raw: truncateRaw(raw) });

/** A gap that the session keeps, so that its card shows it. */
export const MINIMAL_MODE = 'it runs in its minimal mode, so CLAUDE.md and hooks are left out';

/** The program that a session runs. */
export interface ProgramGaps {
  version: string | null;
  /** The features that it lacks, in short words for people. */
  gaps: readonly string[];
}

/** Stores which features the program of a session lacks, and reports them in the transcript if they are new. */
export function setCliGaps(change: SessionChange, now: string, { version, gaps }: ProgramGaps): void {
  const { cliGaps: known, cliVersion } = change.record;
  change.record = { ...change.record, cliVersion: version, cliGaps: [...gaps] };
  if (gaps.length === 0 || (isDeepStrictEqual(known, gaps) && cliVersion === version)) return;
  const advice = '"claude update" installs a newer one, which this session uses from its next start.';
  reportGaps(change, now, `${gaps.join('; ')}. ${advice}`);
}

/** Adds a gap that was found while the session runs, and reports it in the transcript once. */
export function addCliGap(change: SessionChange, now: string, gap: string): void {
  const { cliGaps } = change.record;
  if (cliGaps.includes(gap)) return;
  change.record = { ...change.record, cliGaps: [...cliGaps, gap] };
  const advice = 'Run "npx callboard doctor" to see what else it lacks, and install another release.';
  reportGaps(change, now, `${gap}. Callboard did not ask for that. ${advice}`);
}

function reportGaps(change: SessionChange, now: string, message: string): void {
  const release = change.record.cliVersion ?? '(version unknown)';
  const text = `Claude Code ${release} lacks features that Callboard relies on: ${message}`;
  addNotice(change, now, { level: 'warning', code: 'cli-gaps', text });
}

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

/** What applying an event of an agent needs. */
export interface EventContext {
  tx: Tx;
  change: SessionChange;
  launchId: LaunchId;
  /** Absolute path of the worktree, to shorten paths that are shown. */
  worktree: string | null;
  /** Stops the process, because an action came from neither a person nor Callboard. */
  onAlarm: () => void;
  /** Whether the store has everything that the process was given; false after a backup was restored. */
  knowsAll: boolean;
  /** Whether hooks that a person agreed to may allow tools: the user's, or the repository's if they chose so. */
  mayHooksAllow: boolean;
  /** Whether Callboard has the process run commands in the sandbox, and whether it does so without asking. */
  sandbox: { isOn: boolean; autoAllows: boolean };
  /** Whether other sessions may send messages to this one: a setting of its project. */
  mayPeersWrite: boolean;
}
