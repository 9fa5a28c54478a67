import type { Indexing, SearchKind, SearchResult, StageId } from '@callboard/contract';
import type { SearchTerm } from '../search/parse-terms.ts';

/** A search that the index can run. Everything is optional but the terms, which are not empty. */
export interface IndexQuery {
  terms: readonly SearchTerm[];
  /** Null: all stages. */
  stageIds: readonly StageId[] | null;
  kind: SearchKind | undefined;
  by: string | undefined;
  /** Who searches: other people's drafts are not found. */
  person: string;
  since: string | undefined;
  /** The `next` of the page before. */
  before: string | undefined;
  limit: number;
}

export interface IndexReply {
  results: SearchResult[];
  next: string | null;
  /** Null: the index is complete. */
  indexing: Indexing | null;
}

/**
 * Words in titles, prompts, comments and transcripts. It is derived from the store, lags a little behind it, and is built anew if it is
 * lost, damaged, or of an older shape; a search finds what is indexed so far. It never holds up a transaction or the event loop.
 */
export interface SearchIndex {
  /**
   * Titles and prompts first, then the rest, newest first. Stages that were deleted are not in it.
   * @throws OperationalError `search_unavailable`
   */
  search(query: IndexQuery): Promise<IndexReply>;
  /** Ends indexing; what is not indexed yet is found at the next start. */
  stop(): Promise<void>;
}
