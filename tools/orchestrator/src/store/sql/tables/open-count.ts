import type { RequestId, StageId } from '@callboard/contract';
import type { RowCaches } from '../known-rows.ts';

interface Seen {
  stageId: StageId;
  requestId: RequestId;
  isOpen: boolean;
}

/** Keeps the numbers of open requests true while requests are asked and decided, so that they need not be counted again. */
export function createOpenCount(caches: RowCaches['openRequests']) {
  let seen: Seen | null = null; // the last one that was read: it is what is decided next

  return {
    saw(request: Seen): void {
      seen = request;
    },
    opened(stageId: StageId, added: number): void {
      const before = caches.find(stageId);
      if (before !== undefined) caches.save(stageId, before + added);
    },
    /** Call before the decision is stored. One that was decided before was not open. */
    decided({ stageId, requestId }: Pick<Seen, 'stageId' | 'requestId'>): void {
      const before = caches.find(stageId);
      const isSeen = seen?.stageId === stageId && seen.requestId === requestId;
      if (before === undefined || !isSeen) caches.forget(stageId);
      else caches.save(stageId, before - (seen?.isOpen ? 1 : 0));
      if (isSeen) seen = { stageId, requestId, isOpen: false };
    },
  };
}
