import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../../../test-support/postgres.ts';
import { until } from '../../../../../test-support/until.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { call, openTestTurn, says, tells } from '../../../test/support/test-turn.ts';

/** What other connections ask: reads outside of transactions, and looks for news. */
const OTHERS = /^(select "commit"|begin isolation|commit$|listen|show)/;

/** Returns a function that returns the write transactions since its last call, each as what it asked, one text a round trip. */
function followTransactions() {
  let transactions: string[][] = [];
  let running: string[] = [];
  const hear = (mark: unknown) => {
    if (typeof mark !== 'object' || mark === null || !('step' in mark) || !('of' in mark)) return;
    const { step, of } = mark;
    if (step === 'database asked' && typeof of === 'string' && !OTHERS.test(of)) {
      if (of.startsWith('begin;')) running = [];
      running.push(of);
    }
    if (step === 'committed') transactions.push(running);
  };
  subscribe('callboard:turn', hear);
  onTestFinished(() => void unsubscribe('callboard:turn', hear));
  return () => {
    const since = transactions;
    transactions = [];
    return since;
  };
}

it.skipIf(postgresLack !== '')(
  `a permission turn needs no more round trips than counted here${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const { session, print, queue, approvals, marked, after } = await openTestTurn(
      await openTestStore(undefined, 'PostgreSQL'),
    );
    const { stageId } = session;
    const since = followTransactions();
    /** The round trips of the one transaction that has asked this. */
    const tripsOf = (asked: string): number => {
      const found = since().filter((texts) => texts.some((text) => text.startsWith(asked)));
      expect(found).toHaveLength(1);
      return found.flat().length;
    };

    const { messageId } = await queue.send(stageId, { message: 'go', mode: 'append' }, 'Ada');
    await after('session-updated');
    expect(tripsOf('insert into "outbox"')).toBe(9);

    print(tells('system', { subtype: 'init', model: 'opus', permissionMode: 'default' }));
    print(tells('user', { uuid: messageId, isReplay: true, message: { role: 'user', content: 'go' } }));
    print(says({ type: 'tool_use', ...call }));
    await after('session-updated');
    await marked();
    since();

    const ask = { subtype: 'can_use_tool', tool_name: 'Bash', input: call.input, tool_use_id: call.id };
    print({ type: 'control_request', request_id: 'r1', request: ask });
    await after('session-updated');
    expect(tripsOf('insert into "requests"')).toBe(6);

    const [request] = await session.pending();
    const { requestId } = request ?? expect.fail();
    const decision = approvals.approve(stageId, { requestId, decision: 'allow' }, { name: 'Ada' });
    await after('session-updated');
    expect(tripsOf('insert into "outbox"')).toBe(6);
    await marked();
    const findsRequest = 'select * from "requests" where "stage_id" = $1';
    expect(tripsOf(findsRequest)).toBe(3);

    print({
      type: 'control_response',
      response: { subtype: 'success', request_id: 'r1', response: { behavior: 'allow' } },
    });
    expect(await decision).toMatchObject({ delivery: 'confirmed' });
    await until('it is committed', () => session.events('decision-updated').length > 0);
    expect(tripsOf(findsRequest)).toBe(5);
  },
);
