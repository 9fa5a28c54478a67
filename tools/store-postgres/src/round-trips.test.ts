import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it, onTestFinished } from 'vitest';
import { postgresLack } from '../../../test-support/postgres.ts';
import { until } from '../../../test-support/until.ts';
import { openTestStore } from '../../orchestrator/test/support/test-store.ts';
import { call, notifies, openTestTurn, says } from '../../orchestrator/test/support/test-turn.ts';

/** What other connections ask: reads outside of transactions, and looks for news. */
const OTHERS = /^(select "commit"|begin isolation|commit$|listen|show|select system_identifier)/;

/** Notes the write transactions from now on, each as what it asked, one text a round trip. */
function followTransactions() {
  const transactions: string[][] = [];
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
  return {
    count: () => transactions.length,
    /** The round trips of the one transaction since a count that has asked this, and not that. */
    tripsOf(since: number, asked: string, notAsked = 'nothing'): number {
      const has = (texts: string[], begins: string) => texts.some((text) => text.startsWith(begins));
      const found = transactions.slice(since).filter((texts) => has(texts, asked) && !has(texts, notAsked));
      expect(found).toHaveLength(1);
      return found.flat().length;
    },
  };
}

const FINDS_REQUEST = 'select * from "requests" where "stage_id" = $1';
const ADDS_ROW = 'insert into "outbox"';

it.skipIf(postgresLack !== '')(
  `a permission turn needs no more round trips than counted here${postgresLack && ` (${postgresLack})`}`,
  async () => {
    const { session, print, queue, approvals, marked, after } = await openTestTurn(
      await openTestStore(undefined, 'PostgreSQL'),
    );
    const { stageId } = session;
    const { count, tripsOf } = followTransactions();

    const { messageId } = await queue.send(stageId, { message: 'go', mode: 'append' }, 'Ada');
    await after('session-updated');
    expect(tripsOf(0, 'select max("position")')).toBe(7);

    print(notifies('system', { subtype: 'init', model: 'opus', permissionMode: 'default' }));
    print(notifies('user', { uuid: messageId, isReplay: true, message: { role: 'user', content: 'go' } }));
    print(says({ type: 'tool_use', ...call }));
    await after('session-updated');

    const ask = { subtype: 'can_use_tool', tool_name: 'Bash', input: call.input, tool_use_id: call.id };
    print({ type: 'control_request', request_id: 'r1', request: ask });
    await after('session-updated');
    expect(tripsOf(0, 'insert into "requests"')).toBe(4);

    await marked();
    const asked = count();
    const [request] = await session.pending();
    const { requestId } = request ?? expect.fail();
    const decision = approvals.approve(stageId, { requestId, decision: 'allow' }, { name: 'Ada' });
    await after('session-updated');
    await marked(); // by a transaction that has perhaps come by itself
    expect(tripsOf(asked, ADDS_ROW)).toBe(4);
    expect(tripsOf(asked, FINDS_REQUEST, ADDS_ROW)).toBe(3);

    const answered = count();
    print({
      type: 'control_response',
      response: { subtype: 'success', request_id: 'r1', response: { behavior: 'allow' } },
    });
    expect(await decision).toMatchObject({ delivery: 'confirmed' });
    await until('it is committed', () => count() > answered);
    expect(tripsOf(answered, FINDS_REQUEST)).toBe(4);
  },
);
