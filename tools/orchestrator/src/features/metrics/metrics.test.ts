import { boardView, CLAUDE_UNCHECKED, SANDBOX_UNTRIED } from '@callboard/contract';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { parseMetrics, sampleValue } from '../../../../../test-support/prometheus.ts';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { allow } from '../../../test/support/test-answers.ts';
import { asked, busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { createMetrics } from './metrics.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const MINUTE_MS = 60_000;

/** A board with one session that works, and its metrics. */
async function setUp() {
  const clocks = setClocks();
  const opened = await openTestStore(clocks.platform);
  const loopDelay = () => ({ p50Ms: 0.5, p99Ms: 20, maxMs: 100 });
  const metrics = createMetrics({ platform: clocks.platform, loopDelay, version: '1.2.3' });
  const test = { ...opened, store: metrics.timed(opened.store) };
  onTestFinished(metrics.watch(test.store));
  const session = await busyTestSession({}, test);
  const notices = { warnings: [], paused: null, sandbox: SANDBOX_UNTRIED, claude: CLAUDE_UNCHECKED };
  const scrape = async () => parseMetrics(await metrics.text(boardView({ ...(await test.store.board()), ...notices })));
  return { ...clocks, ...test, metrics, session, scrape };
}

it('tells sessions, stages and the age of the oldest request', async () => {
  const { session, scrape, pass } = await setUp();
  const before = await scrape();
  expect(sampleValue(before, 'callboard_oldest_pending_request_age_seconds')).toBe(0);
  expect(sampleValue(before, 'callboard_sessions', { state: 'busy' })).toBe(1);
  await session.emit(asked('r1'));
  await pass(5 * MINUTE_MS);
  await session.emit(asked('r2'));
  const after = await scrape();
  expect(sampleValue(after, 'callboard_pending_requests', { kind: 'approval' })).toBe(2);
  expect(sampleValue(after, 'callboard_pending_requests', { kind: 'question' })).toBe(0);
  expect(sampleValue(after, 'callboard_oldest_pending_request_age_seconds')).toBeCloseTo(300, 0);
  expect(sampleValue(after, 'callboard_sessions', { state: 'waiting' })).toBe(1);
  expect(sampleValue(after, 'callboard_stages', { column: 'needs-you' })).toBe(1);
  expect(sampleValue(after, 'callboard_stages', { column: 'done' })).toBe(0);
  expect(sampleValue(after, 'callboard_build_info', { version: '1.2.3' })).toBe(1);
  expect(sampleValue(after, 'callboard_orchestrator_event_loop_delay_seconds', { stat: 'p99' })).toBe(0.02);
});

it('counts how long Claude waited for people, how long the store took, and what became of processes', async () => {
  const { session, scrape, pass, metrics } = await setUp();
  await session.emit(asked('r1'));
  await pass(2 * MINUTE_MS);
  await allow(session);
  for (const updates of ['died', 'died', 're-attached'] as const) metrics.countLaunch(updates);
  const samples = await scrape();
  const ofApprovals = { kind: 'approval' };
  expect(sampleValue(samples, 'callboard_answer_latency_seconds_count', ofApprovals)).toBe(1);
  expect(sampleValue(samples, 'callboard_answer_latency_seconds_bucket', { ...ofApprovals, le: '60' })).toBe(0);
  expect(sampleValue(samples, 'callboard_answer_latency_seconds_bucket', { ...ofApprovals, le: '300' })).toBe(1);
  expect(sampleValue(samples, 'callboard_launches_ended_total', { how: 'died' })).toBe(2);
  expect(sampleValue(samples, 'callboard_launches_ended_total', { how: 'stopped' })).toBe(0);
  expect(sampleValue(samples, 'callboard_launches_reattached_total')).toBe(1);
  expect(sampleValue(samples, 'callboard_store_transaction_seconds_count')).toBeGreaterThan(2);
});

it('does not count a request that nobody answered', async () => {
  const { session, scrape } = await setUp();
  await session.emit(asked('r1'));
  await session.emit({ type: 'withdrawn', requestId: 'r1' });
  expect(sampleValue(await scrape(), 'callboard_answer_latency_seconds_count', { kind: 'approval' })).toBe(0);
});
