import { NOBODY } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  AT,
  sampleDecision,
  sampleEvent,
  sampleProject,
  sampleRequest,
  sampleSession,
  sampleStage,
} from '../test/samples.ts';
import { type BoardParts, type BoardView, boardView, CLAUDE_UNCHECKED, foldBoard } from './board.ts';
import { type BoardEvent, type EventType, eventData, type NewEvent } from './events.ts';
import { StageId } from './ids.ts';
import { NO_LIMITS } from './limits.ts';
import { SANDBOX_UNTRIED } from './sandbox.ts';

const empty: BoardView = {
  seq: 0,
  projects: [],
  stages: [],
  pending: [],
  unsettled: [],
  limits: NO_LIMITS,
  holds: [],
  machines: [],
  warnings: [],
  paused: null,
  startHolds: [],
  budgets: [],
  sandbox: SANDBOX_UNTRIED,
  me: { ...NOBODY, name: 'Ada' },
  claude: CLAUDE_UNCHECKED,
};
const numbered = (event: NewEvent, seq: number): BoardEvent => ({ ...event, seq, at: AT });
const fold = (events: readonly NewEvent[], from = empty): BoardView =>
  events.reduce((view, event, index) => foldBoard(view, numbered(event, from.seq + index + 1)), from);

const created = (id: string, fields: Record<string, unknown> = {}): NewEvent => ({
  type: 'stage-created',
  data: { stageId: StageId.parse(id), stage: sampleStage({ id, ...fields }) },
});
const updated = (id: string, fields: Record<string, unknown> = {}): NewEvent => ({
  type: 'stage-updated',
  data: { stageId: StageId.parse(id), stage: sampleStage({ id, ...fields }) },
});
const session = (stageId: string, fields: Record<string, unknown> = {}): NewEvent => ({
  type: 'session-updated',
  data: sampleSession({ stageId, ...fields }),
});

it('moves the card of a stage as its session goes on', () => {
  const columns = [created('STAGE-1'), session('STAGE-1'), session('STAGE-1', { state: 'failed' })];
  const seen = columns.map((_event, index) => fold(columns.slice(0, index + 1)).stages[0]?.column);
  expect(seen).toEqual(['ready', 'running', 'needs-you']);
});

it('makes a stage ready when its dependency is done', () => {
  const view = fold([created('STAGE-1'), created('STAGE-2', { dependsOn: ['STAGE-1'] })]);
  expect(view.stages.map((stage) => stage.column)).toEqual(['ready', 'backlog']);
  const after = fold([updated('STAGE-1', { completedAt: AT })], view);
  expect(after.stages.map((stage) => stage.column)).toEqual(['done', 'ready']);
});

it('shows a request until it is resolved or its stage is removed', () => {
  const asked: NewEvent = { type: 'approval-requested', data: sampleRequest() };
  const view = fold([created('STAGE-1'), session('STAGE-1'), asked]);
  expect(view.pending).toHaveLength(1);
  expect(view.stages[0]?.column).toBe('needs-you');
  const answered = fold([{ type: 'approval-resolved', data: sampleDecision() }], view);
  expect(answered).toMatchObject({ pending: [], stages: [{ column: 'running' }] });
  expect(fold([sampleEvent('stage-removed')], view)).toMatchObject({ pending: [], stages: [] });
});

it('distinguishes requests with the same id in two stages', () => {
  const both = ['STAGE-1', 'STAGE-2'].map(
    (stageId): NewEvent => ({ type: 'approval-requested', data: sampleRequest({ stageId }) }),
  );
  const view = fold([created('STAGE-1'), created('STAGE-2'), ...both, sampleEvent('approval-resolved')]);
  expect(view.pending.map((request) => request.stageId)).toEqual(['STAGE-2']);
});

it('knows what this person set aside, until it calls again or the request ends', () => {
  const asked: NewEvent = { type: 'approval-requested', data: sampleRequest() };
  const { stageId, requestId } = sampleRequest();
  const aside = (person: string, later: { until: string | null } | null): NewEvent => ({
    type: 'later-updated',
    data: { stageId, requestId, person, later },
  });
  const view = fold([created('STAGE-1'), asked, aside('Bo', { until: null })]);
  expect(view.me.later).toEqual([]);
  const put = fold([aside('Ada', { until: null }), aside('Ada', { until: AT })], view);
  expect(put.me.later).toEqual([{ stageId, requestId, until: AT }]);
  expect(put.pending).toHaveLength(1);
  expect(fold([aside('Ada', null)], put).me.later).toEqual([]);
  for (const type of ['approval-resolved', 'approval-cancelled', 'stage-removed'] as const)
    expect(fold([sampleEvent(type)], put).me.later).toEqual([]);
});

