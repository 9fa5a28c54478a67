import type { BoardView, CommandInput, CommandReply, StageId } from '@callboard/contract';
import { parseTerms, type SearchIndex } from '../../store/search/search-text.ts';
import { requireProject, type Store } from '../../store/store.ts';

const RESULTS = 20;

export interface SearchViews {
  /**
   * Finds what a person asks for; nothing for a query without letters and digits.
   * @throws Rejection `unknown_project`; OperationalError `search_unavailable`
   */
  search(query: CommandInput<'search'>, person: string): Promise<CommandReply<'search'>>;
}

interface SearchViewsDeps {
  store: Pick<Store, 'read'>;
  searchIndex: Pick<SearchIndex, 'search'>;
  board: () => Promise<BoardView>;
}

export function createSearchViews({ store, searchIndex, board }: SearchViewsDeps): SearchViews {
  /** The columns are derived, so the board says which stages stand there. Null: all. */
  async function stagesOf({ stageId, projectId, column }: CommandInput<'search'>): Promise<StageId[] | null> {
    if (projectId !== undefined) await requireProject(store.read, projectId);
    if (stageId === undefined && projectId === undefined && column === undefined) return null;
    const { stages } = await board();
    return stages
      .filter((stage) => stageId === undefined || stage.id === stageId)
      .filter((stage) => projectId === undefined || stage.projectId === projectId)
      .filter((stage) => column === undefined || stage.column === column)
      .map(({ id }) => id);
  }

  return {
    async search(query, person) {
      const stageIds = await stagesOf(query);
      const terms = parseTerms(query.q);
      if (terms.length === 0 || stageIds?.length === 0) return { results: [], next: null, indexing: null };
      const { kind, by, since, before, limit = RESULTS } = query;
      return searchIndex.search({ terms, stageIds, kind, by, person, since, before, limit });
    },
  };
}
