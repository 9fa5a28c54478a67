import { SessionState } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { beginTestSession, type Reported, sampleAsk, type TestSession } from '../../../test/support/test-session.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { changeSession, deriveState } from './change-session.ts';
import { acknowledgeAlarm } from './requests.ts';

const id = fc.constantFrom('r1', 'r2', 'r3', 'm1', 'constructor', '__proto__');
const name = fc.oneof(id, fc.string());
const maybe = fc.option(name);
const kind = fc.constantFrom('approval', 'question', 'plan', 'elicitation');
const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { noNullPrototype: true, maxKeys: 3 });
const ask = fc
  .record({ toolName: name, input: object, agentId: maybe, description: maybe })
  .map((fields) => sampleAsk(fields));
const level = fc.constantFrom('info', 'warning', 'error');
const task = fc.record({ taskId: id, type: fc.constantFrom('local_bash', 'local_agent'), description: fc.string() });

const tokens = fc.record({ input: fc.nat(), output: fc.nat(), cacheRead: fc.nat(), cacheCreation: fc.nat() });

const reported: fc.Arbitrary<Reported> = fc.oneof(
  fc.record({ type: fc.constant('conversation'), sessionId: name }),
  fc.record({
    type: fc.constant('turn-started'),
    model: maybe,
    mode: maybe,
    messageIds: fc.array(id, { maxLength: 3 }),
  }),
  fc.record({ type: fc.constant('mode-changed'), mode: name }),
  fc.record({
    type: fc.constant('message-progress'),
    messageId: id,
    progress: fc.constantFrom('consumed', 'finished', 'cancelled'),
  }),
  fc.record({
    type: fc.constant('block'),
    apiMessageId: name,
    parentToolUseId: maybe,
    block: fc.oneof(
      fc.record({ kind: fc.constantFrom('text', 'thinking'), text: fc.string() }),
      fc.record({ kind: fc.constant('tool-use'), toolUseId: id, toolName: name, input: object }),
      fc.constant({ kind: 'other' } as const),
    ),
  }),
  fc.record({
    type: fc.constant('tool-result'),
    parentToolUseId: maybe,
    toolUseId: id,
    isError: fc.boolean(),
    text: fc.string(),
    allowedBy: fc.constantFrom('hook', null),
  }),
  fc.record({ type: fc.constant('asked'), requestId: id, kind, ask }),
  fc.record({ type: fc.constant('asked-unknown'), requestId: id, subtype: name }),
  fc.record({ type: fc.constant('withdrawn'), requestId: id }),
  fc.record({ type: fc.constant('response'), requestId: id, ok: fc.boolean(), response: object }),
  fc.record({
    type: fc.constant('initialized'),
    unclear: fc.array(
      fc.record({
        requestId: fc.constantFrom('r1', 'odd', null),
        subtype: fc.constant('can_use_tool'),
        raw: fc.jsonValue(),
      }),
      { maxLength: 2 },
    ),
    mode: maybe,
    open: fc.array(fc.record({ requestId: id, kind, ask }), { maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('turn-ended'),
    end: fc.record({
      outcome: fc.constantFrom('succeeded', 'failed', 'interrupted'),
      message: maybe,
      durationMs: fc.option(fc.nat()),
      costUsd: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
      tokens: fc.option(tokens),
    }),
  }),
  fc.record({
    type: fc.constant('cost-count'),
    costUsd: fc.double({ min: 0, max: 100, noNaN: true }),
    tokens: fc.option(tokens),
  }),
  fc.record({ type: fc.constant('used'), tokens }),
  fc.record({ type: fc.constant('task-started'), taskId: id, toolUseId: maybe, description: name, taskType: name }),
  fc.record({ type: fc.constant('tasks'), tasks: fc.array(task, { maxLength: 3 }) }),
  fc.record({
    type: fc.constant('notice'),
    entry: fc.oneof(
      fc.record({ kind: fc.constant('notice'), parentToolUseId: maybe, level, code: name, text: fc.string() }),
      fc.record({ kind: fc.constant('unknown'), parentToolUseId: maybe, raw: fc.jsonValue() }),
    ),
  }),
) as fc.Arbitrary<Reported>;

/** A step in the life of a session: the process prints events, a person writes, the process ends or is started again. */
type Step =
  | { do: 'tell'; told: Reported[] }
  | { do: 'write'; text: string }
  | { do: 'end' | 'begin' | 'read' | 'take-back' };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('tell'), told: fc.array(reported, { maxLength: 5 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write'), text: fc.string({ minLength: 1 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('end', 'begin', 'read', 'take-back') }) },
) as fc.Arbitrary<Step>;

async function carryOut(session: TestSession, { do: what, ...step }: Step, texts: string[]): Promise<void> {
  const { launchId } = await session.record();
  if ('told' in step && launchId !== null) await session.emit(...step.told);
  if ('text' in step) {
    texts.push(step.text);
    await session.enqueue(step.text);
  }
  if (what === 'end' && launchId !== null) await session.end();
  if (what === 'begin' && launchId === null) {
    if ((await session.record()).alarm !== null) await acknowledge(session);
    await session.begin();
  }
  if (what === 'read' || what === 'take-back') {
    const given = (await session.outbox()).find((row) => row.kind === 'message' && row.state === 'accepted');
    if (given === undefined || launchId === null) return;
    const progress = what === 'read' ? 'consumed' : 'cancelled';
    await session.emit({ type: 'message-progress', messageId: given.wireId, progress });
  }
}

const acknowledge = ({ store, stageId }: TestSession) =>
  store.transact((tx) => changeSession(tx, stageId, (change) => acknowledgeAlarm(change, tx.now, 'Ada')));

async function requireSound(session: TestSession): Promise<void> {
  const record = await session.record();
  const pending = await session.pending();
  const queue = await session.queue();
  expect(SessionState.options).toContain(record.state);
  expect(record.state).toBe(deriveState(record, pending.length));
  expect(record.queued).toBe(queue.length);
  expect(record.launchId === null).toBe(record.state === 'ended' || record.state === 'failed');
  // An idle session has nothing to do: no message waits that could be delivered.
  if (record.state === 'idle' && record.alarm === null) expect(queue.length === 0 || record.queueHeld).toBe(true);
  const transcript = await session.transcript();
  expect(transcript.map((entry) => entry.index)).toEqual(transcript.map((_entry, index) => index + 1));
  expect(record.transcriptLength).toBe(transcript.length);
}

it('keeps every session consistent, whatever its process prints and whatever happens to it', async () => {
  const given = await openTestStore();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const session = await beginTestSession({}, given);
      const texts: string[] = ['Do it'];
      for (const next of steps) {
        await carryOut(session, next, texts);
        await requireSound(session);
      }
      await requireNothingLost(session, texts);
    }),
    { numRuns: 60 },
  );
});

/** Requires that every message is in the queue or in the transcript, and there at most once. */
async function requireNothingLost(session: TestSession, written: string[]): Promise<void> {
  const shown = (await session.transcript()).flatMap((entry) => (entry.kind === 'user' ? [entry] : []));
  expect(new Set(shown.map((entry) => entry.messageId)).size).toBe(shown.length);
  const known = new Set([...shown.map((entry) => entry.text), ...(await session.queue()).map((row) => row.text)]);
  for (const text of written) expect(known).toContain(text);
}
