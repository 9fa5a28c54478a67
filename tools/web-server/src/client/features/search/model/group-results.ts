import type { SearchResult, StageId } from '@callboard/contract';

export interface ResultGroup {
  stageId: StageId;
  results: SearchResult[];
}

/** Puts results of one stage that follow each other under one heading. Their order stays, so more of them move nothing. */
export function groupResults(results: readonly SearchResult[]): ResultGroup[] {
  const groups: ResultGroup[] = [];
  for (const result of results) {
    const last = groups.at(-1);
    if (last?.stageId === result.stageId) last.results.push(result);
    else groups.push({ stageId: result.stageId, results: [result] });
  }
  return groups;
}
