/** What a search index in a thread of its own uses; it loads nothing else of the orchestrator. */
export {
  type FoundPage,
  type FoundRow,
  FRACTION_DIGITS_OF_MS,
  pageOf,
  resultOf,
  textOfRow,
  wantedFor,
} from '../store/search/result-pages.ts';
export {
  CHANGES_OF_TEXTS,
  type IndexQuery,
  type Item,
  itemsOfEntries,
  type SearchIndex,
  type SearchTerm,
  textsOfStage,
  wordsOf,
} from '../store/search/search-text.ts';
export {
  openThreadedIndex,
  type SearchAnswer,
  type SearchRequest,
  type ThreadedIndexDeps,
} from '../store/search/threaded-index.ts';
