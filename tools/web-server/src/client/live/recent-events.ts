import { type BoardEvent, type BoardView, type Decision, foldBoard } from '@callboard/contract';

const KEPT = 500;

export interface RecentEvents {
  add(event: BoardEvent): void;
  /** How far the answers to a stage's requests got; news of an entry may come before the entry. */
  decisions(stageId: string): Decision[];
  /** After events were lost: what came before says nothing about the view that is loaded next. */
  clear(): void;
  /** The view with the events that came while it was being loaded. */
  catchUp(view: BoardView): BoardView;
}

export function recentEvents(): RecentEvents {
  let events: BoardEvent[] = [];
  return {
    add(event) {
      events = [...events.slice(-KEPT + 1), event];
    },
    decisions: (stageId) =>
      events.flatMap((event) =>
        event.type === 'decision-updated' && event.data.stageId === stageId ? [event.data] : [],
      ),
    clear() {
      events = [];
    },
    catchUp(view) {
      const later = events.filter((event) => event.seq > view.seq).sort((a, b) => a.seq - b.seq);
      // An event may be there twice, when the stream changed hands; the fold takes it once.
      return later.reduce((folded, event) => (event.seq <= folded.seq + 1 ? foldBoard(folded, event) : folded), view);
    },
  };
}
