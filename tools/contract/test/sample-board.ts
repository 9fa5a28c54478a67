import {
  boardView,
  CLAUDE_UNCHECKED,
  type Decision,
  NO_LIMITS,
  type PendingRequest,
  SANDBOX_UNTRIED,
  type SessionSummary,
  type Stage,
} from '../src/index.ts';
import { AT, sampleRequest, sampleSession, sampleStage } from './samples.ts';

// Boards for tests: stages with their sessions, what they ask, and answers of unknown delivery.

export const at = (minutes: number): string => new Date(Date.parse(AT) + minutes * 60_000).toISOString();
export const stage = (id: string, fields: Record<string, unknown> = {}): Stage => sampleStage({ id, ...fields });
export const session = (stageId: string, fields: Record<string, unknown> = {}): SessionSummary =>
  sampleSession({ stageId, ...fields });
export const request = (stageId: string, requestId: string): PendingRequest => sampleRequest({ stageId, requestId });

/** A stage between turns: its newest one ended this way, `minute` minutes after the beginning. */
export const idle = (id: string, outcome: string, fields: Record<string, unknown> = {}, minute = 0) => ({
  stage: stage(id),
  session: session(id, { state: 'idle', lastTurn: { outcome, at: at(minute), message: null, code: null }, ...fields }),
});

interface SampleBoard {
  seq?: number;
  stages: { stage: Stage; session?: SessionSummary }[];
  pending?: PendingRequest[];
  unsettled?: Decision[];
}

export const board = ({ seq = 1, stages, pending = [], unsettled = [] }: SampleBoard) =>
  boardView({
    seq,
    projects: [],
    pending,
    unsettled,
    warnings: [],
    paused: null,
    sandbox: SANDBOX_UNTRIED,
    claude: CLAUDE_UNCHECKED,
    limits: NO_LIMITS,
    holds: [],
    startHolds: [],
    budgets: [],
    stages: stages.map(({ stage, session = null }) => ({ ...stage, session })),
  });