it('follows the setting of this person only', () => {
  const set = (person: string): NewEvent => ({ type: 'person-updated', data: { person, presentation: 'quiet' } });
  expect(fold([set('Bo')]).me.presentation).toBe('overlay');
  expect(fold([set('Ada')]).me.presentation).toBe('quiet');
});

it('keeps the session when its stage changes', () => {
  const view = fold([created('STAGE-1'), session('STAGE-1'), updated('STAGE-1', { title: 'Other' })]);
  expect(view.stages[0]).toMatchObject({ title: 'Other', column: 'running', session: { state: 'busy' } });
});

it('returns the same view for an event that it already contains', () => {
  const view = fold([created('STAGE-1'), session('STAGE-1')]);
  for (const type of Object.keys(eventData) as EventType[]) {
    expect(foldBoard(view, numbered(sampleEvent(type), view.seq))).toBe(view);
  }
});

it('advances seq for every event, even one that the board does not show', () => {
  const view = fold([created('STAGE-1')]);
  for (const type of ['transcript-appended', 'queue-updated', 'message-queued', 'mode-changed'] as const) {
    const after = foldBoard(view, numbered(sampleEvent(type), view.seq + 1));
    expect(after).toEqual({ ...view, seq: view.seq + 1 });
    expect(after.stages).toBe(view.stages);
    expect(after.pending).toBe(view.pending);
  }
});

it('does not mutate its input', () => {
  const view = fold([created('STAGE-1'), created('STAGE-2'), session('STAGE-1')]);
  const copy = structuredClone(view);
  for (const type of Object.keys(eventData) as EventType[]) foldBoard(view, numbered(sampleEvent(type), view.seq + 1));
  expect(view).toEqual(copy);
});

const anyEvent: fc.Arbitrary<NewEvent> = fc.oneof(
  fc.constantFrom('a', 'b').map((id): NewEvent => {
    const project = sampleProject({ id, name: `Project ${id}`, path: `/repos/${id}` });
    return { type: 'project-updated', data: { projectId: project.id, project } };
  }),
  fc
    .constantFrom('a', 'b')
    .map((id): NewEvent => ({ type: 'project-removed', data: { projectId: sampleProject({ id }).id } })),
  fc
    .record({
      id: fc.constantFrom('S1', 'S2', 'S3'),
      isNew: fc.boolean(),
      held: fc.boolean(),
      completedAt: fc.constantFrom(null, AT),
      dependsOn: fc.subarray(['S1', 'S2', 'S3', 'S9']),
    })
    .map(({ id, isNew, ...fields }) => (isNew ? created(id, fields) : updated(id, fields))),
  fc
    .constantFrom('S1', 'S2', 'S3')
    .map((id): NewEvent => ({ type: 'stage-removed', data: { stageId: StageId.parse(id) } })),
  fc
    .record({
      id: fc.constantFrom('S1', 'S2', 'S3'),
      state: fc.constantFrom('starting', 'busy', 'waiting', 'idle', 'ended', 'failed'),
      outcome: fc.constantFrom('succeeded', 'failed', 'interrupted'),
    })
    .map(({ id, state, outcome }) => session(id, { state, lastTurn: { outcome, at: AT, message: null, code: null } })),
  fc
    .record({
      type: fc.constantFrom(
        'approval-requested',
        'question-requested',
        'plan-requested',
        'elicitation-requested',
        'network-requested',
      ),
      stageId: fc.constantFrom('S1', 'S2', 'S3'),
      requestId: fc.constantFrom('r1', 'r2'),
    })
    .map(({ type, ...ids }): NewEvent => ({ type, data: sampleRequest(ids) }) as NewEvent),
  fc
    .record({
      type: fc.constantFrom('approval-cancelled', 'approval-resolved'),
      stageId: fc.constantFrom('S1', 'S2', 'S3'),
      requestId: fc.constantFrom('r1', 'r2'),
    })
    .map(({ type, ...ids }): NewEvent => {
      const data = type === 'approval-resolved' ? sampleDecision(ids) : { ...sampleDecision(ids), reason: 'withdrawn' };
      return { type, data } as NewEvent;
    }),
  fc
    .record({
      stageId: fc.constantFrom('S1', 'S2', 'S3'),
      requestId: fc.constantFrom('r1', 'r2'),
      delivery: fc.constantFrom('written', 'unknown', 'confirmed'),
      settlement: fc.constantFrom(null, { how: 'dismissed', by: 'Ada', at: AT }),
    })
    .map((fields): NewEvent => ({ type: 'decision-updated', data: sampleDecision(fields) })),
  fc.constantFrom('queue-updated', 'transcript-appended', 'holds-updated').map((type) => sampleEvent(type)),
);

