import { setTimeout as sleep } from 'node:timers/promises';
import type { StageId, TranscriptEntry } from '@callboard/contract';
import type { ConversationTail } from '../../claude/conversation-file.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../../store/store.ts';
import type { LowPriorityTask } from '../watch/low-priority-work.ts';
import { firstForged } from './compare-transcript.ts';

export interface TranscriptCheckParts {
  store: Store;
  log: Logger;
  stageId: StageId;
  readConversation: (conversationId: string) => Promise<ConversationTail | null>;
  onForged: () => Promise<void>;
  /** Has something done once the session is quiet, or after that long. */
  whenQuiet: (name: string, work: LowPriorityTask, latestMs: number) => void;
  signal: AbortSignal;
}

/** The CLI writes its record a moment after it has printed, later on a busy machine: what is lacking is looked for again. */
const AGAIN_MS = [10_000, 20_000] as const;
/** The next turn may be a long one: a forgery does not wait for its end. */
const LATEST_MS = 10_000;
/** What a longer turn said before these is not compared. */
const LOOK_BACK = 200;

/**
 * Compares what the transcript shows of each turn that ended well with Claude Code's own record, off the path of the turn.
 * What can be said against it is little (whoever writes the one file can write the other), so it tells of a clumsy forgery.
 */
export function createTranscriptCheck(parts: TranscriptCheckParts): { turnEnded(): void } {
  const { store, log, stageId, signal } = parts;
  let conversation: string | null = null;

  async function check(): Promise<void> {
    const record = await store.read.sessions.find(stageId);
    if (record === null) return;
    const { sessionId, transcriptLength, lastTurn } = record;
    const before = conversation;
    conversation = sessionId;
    // What was cut off is not always written down; what was said before `/clear` stands in another record.
    if (sessionId === null || lastTurn?.outcome !== 'succeeded' || (before !== null && before !== sessionId)) return;
    const compare = () => compareTurn(sessionId, transcriptLength);
    parts.whenQuiet(`transcript to ${transcriptLength}`, compare, LATEST_MS);
  }

  async function compareTurn(sessionId: string, transcriptLength: number): Promise<void> {
    const before = transcriptLength + 1;
    const turn = newestTurn(await store.read.transcript.page(stageId, { after: undefined, before, limit: LOOK_BACK }));
    if (await isOfCommand(turn.flatMap((entry) => (entry.kind === 'user' ? (entry.messageId ?? []) : [])))) return;
    const isForged = async () => {
      const tail = await parts.readConversation(sessionId);
      return tail !== null && firstForged(turn, tail) !== null;
    };
    if (await isForged()) lookAgain(isForged).catch(noted);
  }

  async function lookAgain(isForged: () => Promise<boolean>): Promise<void> {
    for (const delay of AGAIN_MS) {
      await sleep(delay, undefined, { signal, ref: false });
      if (!(await isForged())) return;
    }
    await parts.onForged();
  }

  /** What a command prints is not always written down. */
  async function isOfCommand(messageIds: readonly string[]): Promise<boolean> {
    const { launchId } = (await store.read.sessions.find(stageId)) ?? {};
    if (launchId == null) return true;
    const rows = await Promise.all(messageIds.map((id) => store.read.outbox.findByWireId(launchId, id)));
    return rows.some((row) => row?.body.kind === 'message' && row.body.isCommand);
  }

  function noted(error: unknown): void {
    if (!signal.aborted) log.info({ reason: messageOf(error) }, 'the transcript could not be compared');
  }

  return {
    turnEnded() {
      check().catch(noted);
    },
  };
}

/** What was told between the last two ends of turns: with what came in between, which nobody may have said. */
function newestTurn(entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const isEnd = ({ kind }: TranscriptEntry) => kind === 'turn-end';
  const end = entries.findLastIndex(isEnd);
  return entries.slice(entries.slice(0, Math.max(0, end)).findLastIndex(isEnd) + 1, Math.max(0, end));
}
