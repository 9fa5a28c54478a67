import { join } from 'node:path';
import type { SearchIndex } from '../../ports/search-index.ts';
import { openThreadedIndex, type ThreadedIndexDeps } from '../../search/threaded-index.ts';
import type { SearchFiles } from './search-files.ts';

const entry = import.meta.filename.endsWith('.ts') ? 'search-worker.ts' : 'search-worker.js';

/** Keeps the index in a file of its own, written by a thread of its own. */
export const openSqliteSearchIndex = ({
  files,
  ...parts
}: Omit<ThreadedIndexDeps, 'thread'> & { files: SearchFiles }): SearchIndex =>
  openThreadedIndex({ thread: { file: join(import.meta.dirname, entry), data: files }, ...parts });
