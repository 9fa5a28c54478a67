import { join } from 'node:path';
import type { DatabaseAddress } from '@callboard/runtime/database-url';
import type { SearchIndex } from '../../ports/search-index.ts';
import { openThreadedIndex, type ThreadedIndexDeps } from '../../search/threaded-index.ts';

const entry = import.meta.filename.endsWith('.ts') ? 'shared-search-worker.ts' : 'shared-search-worker.js';

interface IndexPosition {
  address: DatabaseAddress;
  /** As in `PostgresStoreOptions`; the thread reads it only. */
  historyFile?: string | null;
}

/** What the thread is told at its start. */
export type IndexThreadData = Required<IndexPosition>;

/** Keeps the index in tables of the shared store, written by whichever machine comes first, in a thread with a connection of its own. */
export const openPostgresSearchIndex = ({
  address,
  historyFile = null,
  ...parts
}: Omit<ThreadedIndexDeps, 'thread' | 'mayGrow'> & IndexPosition): SearchIndex =>
  openThreadedIndex({
    thread: { file: join(import.meta.dirname, entry), data: { address, historyFile } satisfies IndexThreadData },
    mayGrow: () => true, // the disk is the server's, which says so when it is full
    ...parts,
  });
