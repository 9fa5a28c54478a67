import { Worker } from 'node:worker_threads';
import type { Indexing, StageId } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { OperationalError } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import { onEvents, type Store } from '../store.ts';
import { CHANGES_OF_TEXTS, type IndexQuery, type IndexReply, type SearchIndex } from './search-text.ts';

export interface ThreadedIndexDeps {
  thread: IndexThread;
  store: Pick<Store, 'onEvent'>;
  log: Logger;
  /** Whether the disk has room for an index. */
  mayGrow: () => boolean;
  /** How long a change waits for others before it is indexed. */
  waitMs: number;
  /** How long after the opening what the index lacks is added: a start has better things to do. */
  firstMs: number;
}

/** What the thread runs. Its data are what `workerData` gives there. */
export interface IndexThread {
  file: string;
  data: unknown;
}

/** How long one request may index. */
const STEP_MS = 50;
/** How long a search waits for what was said just now. */
const CATCH_UP_MS = 100;
/** After a failure, and while the disk is full. */
const RETRY_MS = 15_000;
/** How long an idle thread stays, which takes 10 MB. A later request starts another one in a tenth of a second. */
const IDLE_MS = 60_000;

/**
 * Keeps an index in a thread of its own, which answers `SearchRequest`s. The thread reads the store beside its writer, so the loop only
 * collects the names of stages that have changed.
 */
export function openThreadedIndex({
  thread: what,
  store,
  log,
  mayGrow,
  waitMs,
  firstMs,
}: ThreadedIndexDeps): SearchIndex {
  const thread = createThread(what);
  let changed: Set<StageId> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let step: Promise<void> | undefined;
  let isFirst = true;
  let isStopped = false;

  function takeChanged(): StageId[] | null {
    const taken = changed === null ? null : [...changed];
    changed = new Set();
    return taken;
  }

  function due(ms: number): void {
    if (isStopped || step !== undefined) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      step = work().then((restMs) => {
        step = undefined;
        if (restMs !== null) due(restMs);
        else if (changed === null || changed.size > 0) due(waitMs);
      });
    }, ms).unref();
  }

  /** Resolves with when to go on; null if nothing is left. */
  async function work(): Promise<number | null> {
    if (!mayGrow()) return RETRY_MS;
    const answer = await thread.ask({ type: 'work', changed: takeChanged(), forMs: STEP_MS });
    if (isStopped) return null;
    if (answer.type !== 'worked' || answer.failure !== null) return failed(answer.failure ?? answer.type);
    if (answer.indexing !== null) return answer.tookMs; // half of one processor, for the others' sake
    if (isFirst) await thread.stopIfIdle(); // a start that finds all indexed leaves nothing behind
    isFirst = false;
    return null;
  }

  function failed(reason: string): number {
    log.warn({ reason }, 'search index not updated; retrying');
    changed = null;
    return RETRY_MS;
  }

  const unlisten = onEvents(store, CHANGES_OF_TEXTS, ({ data }) => {
    changed?.add(data.stageId);
    due(waitMs);
  });
  due(firstMs);

  return {
    async search(query) {
      const forMs = mayGrow() ? CATCH_UP_MS : 0;
      const answer = await thread.ask({ type: 'search', changed: takeChanged(), forMs, query });
      if (answer.failure !== null) failed(answer.failure);
      if (answer.type !== 'found')
        throw new OperationalError('search_unavailable', `Search is not working right now: ${answer.failure}.`);
      if (answer.reply.indexing !== null) due(waitMs);
      return answer.reply;
    },
    async stop() {
      isStopped = true;
      unlisten();
      clearTimeout(timer);
      await thread.stop();
    },
  };
}

/** The thread. It starts at a request, and ends when it has been idle for a while. */
function createThread({ file, data }: IndexThread) {
  let current: { worker: Worker; waiting: ((answer: SearchAnswer) => void)[] } | null = null;
  let idle: NodeJS.Timeout | undefined;

  function begin(): NonNullable<typeof current> {
    const worker = new Worker(file, {
      workerData: data,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 },
    });
    const begun = { worker, waiting: [] as ((answer: SearchAnswer) => void)[] };
    const end = (failure: string) => {
      if (current === begun) current = null;
      for (const notify of begun.waiting.splice(0)) notify({ type: 'failed', failure });
    };
    worker.on('message', (answer: SearchAnswer) => {
      begun.waiting.shift()?.(answer);
      clearTimeout(idle);
      idle = setTimeout(() => void stopIfIdle(), IDLE_MS).unref();
    });
    worker.on('error', (error) => end(messageOf(error)));
    worker.on('exit', () => end('its thread has ended'));
    worker.unref();
    return begun;
  }

  async function stopIfIdle(): Promise<void> {
    if (current === null || current.waiting.length > 0) return;
    const { worker } = current;
    current = null; // a request from now on gets another one
    await worker.terminate();
  }

  return {
    stopIfIdle,
    /** Answers come in the order of the requests. */
    ask(request: SearchRequest): Promise<SearchAnswer> {
      current ??= begin();
      const { worker, waiting } = current;
      return new Promise((resolve) => {
        waiting.push(resolve);
        worker.postMessage(request);
      });
    },
    async stop(): Promise<void> {
      clearTimeout(idle);
      await current?.worker.terminate();
    },
  };
}

interface CatchUp {
  /** Stages that have changed since the last request; null: perhaps any. */
  changed: readonly StageId[] | null;
  /** About how long it may index before it answers. */
  forMs: number;
}

export type SearchRequest = CatchUp & ({ type: 'work' } | { type: 'search'; query: IndexQuery });

/** Its answer to each request, in order. `failure`: why it could not index, in words; it then looks at every stage again. */
export type SearchAnswer =
  | { type: 'worked'; indexing: Indexing | null; tookMs: number; failure: string | null }
  | { type: 'found'; reply: IndexReply; failure: string | null }
  | { type: 'failed'; failure: string };
