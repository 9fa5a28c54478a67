import { orAborted, untilAborted } from '@callboard/runtime/waits';
import type { CommandInput, CommandReply, CommandType } from '../commands.ts';
import { type BoardEvent, TextDelta } from '../events.ts';
import { ReplyFrame } from '../frames.ts';
import type { StageId } from '../ids.ts';
import type { Actor } from '../logins.ts';
import { checkedInput, checkedReply, refused, type StreamItem, type Transport } from './transport.ts';

/** Adds a listener; returns a function that removes it. */
type Listen<T> = (listener: (item: T) => void) => () => void;

export interface InProcessTransportOptions {
  /**
   * Executes a command frame as if it came over the WebSocket, and returns the reply frame. This is the orchestrator's own
   * entry point, with its input checks and error texts.
   */
  execute: (frame: string, watch: (stageIds: readonly StageId[]) => void) => Promise<unknown>;
  /** Reports every event once it is stored. */
  onEvent: Listen<BoardEvent>;
  onTextDelta?: Listen<TextDelta>;
  /** Who gives the commands. */
  actor: Actor;
}

const EVENTS_PER_PAGE = 500;
/** A slow reader loses the oldest deltas beyond this number: the transcript has the whole text in the end. */
const MAX_WAITING_DELTAS = 10_000;
const READY: StreamItem = { type: 'orchestrator-status', data: { status: 'ready' } };

/** Creates a transport inside the orchestrator's process, without sockets; all data are copied as over a real connection. */
export function createInProcessTransport(options: InProcessTransportOptions): Transport {
  const { onEvent, onTextDelta } = options;
  let watched: ReadonlySet<StageId> = new Set();
  const run = createRun(options, (stageIds) => {
    watched = new Set(stageIds);
  });

  async function* events(given: number | undefined, signal: AbortSignal): AsyncGenerator<StreamItem, void> {
    const deltas: TextDelta[] = [];
    let woken = new AbortController();
    // An event only wakes the loop, which reads the log: nothing is lost, and nothing is kept in memory for a slow reader.
    const unlisten = onEvent(() => woken.abort());
    const unlistenDeltas = onTextDelta?.((delta) => {
      if (!watched.has(delta.stageId)) return;
      if (deltas.length >= MAX_WAITING_DELTAS) deltas.shift();
      deltas.push(TextDelta.parse(delta));
      woken.abort();
    });
    try {
      let since = given ?? (await run('get_board', {})).seq;
      yield READY;
      while (!signal.aborted) {
        woken = new AbortController();
        // Before the events: stored text replaces its deltas.
        for (const data of deltas.splice(0)) yield { type: 'text-delta', data };
        const page = await run('get_events', { since, limit: EVENTS_PER_PAGE });
        for (const event of page.events) {
          if (signal.aborted) return;
          since = event.seq;
          yield event;
        }
        if (page.resync) {
          since = (await run('get_board', {})).seq;
          yield { type: 'resync', data: { seq: since } };
        }
        // A page of long events may end before its limit: only an empty page is the end.
        if (page.events.length === 0) await untilAborted(AbortSignal.any([woken.signal, signal]));
      }
    } finally {
      unlisten();
      unlistenDeltas?.();
    }
  }

  return { command: run, events: ({ since }, signal) => events(since, signal) };
}

function createRun({ execute, actor }: InProcessTransportOptions, watch: (stageIds: readonly StageId[]) => void) {
  return async <T extends CommandType>(type: T, given: CommandInput<T>, signal?: AbortSignal) => {
    signal?.throwIfAborted();
    const frame = JSON.stringify({ ...checkedInput(type, given), type, id: 'in-process', actor });
    const answer = await orAborted(execute(frame, watch), signal);
    const reply = ReplyFrame.parse(JSON.parse(JSON.stringify(answer)));
    if (!reply.ok) throw refused(reply.error);
    return checkedReply(type, reply.data) satisfies CommandReply<T>;
  };
}
