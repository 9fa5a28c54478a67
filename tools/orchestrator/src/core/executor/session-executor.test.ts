import { selfIdentity } from '@callboard/runtime/process-identity';
import { expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { createTestChannel } from '../../../test/support/test-channel.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { createSessionExecutor } from './session-executor.ts';

it('counts unasked output as a sign of life, not replies; only work begins a turn', async () => {
  vi.useFakeTimers({ toFake: [] });
  onTestFinished(() => void vi.useRealTimers());
  const { platform, pass } = setClocks();
  const { store, launchId } = await busyTestSession({}, await openTestStore(platform));
  const launch = await store.read.launches.find(launchId());
  if (launch === null) throw new Error('no launch');
  const { channel, print } = createTestChannel();
  const process = { identity: await selfIdentity(), exited: async () => ({ known: false }) as const };
  const alarm = () => {
    throw new Error('nothing is wrong');
  };
  const lowPriorityWork = { add: () => undefined, recordActivity: () => undefined };
  const executor = createSessionExecutor(
    {
      launch,
      process,
      channel,
      place: {
        worktree: null,
        mayHooksAllow: true,
        isOfEarlierBoot: false,
        readConversation: async () => null,
        readHooks: async () => [],
        readServer: async () => null,
        findHosts: async () => [],
      },
    },
    {
      store,
      platform,
      log: silent,
      lowPriorityWork,
      snapshotBefore: () => undefined,
      misplacement: () => undefined,
      onMisplaced: () => undefined,
      onTextDelta: () => undefined,
      onLiveNow: () => undefined,
      onVersion: alarm,
      onAlarm: alarm,
      onRuleUsed: alarm,
      onHookUsed: alarm,
      onRuleDenied: alarm,
      onCutOff: alarm,
      onUnreadable: alarm,
    },
  );
  onTestFinished(executor.finish);
  await pass(60_000);
  const asked = executor.reply('asked', AbortSignal.timeout(10_000));
  const reply = { subtype: 'success', request_id: 'asked', response: { session_state: 'running' } };
  print(
    { type: 'control_response', response: { ...reply, pending_permission_requests: [] } },
    { type: 'system', subtype: 'background_tasks_changed', tasks: [] },
  );
  await asked;
  expect(executor.lastHeard().silentMs).toBe(60_000);
  print({ type: 'system', subtype: 'status', status: 'requesting' });
  await expect.poll(() => executor.lastHeard().silentMs).toBe(0);
  // After the end of a turn, a line that shows no work does not begin a turn.
  const over = () => executor.lastHeard().isTurnOver;
  const status = { type: 'system', subtype: 'status', status: 'requesting' };
  let heartbeatCount = 0;
  const unlisten = executor.onHeard(() => void heartbeatCount++);
  const result = { type: 'result', subtype: 'success', is_error: false, result: '', num_turns: 1, total_cost_usd: 0 };
  print(result, status);
  await expect.poll(over).toBe(true);
  expect(heartbeatCount).toBeGreaterThan(0);
  unlisten();
  const content = [{ type: 'text', text: 'A task goes on.' }];
  print({ type: 'assistant', message: { id: 'm1', role: 'assistant', content }, parent_tool_use_id: null });
  await expect.poll(over).toBe(false);
});
