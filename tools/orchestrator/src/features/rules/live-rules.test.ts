import { ProjectId } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { ProtocolError } from '../../lib/errors.ts';
import { createRules, startLiveRules } from './rules.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

const projectId = ProjectId.parse('shop');
const MINUTE_MS = 60_000;

async function setUp() {
  const clock = setClocks();
  const test = await openTestStore(clock.platform);
  const session = await busyTestSession({}, test);
  const [launch] = await test.store.read.launches.listOf(session.stageId);
  if (launch === undefined) throw new Error('no launch');
  clock.jump(1_000);
  /** What the process was told, in order. */
  const told: unknown[] = [];
  let failure: Error | null = null;
  const executor = {
    launch,
    request: ({ settings }: Record<string, unknown>) => {
      told.push((settings as { permissions: unknown }).permissions);
      return failure === null ? Promise.resolve({}) : Promise.reject(failure);
    },
  };
  /** Starts the worker, as after a restart of the orchestrator. */
  const start = () => {
    const live = startLiveRules({ ...test, log: silent, running: () => [executor] });
    onTestFinished(live.stop);
    return live;
  };
  const live = start();
  const rules = createRules({ ...test, settle: live.settle });
  const refuse = (error: Error | null) => {
    failure = error;
  };
  const inAMinute = () => new Date(clock.platform.now().getTime() + MINUTE_MS).toISOString();
  return { ...test, clock, session, told, start, live, rules, refuse, inAMinute, scope: { projectId } };
}

it('gives a rule to a running session, and takes it back when it is removed', async () => {
  const { rules, told, scope, live } = await setUp();
  await live.settle();
  expect(told).toEqual([]);
  const { ruleId } = await rules.add({ rule: 'Bash(npm test)', scope }, 'Ada');
  expect(told).toEqual([{ allow: ['Bash(npm test)'], ask: [] }]);
  await rules.remove(ruleId, 'Ada');
  expect(told.at(-1)).toEqual({ allow: [], ask: ['Bash(npm test)'] });
  await rules.add({ rule: 'Bash(npm test)', scope }, 'Ada');
  expect(told.at(-1)).toEqual({ allow: ['Bash(npm test)'], ask: [] });
});

it('leaves other projects and other stages alone', async () => {
  const { rules, told, addStage } = await setUp();
  await rules.add({ rule: 'Bash(npm test)', scope: { stageId: await addStage() } }, 'Ada');
  expect(told).toEqual([]);
});

it('ends a rule when its end date comes, and tells everybody', async () => {
  const { rules, told, scope, clock, inAMinute, events, store } = await setUp();
  const { ruleId, expiresAt } = await rules.add({ rule: 'Bash(make)', scope, expiresAt: inAMinute() }, 'Ada');
  await clock.pass(MINUTE_MS - 1_000);
  expect(told).toHaveLength(1);
  await clock.pass(2_000);
  await vi.waitFor(() => expect(told.at(-1)).toEqual({ allow: [], ask: ['Bash(make)'] }));
  expect(await store.read.rules.find(ruleId)).toMatchObject({ endedAt: expiresAt, endedBy: null });
  expect(events.at(-1)).toMatchObject({ type: 'rules-updated', data: { rules: [] } });
});

it('tells a session after a restart what it missed, whenever the orchestrator was killed', async () => {
  const { rules, told, scope, clock, inAMinute, live, start } = await setUp();
  await rules.add({ rule: 'Bash(make)', scope, expiresAt: inAMinute() }, 'Ada');
  await live.stop(); // the end date comes while nobody is there
  clock.jump(2 * MINUTE_MS);
  await start().settle();
  expect(told.at(-1)).toEqual({ allow: [], ask: ['Bash(make)'] });
  const before = told.length;
  await start().settle(); // killed after it told, before it could remember that
  expect(told.slice(before)).toEqual([{ allow: [], ask: ['Bash(make)'] }]);
});

it('says so in the transcript where Claude Code refuses, once', async () => {
  const { rules, scope, refuse, session, live } = await setUp();
  refuse(new ProtocolError('refused', 'unknown request'));
  await rules.add({ rule: 'Bash(make)', scope }, 'Ada');
  await live.settle();
  const notices = (await session.transcript()).filter((entry) => entry.kind === 'notice');
  expect(notices).toMatchObject([{ code: 'rules-not-told', level: 'warning' }]);
});

it('tells it again where Claude Code did not answer', async () => {
  const { rules, told, scope, refuse, clock } = await setUp();
  refuse(new Error('no answer in time'));
  await rules.add({ rule: 'Bash(make)', scope }, 'Ada');
  refuse(null);
  const before = told.length;
  await clock.pass(1_000);
  await vi.waitFor(() => expect(told.length).toBeGreaterThan(before));
});
