import { Stage } from '@callboard/contract';
import { AT } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { type DeniedCall, denyCall, REQUEST, rulesOf } from '../../../test/support/denied-call.ts';
import { openTestStore, silent } from '../../../test/support/test-store.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { saveRules } from '../../core/session/session-permissions.ts';
import { SessionRecord } from '../../store/records.ts';
import { requireStage } from '../../store/store.ts';
import { createDenialRetries } from './denial-retries.ts';

it.each(['settle', 'send'])('goes on at the next start after a kill before "%s", and sends once', async (at) => {
  const { retry, resume, kill, sent, store, stageId, platform } = await denyCall('Bash', { command: 'npm test' });
  kill(at);
  await expect(retry()).rejects.toThrow('killed');
  expect(sent).toEqual([]);
  expect((await store.read.requests.findDecision(stageId, REQUEST))?.settlement).toBeNull();
  await resume().catch(() => undefined); // and once more while it starts
  expect(sent).toEqual([]);
  kill('');
  await resume();
  await resume();
  expect(sent).toHaveLength(1);
  await expect(retry()).rejects.toMatchObject({ code: 'already_settled' });
  const decision = await store.read.requests.findDecision(stageId, REQUEST);
  expect(decision).toMatchObject({ settlement: { how: 'retried', by: 'Ada' } });
  expect(await rulesOf({ store, stageId, platform })).toHaveLength(1);
});

/** What may happen between a press that was stored and the next start. */
const MEANWHILE: readonly [string, string, (test: DeniedCall) => Promise<void>][] = [
  [
    'somebody removed the rule',
    'was removed, or has expired',
    async (test) => {
      const [rule] = await rulesOf(test);
      if (rule === undefined) throw new Error('no rule');
      await test.store.transact((tx) => tx.rules.save({ ...rule, endedAt: tx.now, endedBy: 'Bo' }));
    },
  ],
  [
    'the hour is over',
    'was removed, or has expired',
    async (test) => {
      const [rule] = await rulesOf(test);
      if (rule === undefined) throw new Error('no rule');
      await test.store.transact((tx) => tx.rules.save({ ...rule, expiresAt: AT }));
    },
  ],
  [
    'the stage was done',
    'Reopen it',
    async ({ store, stageId }) => {
      await store.transact(async (tx) => {
        const stage = await tx.stages.find(stageId);
        if (stage !== null) await tx.stages.update(Stage.parse({ ...stage, completedAt: AT }));
      });
    },
  ],
  [
    'an alarm was raised',
    'Acknowledge',
    async ({ store, stageId }) => {
      await store.transact((tx) =>
        changeSession(tx, stageId, (change) => {
          const alarm = { code: 'foreign-rule', detail: 'A rule.', at: AT };
          change.record = SessionRecord.parse({ ...change.record, alarm });
        }),
      );
    },
  ],
];

it.each(MEANWHILE)('sends nothing at the next start if %s since, and says so', async (_, text, happen) => {
  const test = await denyCall('Bash', { command: 'npm test' });
  test.kill('send');
  await expect(test.retry()).rejects.toThrow('killed');
  await happen(test);
  test.kill('');
  await test.resume();
  expect(test.sent).toEqual([]);
  expect(await test.store.read.rules.listRetries()).toEqual([]);
  const [notice] = await test.notices();
  expect(notice).toContain('Ada allowed the denied call Bash npm test, but Claude was not told to try again');
  expect(notice).toContain(text);
  expect((await test.store.read.requests.findDecision(test.stageId, REQUEST))?.settlement).toBeNull();
  await test.resume();
  expect(await test.notices()).toHaveLength(1);
});

it('refuses a press that does not hold any more once running sessions have the rules', async () => {
  const test = await denyCall('Bash', { command: 'npm test' });
  const { store, platform, stageId } = test;
  const settle = async () => {
    for (const rule of await rulesOf(test))
      await store.transact((tx) => tx.rules.save({ ...rule, endedAt: tx.now, endedBy: 'Bo' }));
  };
  const sendText = () => Promise.reject(new Error('sent'));
  const deps = { store, platform, log: silent, settle, sendText, requireResumable: () => Promise.resolve() };
  const pressed = createDenialRetries(deps).retry(stageId, REQUEST, 'Ada');
  await expect(pressed).rejects.toMatchObject({
    code: 'cannot_allow',
    message: expect.stringContaining('was removed'),
  });
  expect(await store.read.rules.listRetries()).toEqual([]);
});

it('goes on with the others where one cannot be sent, which waits and is told where a person would look', async () => {
  const place = await openTestStore();
  const first = await denyCall('Bash', { command: 'npm test' }, { place });
  const second = await denyCall('Bash', { command: 'npm run lint' }, { place });
  for (const one of [first, second]) {
    one.kill('send');
    await expect(one.retry()).rejects.toThrow('killed');
    one.kill('');
  }
  first.steps.length = 0;
  first.kill(`send ${first.stageId}`);
  await first.resume();
  expect(first.sent).toEqual([expect.stringContaining('npm run lint')]);
  expect(first.steps.filter((name) => name === 'settle')).toHaveLength(1);
  expect(await first.notices()).toEqual([expect.stringContaining('telling Claude to try again failed')]);
  expect(await second.notices()).toEqual([]);
  first.kill('');
  await first.resume();
  expect(first.sent).toHaveLength(2);
  expect(await place.store.read.rules.listRetries()).toEqual([]);
});

it.each([
  ['a rule without an end', null],
  ['a rule that holds for longer', new Date(Date.parse(AT) + 86_400_000).toISOString()],
])('leaves %s as it is', async (_, expiresAt) => {
  const test = await denyCall('Bash', { command: 'npm test' });
  const { store, stageId, retry } = test;
  await store.transact(async (tx) => {
    const granted = [{ kind: 'allow', rule: 'Bash(npm test)' } as const];
    await saveRules(tx, await requireStage(tx, stageId), { scope: 'stage', granted, by: 'Bo', expiresAt });
  });
  expect((await retry()).rules).toMatchObject([{ by: 'Bo', expiresAt }]);
  expect(await rulesOf(test)).toMatchObject([{ by: 'Bo', expiresAt }]);
});

it('sends once where two people press at the same moment, or somebody presses again after a kill', async () => {
  const { retry, kill, sent, store, stageId, platform } = await denyCall('Bash', { command: 'npm test' });
  kill('settle');
  await expect(retry()).rejects.toThrow('killed');
  kill('');
  const results = await Promise.allSettled([retry(), retry()]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'already_settled' } });
  expect(sent).toHaveLength(1);
  expect(await rulesOf({ store, stageId, platform })).toHaveLength(1);
  expect(await store.read.rules.listRetries()).toEqual([]);
});
