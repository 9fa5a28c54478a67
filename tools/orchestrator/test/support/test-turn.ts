import type { StageId } from '@callboard/contract';
import { selfIdentity } from '@callboard/runtime/process-identity';
import { onTestFinished } from 'vitest';
import { until } from '../../../../test-support/until.ts';
import { createSessionExecutor } from '../../src/core/executor/session-executor.ts';
import { createApprovalService } from '../../src/features/approvals/approvals.ts';
import type { LaunchRecord, SessionRecord } from '../../src/store/records.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import { createTestChannel } from './test-channel.ts';
import { testQueue } from './test-queue.ts';
import { busyTestSession, turnEnded } from './test-session.ts';
import { silent, type TestStore, withFields } from './test-store.ts';

/** The played process keeps no record of its conversation. */
const NO_RECORD = {
  readConversation: async () => null,
  readHooks: async () => [],
  readServer: async () => null,
  findHosts: async () => [],
};

/** An idle session with the services that people's commands reach; the test plays its process. */
export async function openTestTurn(given?: TestStore) {
  const session = await busyTestSession({}, given);
  await session.emit(turnEnded());
  const { store, platform, launchId } = session;
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
    const place = { worktree: null, mayHooksAllow: true, isOfEarlierBoot: false, ...NO_RECORD };
    const nothing = () => undefined;
    const hints = {
      onTextDelta: nothing,
      onLiveNow: nothing,
      onVersion: nothing,
      onAlarm: nothing,
      onRuleUsed: nothing,
    };
    const others = {
      onHookUsed: nothing,
      onRuleDenied: nothing,
      onCutOff: nothing,
      onUnreadable: nothing,
      onMisplaced: nothing,
    };
    const lowPriorityWork = { add: nothing, recordActivity: nothing };
    const deps = {
      store,
      platform,
      log: silent,
      lowPriorityWork,
      snapshotBefore: nothing,
      misplacement: nothing,
    };
    return createSessionExecutor({ launch, process, channel, place }, { ...deps, ...hints, ...others });
  }

  const deps = { store: counting, platform };
  return {
    session,
    print,
    seen,
    marked: executor.marked,
    queue: testQueue(session, { store: counting }),
    approvals: createApprovalService({ ...deps, confirmationMs: 10_000 }),
    /** Resolves when the event was emitted, with everything that happened since the last call. */
    async after(type: string): Promise<string[]> {
      await until(type, () => seen.includes(type));
      return seen.splice(0);
    },
  };
}

/** The call that is asked about. */
export const call = { id: 'toolu_1', name: 'Bash', input: { command: 'make' } };
export const notifies = (type: string, fields: object) => ({ type, session_id: 's', ...fields });
export const says = (block: object) =>
  notifies('assistant', { parent_tool_use_id: null, message: { id: 'msg_1', role: 'assistant', content: [block] } });