/** What the events say, told once more in the plainest way: records by id, in the order in which they came up. */
function describe(events: readonly NewEvent[]): BoardParts {
  const projects = new Map<string, BoardParts['projects'][number]>();
  const stages = new Map<string, BoardParts['stages'][number]>();
  const pending = new Map<string, BoardParts['pending'][number]>();
  const unsettled = new Map<string, BoardParts['unsettled'][number]>();
  let limits = NO_LIMITS;
  let holds: BoardParts['holds'] = [];
  for (const { type, data } of events) {
    if (type === 'limits-updated') limits = data;
    if (type === 'holds-updated') holds = data.holds;
    if (type === 'project-updated') projects.set(data.projectId, data.project);
    if (type === 'project-removed') projects.delete(data.projectId);
    if (type === 'stage-created' || type === 'stage-updated') {
      stages.set(data.stageId, { ...data.stage, session: stages.get(data.stageId)?.session ?? null });
    }
    if (type === 'stage-removed') {
      stages.delete(data.stageId);
      for (const [key, request] of pending) if (request.stageId === data.stageId) pending.delete(key);
      for (const [key, decision] of unsettled) if (decision.stageId === data.stageId) unsettled.delete(key);
    }
    if (type === 'session-updated') {
      const stage = stages.get(data.stageId);
      if (stage !== undefined) stages.set(data.stageId, { ...stage, session: data });
    }
    if (type.endsWith('-requested') && 'requestId' in data && 'input' in data) {
      pending.set(`${data.stageId} ${data.requestId}`, data);
    }
    if (type === 'approval-cancelled' || type === 'approval-resolved') {
      pending.delete(`${data.stageId} ${data.requestId}`);
    }
    if (type === 'decision-updated') {
      const key = `${data.stageId} ${data.requestId}`;
      if (data.delivery === 'unknown' && data.settlement === null) unsettled.set(key, data);
      else unsettled.delete(key);
    }
  }
  return {
    seq: events.length,
    unsettled: [...unsettled.values()],
    projects: [...projects.values()],
    stages: [...stages.values()],
    pending: [...pending.values()],
    limits,
    holds,
    warnings: [],
    paused: null,
    startHolds: [],
    budgets: [],
    sandbox: SANDBOX_UNTRIED,
    claude: CLAUDE_UNCHECKED,
  };
}

it('produces the board that any sequence of events describes', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
      expect(fold(events)).toEqual(boardView({ ...describe(events), me: empty.me }));
    }),
  );
});

it('keeps the identity of unchanged stages, so that only changed cards render again', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), anyEvent, (events, last) => {
      const before = fold(events);
      const after = foldBoard(before, numbered(last, before.seq + 1));
      for (const stage of after.stages) {
        const old = before.stages.find((other) => other.id === stage.id);
        const isSame = old !== undefined && JSON.stringify(old) === JSON.stringify(stage);
        // An update that says nothing new may make a new object; anything else may not.
        const isItsOwn = 'stageId' in last.data && last.data.stageId === stage.id;
        if (isSame && !isItsOwn) expect(stage).toBe(old);
      }
    }),
  );
});

it('is idempotent', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
      const twice = events.flatMap((event, index) => [numbered(event, index + 1), numbered(event, index + 1)]);
      expect(twice.reduce(foldBoard, empty)).toEqual(fold(events));
    }),
  );
});
