import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '@callboard/runtime/errors';
import type { SearchAnswer, SearchRequest } from '../../search/search-messages.ts';
import { storageErrorOf } from '../../storage-failure.ts';
import { createConnect, type PgLink } from '../pg-link.ts';
import { createServerHistory } from '../server-history.ts';
import { fillIndex, progressOf } from './fill-index.ts';
import { findInIndex } from './find-in-index.ts';
import { requireIndex } from './index-tables.ts';
import type { IndexThreadData } from './postgres-search-index.ts';

/** The thread of the index, with a connection of its own: folding words would hold up the event loop. */

/** After the server's disk was full, nothing is written for this long. */
const FULL_MS = 15_000;
/** When to look again if another machine is writing. */
const BUSY_MS = 1_000;

const { address, historyFile } = workerData as IndexThreadData; // of the same build
const history = createServerHistory(historyFile === null ? null : { path: historyFile, writer: null });
const connect = createConnect(address, history);
let current: PgLink | null = null;
let full: { until: number; text: string } | null = null;

async function linkToIndex(): Promise<PgLink> {
  if (current !== null && !current.isBroken()) return current;
  const link = await connect();
  try {
    await link.queryAll('set enable_seqscan = off'); // it would read the words of every entry
    await requireIndex(link);
  } catch (error) {
    await link.end();
    throw error;
  }
  current = link;
  return link;
}

async function answer(request: SearchRequest): Promise<SearchAnswer> {
  const begun = performance.now();
  try {
    const link = await linkToIndex();
    const { failure, isBusy } = await catchUp(link, request.forMs);
    const found = request.type === 'search' ? await findInIndex(link, request.query) : null;
    const indexing = await progressOf(link);
    if (found !== null) return { type: 'found', reply: { ...found, indexing }, failure };
    const tookMs = performance.now() - begun;
    return { type: 'worked', indexing, tookMs: isBusy ? BUSY_MS : tookMs, failure };
  } catch (error) {
    return { type: 'failed', failure: failureText(error) };
  }
}

/** What is indexed already can be found also while nothing can be written. */
async function catchUp(link: PgLink, forMs: number): Promise<{ failure: string | null; isBusy: boolean }> {
  if (full !== null && performance.now() < full.until) return { failure: full.text, isBusy: false };
  full = null;
  try {
    return { failure: null, isBusy: await fillIndex(link, forMs) };
  } catch (error) {
    if (link.isBroken()) throw error;
    const text = failureText(error);
    if (storageErrorOf(error)?.isDiskFull) full = { until: performance.now() + FULL_MS, text };
    return { failure: text, isBusy: false };
  }
}

/** It becomes the end of a sentence. */
const failureText = (error: unknown): string => (storageErrorOf(error)?.text ?? messageOf(error)).replace(/\.$/, '');

let last: Promise<void> = Promise.resolve();
parentPort?.on('message', (request: SearchRequest) => {
  last = last.then(async () => parentPort?.postMessage(await answer(request)));
});
