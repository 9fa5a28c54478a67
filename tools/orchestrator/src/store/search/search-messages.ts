import type { Indexing, StageId } from '@callboard/contract';
import type { IndexQuery, IndexReply } from '../ports/search-index.ts';

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
