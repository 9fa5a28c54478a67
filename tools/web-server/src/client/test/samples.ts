import type { Decision, PendingRequest, SessionSummary, Stage, TranscriptEntry } from '@callboard/contract';
import { sampleRequest, sampleSession, sampleStage } from '@callboard/contract/samples';

export { board } from '@callboard/contract/sample-board';

// Sample data for unit tests: complete values, changed where a test needs it.

const AT = '2026-01-01T10:00:00.000Z';

export const at = (minutes: number): string => new Date(Date.parse(AT) + minutes * 60_000).toISOString();

export const stage = (id: string, change: Record<string, unknown> = {}): Stage =>
  sampleStage({ id, projectId: 'web', title: `Title of ${id}`, createdAt: AT, updatedAt: AT, ...change });

export const session = (stageId: string, change: Record<string, unknown> = {}): SessionSummary =>
  sampleSession({ stageId, launchId: null, stateSince: AT, startedAt: AT, ...change });

export const request = (stageId: string, requestId: string, change: Record<string, unknown> = {}): PendingRequest => {
  const call = { toolUseId: `tool-${requestId}`, input: { command: 'npm i' } };
  return sampleRequest({ stageId, requestId, createdAt: AT, ...call, ...change });
};

export const decision = (of: PendingRequest, change: Partial<Decision> = {}): Decision => ({
  stageId: of.stageId,
  requestId: of.requestId,
  kind: of.kind,
  toolName: of.toolName,
  asked: `${of.toolName} npm i`,
  toolUseId: of.toolUseId,
  outcome: 'allowed',
  by: 'Ada',
  at: AT,
  waitedMs: 252_000,
  reason: null,
  answers: null,
  updatedInput: null,
  delivery: 'confirmed',
  denial: null,
  lost: null,
  settlement: null,
  ...change,
});

type EntryOf<K extends TranscriptEntry['kind']> = Extract<TranscriptEntry, { kind: K }>;

/** A transcript entry of a kind, with an index. */
export const entry = <K extends TranscriptEntry['kind']>(
  index: number,
  kind: K,
  rest: Omit<EntryOf<K>, 'index' | 'kind' | 'stageId' | 'at' | 'parentToolUseId'>,
  parentToolUseId: string | null = null,
): EntryOf<K> =>
  ({ stageId: stage('STAGE-1').id, at: at(index), parentToolUseId, index, kind, ...rest }) as unknown as EntryOf<K>;
