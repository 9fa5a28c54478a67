import {
  type BoardParts,
  CLAUDE_UNCHECKED,
  NO_LIMITS,
  SANDBOX_UNTRIED,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { type SessionRecord, summaryOf } from '../records.ts';
import type { Tables } from '../store.ts';

/** Reads everything the board shows. Call within one transaction. */
export async function readBoard(all: Tables): Promise<BoardParts> {
  const sessions = new Map((await all.sessions.list()).map((record) => [record.stageId, record]));
  return {
    seq: await all.events.lastSeq(),
    projects: await all.projects.list(),
    stages: (await all.stages.list()).map((stage) => withSession(stage, sessions.get(stage.id) ?? null)),
    pending: await all.requests.listOpen(),
    unsettled: await all.requests.listUnsettled(),
    limits: await all.limits.view(),
    holds: await all.holds.list(),
    ...NO_NOTICES,
  };
}

/** Reads the part of the board behind one stage's card: see `Store.boardOf`. Call within one transaction. */
export async function readBoardOf(all: Tables, stageId: StageId): Promise<BoardParts> {
  const stage = await all.stages.find(stageId);
  const others = await Promise.all((stage?.dependsOn ?? []).map((id) => all.stages.find(id)));
  const session = await all.sessions.find(stageId);
  return {
    seq: await all.events.lastSeq(),
    projects: [],
    stages: [
      ...(stage === null ? [] : [withSession(stage, session)]),
      ...others.flatMap((other) => (other === null ? [] : [withSession(other, null)])),
    ],
    pending: await all.requests.listOpenOf(stageId),
    unsettled: await all.requests.listUnsettledOf(stageId),
    limits: NO_LIMITS,
    holds: await all.holds.list(),
    ...NO_NOTICES,
  };
}

const NO_NOTICES = {
  warnings: [],
  paused: null,
  startHolds: [],
  budgets: [],
  sandbox: SANDBOX_UNTRIED,
  claude: CLAUDE_UNCHECKED,
};

const withSession = (stage: Stage, record: SessionRecord | null): BoardParts['stages'][number] => ({
  ...stage,
  session: record === null ? null : summaryOf(record),
});
