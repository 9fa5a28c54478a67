import { join } from 'node:path';
import type { DatabaseAddress } from '@callboard/runtime/database-url';
import type { SearchIndex } from '../../ports/search-index.ts';
import { openThreadedIndex, type ThreadedIndexParts } from '../../search/threaded-index.ts';

const entry = import.meta.filename.endsWith('.ts') ? 'shared-search-worker.ts' : 'shared-search-worker.js';

/** Keeps the index in tables of the shared store, written by whichever machine comes first, in a thread with a connection of its own. */
export const openPostgresSearchIndex = ({
  address,
  ...parts
}: Omit<ThreadedIndexParts, 'thread' | 'mayGrow'> & { address: DatabaseAddress }): SearchIndex =>
  openThreadedIndex({
    thread: { file: join(import.meta.dirname, entry), data: address },
    mayGrow: () => true, // the disk is the server's, which says so when it is full
    ...parts,
  });
