import type { StageId } from '@callboard/contract';
import { selfIdentity } from '@callboard/runtime/process-identity';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../../../../test-support/until.ts';
import { createTestChannel } from '../../../test/support/test-channel.ts';
import { testQueue } from '../../../test/support/test-queue.ts';
import { busyTestSession, turnEnded } from '../../../test/support/test-session.ts';
import { silent, withFields } from '../../../test/support/test-store.ts';
import { createApprovalService } from '../../approvals/approval-service.ts';
import { createBell } from '../../lib/bell.ts';
import type { LaunchRecord, SessionRecord } from '../../store/records.ts';
import type { Store, Tx } from '../../store/store.ts';
import { createSessionExecutor } from './session-executor.ts';

/** An idle session with the services that people's commands reach; the test plays its process. */
async function setUp() {
  const session = await busyTestSession();
  await session.tell(turnEnded());
  const { store, edges, launchId } = session;
  const { channel, print } = createTestChannel();
  /** Everything that happens, in order. */
  const seen: string[] = [];
  const counting: Store = {
    ...store,
    transact: (work, ...options) =>
      store.transact(
        (tx) =>
          work(
            withFields(tx, {
              sessions: { ...tx.sessions, save: (record) => save(tx, record) },
              outbox: { ...tx.outbox, queueOf: (stageId) => readQueue(tx, stageId) },
            }),
          ),
        ...options,
      ),
  };
  /** Counts the transactions that save the session; one that only stores marks, as on a slow machine, does not. */
  function save(tx: Tx, record: SessionRecord): Promise<void> {
    seen.push('session saved');
    return tx.sessions.save(record);
  }
  function readQueue(tx: Tx, stageId: StageId) {
    seen.push('queue read');
    return tx.outbox.queueOf(stageId);
  }
  /** Control requests of Callboard: timers send them, so they are not part of the turn. */
  const questions: string[] = [];
  channel.write = async (line) => {
    const { type } = JSON.parse(line);
    (type === 'control_request' ? questions : seen).push(`line ${type}`);
  };
  const launch = await store.read.launches.find(launchId());
  if (launch === null) throw new Error('no launch');
  const executor = await attach(launch, counting);
  onTestFinished(executor.finish);
  await until('the earlier rows of the launch are written', () => questions.length > 0);
  await executor.marked();
  seen.length = 0;
  const unlisten = store.onEvent(({ type, data }) => {
    // Emitted only on a machine so slow that the mark is stored before the echo arrives.
    if (type !== 'decision-updated' || data.delivery !== 'written') seen.push(type);
  });
  onTestFinished(() => void unlisten());

  async function attach(launch: LaunchRecord, store: Store) {
    const process = { identity: await selfIdentity(), exited: async () => ({ known: false }) as const };
    const place = { worktree: null, mayHooksAllow: true, isOfEarlierBoot: false, readConversation: async () => null };
    const nothing = () => undefined;
    const hints = {
      onTextDelta: nothing,
      onLiveNow: nothing,
      onVersion: nothing,
      onAlarm: nothing,
      onRuleUsed: nothing,
    };
    const others = { onHookUsed: nothing, onRuleDenied: nothing, onCutOff: nothing, onUnreadable: nothing };
    const lowPriorityWork = { add: nothing, stir: nothing };
    const parts = { store, edges, log: silent, lowPriorityWork, outboxBell: createBell<typeof session.stageId>() };
    return createSessionExecutor({ launch, process, channel, place }, { ...parts, ...hints, ...others });
  }

  const parts = { store: counting, edges, outboxBell: createBell<typeof session.stageId>() };
  return {
    ...{ session, print, seen },
    queue: testQueue(session, { store: counting }),
    approvals: createApprovalService({ ...parts, confirmationMs: 10_000 }),
    /** Resolves when the event was emitted, with everything that happened since the last call. */
    async after(type: string): Promise<string[]> {
      await until(type, () => seen.includes(type));
      return seen.splice(0);
    },
  };
}

const call = { id: 'toolu_1', name: 'Bash', input: { command: 'make' } };
const tells = (type: string, fields: object) => ({ type, session_id: 's', ...fields });
const says = (block: object) =>
  tells('assistant', { parent_tool_use_id: null, message: { id: 'msg_1', role: 'assistant', content: [block] } });

it('needs few transactions for a permission turn, and writes each line before it emits the events', async () => {
  const { session, print, queue, approvals, after } = await setUp();
  const { stageId } = session;

  const { messageId } = await queue.send(stageId, { message: 'go', mode: 'append' }, 'Ada');
  expect(await after('session-updated')).toEqual([
    ...['session saved', 'line user'],
    ...['message-queued', 'message-sent', 'transcript-appended', 'queue-updated', 'session-updated'],
  ]);

  print(tells('command_lifecycle', { command_uuid: messageId, state: 'started' }));
  print(tells('system', { subtype: 'init', model: 'opus', permissionMode: 'default' }));
  print(tells('user', { uuid: messageId, isReplay: true, message: { role: 'user', content: 'go' } }));
  print(says({ type: 'tool_use', ...call }));
  expect(await after('session-updated')).toEqual(['session saved', 'transcript-appended', 'session-updated']);
  const [given] = (await session.outbox()).filter(({ wireId }) => wireId === messageId);
  expect(given).toMatchObject({ state: 'confirmed', writtenAt: expect.any(String) });

  const ask = { subtype: 'can_use_tool', tool_name: 'Bash', input: call.input, tool_use_id: call.id };
  print({ type: 'control_request', request_id: 'r1', request: ask });
  expect(await after('session-updated')).toEqual(['session saved', 'approval-requested', 'session-updated']);

  const [request] = await session.pending();
  if (request === undefined) throw new Error('no request is open');
  const body = { requestId: request.requestId, decision: 'allow' } as const;
  const decision = approvals.approve(stageId, body, { name: 'Ada' });
  expect(await after('session-updated')).toEqual([
    ...['session saved', 'line control_response'],
    ...['approval-resolved', 'transcript-appended', 'session-updated'],
  ]);

  const echo = { subtype: 'success', request_id: 'r1', response: { behavior: 'allow' } };
  const result = { type: 'tool_result', tool_use_id: call.id, content: 'made', is_error: false };
  print(
    { type: 'control_response', response: echo },
    tells('user', { parent_tool_use_id: null, message: { role: 'user', content: [result] } }),
  );
  expect(await decision).toMatchObject({ delivery: 'confirmed' });
  // The call has ended, so what the session does has changed: one more event of the same transaction.
  expect(await after('session-updated')).toEqual([
    ...['session saved', 'decision-updated'],
    ...['transcript-appended', 'session-updated'],
  ]);

  print(
    says({ type: 'text', text: 'Done.' }),
    tells('result', { subtype: 'success', is_error: false, user_message_uuids: [messageId] }),
    tells('command_lifecycle', { command_uuid: messageId, state: 'completed' }),
  );
  expect(await after('session-updated')).toEqual([
    ...['queue read', 'session saved'],
    ...['transcript-appended', 'session-updated'],
  ]);
  expect(await session.record()).toMatchObject({ state: 'idle', alarm: null });
});
