import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '@callboard/runtime/errors';
import type { SearchAnswer, SearchRequest } from '../search/threaded-index.ts';
import { isDamage } from '../storage-error.ts';
import {
  createIndexTexts,
  findTexts,
  type IndexTexts,
  openIndex,
  openStoreToRead,
  type Queries,
  removeIndex,
  type SearchFiles,
} from './search-files.ts';

/** The thread of the index: it reads the store and writes the index, so that neither holds up the event loop. */

const files = workerData as SearchFiles; // of the same build
const store = openStoreToRead(files.store);
let opened: { index: Queries; texts: IndexTexts } | null = null;

function answer(request: SearchRequest): SearchAnswer {
  const begun = performance.now();
  const isNew = opened === null;
  opened ??= open();
  const { index, texts } = opened;
  const failure = catchUp(texts, isNew ? { ...request, changed: null } : request);
  const indexing = texts.progress();
  if (request.type === 'work') return { type: 'worked', indexing, tookMs: performance.now() - begun, failure };
  return { type: 'found', reply: { ...findTexts(store, index, request.query), indexing }, failure };
}

function open(): { index: Queries; texts: IndexTexts } {
  const index = openIndex(files.index);
  return { index, texts: createIndexTexts(store, index) };
}

/** What is indexed already can be found also while nothing can be written. */
function catchUp(texts: IndexTexts, { changed, forMs }: SearchRequest): string | null {
  try {
    texts.check(changed);
    if (forMs > 0) texts.work(forMs);
    return null;
  } catch (error) {
    if (isDamage(error)) throw error;
    return messageOf(error);
  }
}

/** A damaged index is thrown away, and a new one begun. */
function answerOrBeginAnew(request: SearchRequest): SearchAnswer {
  try {
    return answer(request);
  } catch (error) {
    if (!isDamage(error)) throw error;
    opened?.index.close();
    opened = null;
    removeIndex(files.index);
    return answer(request);
  }
}

parentPort?.on('message', (request: SearchRequest) => {
  let reply: SearchAnswer;
  try {
    reply = answerOrBeginAnew(request);
  } catch (error) {
    reply = { type: 'failed', failure: messageOf(error) };
  }
  parentPort?.postMessage(reply);
});
