import {
  type BoardView,
  boardView,
  type CommandInput,
  type CommandReply,
  type LiveNow,
  type PendingRequest,
  type PermissionRule,
  type ProjectId,
  type SessionSummary,
  type SessionView,
  type StageId,
  type StageView,
  type TranscriptEntry,
} from '@callboard/contract';
import { summaryOf } from '../../store/records.ts';
import { requireProject, requireStage, type Store, unknownStage } from '../../store/store.ts';
import { noSession } from './change-session.ts';
import { queuedMessage } from './message-delivery.ts';

const EVENTS_PAGE = 500;
const TRANSCRIPT_PAGE = 200;
const DECISIONS_PAGE = 200;

/** Reads the store in the shape that clients get. Changes nothing. */
export interface BoardViews {
  /** Returns the whole board, with the notices about the machine. */
  board(): Promise<BoardView>;
  /** Returns one card. @throws Rejection `unknown_stage` */
  stage(stageId: StageId): Promise<StageView>;
  /** Returns a session with its queue and open requests. @throws Rejection `no_session`, `unknown_stage` */
  session(stageId: StageId): Promise<SessionView>;
  /** Returns a page of events. `resync`: some of them have been pruned, or `since` is ahead of the log. */
  events(page: CommandInput<'get_events'>): Promise<CommandReply<'get_events'>>;
  /** Returns a page of a transcript, each decision with its current delivery state. @throws Rejection `unknown_stage` */
  transcript(page: CommandInput<'get_transcript'>): Promise<CommandReply<'get_transcript'>>;
  /** Returns a page of the decision log. */
  decisions(filter: CommandInput<'get_decisions'>): Promise<CommandReply<'get_decisions'>>;
  /** Returns the requests that wait for a person: all, or those of one stage. @throws Rejection `unknown_stage` */
  pending(stageId?: StageId): Promise<PendingRequest[]>;
  /** Returns the rules of the project and of its stages. @throws Rejection `unknown_project` */
  rules(projectId: ProjectId): Promise<PermissionRule[]>;
}

/** Returns what Claude does in a session this moment, if that is finer than the stored `now`. */
type LiveNowOf = (stageId: StageId) => LiveNow | null;

/** Returns the board with what Claude does this moment. */
export const withLiveNow = (board: BoardView, liveNow: LiveNowOf): BoardView => ({
  ...board,
  stages: board.stages.map((stage) => ({ ...stage, session: stage.session && sessionWith(stage.session, liveNow) })),
});

const sessionWith = (session: SessionSummary, liveNow: LiveNowOf): SessionSummary =>
  session.now?.kind === 'thinking' ? { ...session, now: liveNow(session.stageId) ?? session.now } : session;

interface BoardViewsDeps {
  store: Store;
  board: () => Promise<BoardView>;
  liveNow: LiveNowOf;
  /** The instant, as the store writes it. */
  now: () => string;
}

export function createBoardViews({ store, board, liveNow, now }: BoardViewsDeps): BoardViews {
  const { read } = store;

  /** An entry is written when the decision is made, so the progress of its delivery is read from the decision log. */
  async function withCurrentDecision(entry: TranscriptEntry): Promise<TranscriptEntry> {
    if (entry.kind !== 'decision') return entry;
    const now = await read.requests.findDecision(entry.stageId, entry.decision.requestId);
    return { ...entry, decision: now ?? entry.decision };
  }

  return {
    board,
    async stage(stageId) {
      const view = withLiveNow(boardView(await store.boardOf(stageId)), liveNow);
      const stage = view.stages.find((candidate) => candidate.id === stageId);
      if (stage === undefined) throw unknownStage(stageId);
      return stage;
    },
    async session(stageId) {
      const record = await read.sessions.find(stageId);
      if (record === null) throw await noSession(read, stageId);
      const queue = (await read.outbox.queueOf(stageId)).map(queuedMessage);
      return { ...sessionWith(summaryOf(record), liveNow), queue, pending: await read.requests.listOpenOf(stageId) };
    },
    async events({ since, limit = EVENTS_PAGE }) {
      const last = await read.events.lastSeq();
      const events = await read.events.since(since, limit);
      // Numbers have no gaps: a missing next event was pruned, maybe just now. Nothing follows the newest.
      const isWhole = events[0] === undefined ? since === last : events[0].seq === since + 1;
      return isWhole ? { events, resync: false } : { events: [], resync: true };
    },
    async transcript({ stageId, after, before, limit = TRANSCRIPT_PAGE }) {
      await requireStage(read, stageId);
      const page = await read.transcript.page(stageId, { after, before, limit });
      const entries = await Promise.all(page.map(withCurrentDecision));
      return { entries, total: (await read.sessions.find(stageId))?.transcriptLength ?? 0 };
    },
    decisions: ({ limit = DECISIONS_PAGE, ...filter }) => read.requests.decisions({ ...filter, limit }),
    async pending(stageId) {
      if (stageId === undefined) return read.requests.listOpen();
      await requireStage(read, stageId);
      return read.requests.listOpenOf(stageId);
    },
    async rules(projectId) {
      await requireProject(read, projectId);
      return read.rules.listOf(projectId, now());
    },
  };
}
