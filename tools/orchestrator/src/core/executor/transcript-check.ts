import { setTimeout as sleep } from 'node:timers/promises';
import type { StageId, TranscriptEntry } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { Logger } from '../../platform/runtime.ts';
import type { Store } from '../../store/store.ts';
import type { ConversationTail } from '../claude/conversation-file.ts';
import type { LowPriorityTask } from './low-priority-work.ts';

export interface TranscriptCheckDeps {
  store: Store;
  log: Logger;
  stageId: StageId;
  readConversation: (conversationId: string) => Promise<ConversationTail | null>;
  onForged: () => Promise<void>;
  /** Runs work once the session is quiet, or after `latestMs`. */
  whenQuiet: (name: string, work: LowPriorityTask, latestMs: number) => void;
  signal: AbortSignal;
}

/** The CLI writes its record a moment after it prints, later on a busy machine, so missing entries are looked for again. */
const AGAIN_MS = [10_000, 20_000] as const;
/** A check does not wait for the end of a long next turn. */
const LATEST_MS = 10_000;
/** Entries of a turn before the newest ones are not compared. */
const LOOKBACK = 200;

/**
 * Compares the transcript of each turn that succeeded with Claude Code's own record, after the turn. It detects only clumsy
 * forgeries, because whoever can write the one file can write the other.
 */
export function createTranscriptCheck(parts: TranscriptCheckDeps): { turnEnded(): void } {
  const { store, log, stageId, signal } = parts;
  let conversation: string | null = null;

  async function check(): Promise<void> {
    const record = await store.read.sessions.find(stageId);
    if (record === null) return;
    const { sessionId, transcriptLength, lastTurn } = record;
    const before = conversation;
    conversation = sessionId;
    // The CLI does not always record an interrupted turn; entries before `/clear` are in another record.
    if (sessionId === null || lastTurn?.outcome !== 'succeeded' || (before !== null && before !== sessionId)) return;
    const compare = () => compareTurn(sessionId, transcriptLength);
    parts.whenQuiet(`transcript to ${transcriptLength}`, compare, LATEST_MS);
  }

  async function compareTurn(sessionId: string, transcriptLength: number): Promise<void> {
    const before = transcriptLength + 1;
    const turn = newestTurn(await store.read.transcript.page(stageId, { after: undefined, before, limit: LOOKBACK }));
    if (await isOfCommand(turn.flatMap((entry) => (entry.kind === 'user' ? (entry.messageId ?? []) : [])))) return;
    const isForged = async () => {
      const tail = await parts.readConversation(sessionId);
      return tail !== null && firstForged(turn, tail) !== null;
    };
    if (await isForged()) checkAgain(isForged).catch(noted);
  }

  async function checkAgain(isForged: () => Promise<boolean>): Promise<void> {
    for (const delay of AGAIN_MS) {
      await sleep(delay, undefined, { signal, ref: false });
      if (!(await isForged())) return;
    }
    await parts.onForged();
  }

  /** The CLI does not always record the output of a command. */
  async function isOfCommand(messageIds: readonly string[]): Promise<boolean> {
    const { launchId } = (await store.read.sessions.find(stageId)) ?? {};
    if (launchId == null) return true;
    const rows = await Promise.all(messageIds.map((id) => store.read.outbox.findByWireId(launchId, id)));
    return rows.some((row) => row?.body.kind === 'message' && row.body.isCommand);
  }

  function noted(error: unknown): void {
    if (!signal.aborted) log.info({ reason: messageOf(error) }, 'comparing the transcript failed');
  }

  return {
    turnEnded() {
      check().catch(noted);
    },
  };
}

/** Returns the entries between the last two ends of turns, including any that may be forged. */
function newestTurn(entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const isEnd = ({ kind }: TranscriptEntry) => kind === 'turn-end';
  const end = entries.findLastIndex(isEnd);
  return entries.slice(entries.slice(0, Math.max(0, end)).findLastIndex(isEnd) + 1, Math.max(0, end));
}

/**
 * Returns the first entry that the transcript shows as Claude's and that is missing in Claude Code's record; null if there
 * is none, or if no entry is found: then the record has a form that Callboard does not understand.
 */
export function firstForged(entries: readonly TranscriptEntry[], tail: ConversationTail): TranscriptEntry | null {
  const said = entries.filter((entry) => isOwn(entry));
  const firstFound = said.findIndex((entry) => isFound(entry, tail));
  if (firstFound === -1) return null;
  return said.slice(tail.isWhole ? 0 : firstFound).find((entry) => !isFound(entry, tail)) ?? null;
}

/** Whether it belongs to the main conversation; subagents have records of their own. */
const isOwn = ({ kind, parentToolUseId }: TranscriptEntry): boolean =>
  parentToolUseId === null && (kind === 'text' || kind === 'tool-use');

function isFound(entry: TranscriptEntry, { texts, toolUseIds }: ConversationTail): boolean {
  if (entry.kind === 'tool-use') return toolUseIds.has(entry.toolUseId);
  if (entry.kind !== 'text') return true;
  const known = texts.get(entry.blockId.slice(0, entry.blockId.lastIndexOf(':')));
  if (known === undefined) return false;
  // A long text is kept shortened.
  return entry.text.length > LONG || known.has(entry.text);
}

const LONG = 1_000_000;
