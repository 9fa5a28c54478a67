import { describe, expect, it } from 'vitest';
import { answerRow, echo, notices } from '../../../test/support/test-answers.ts';
import { asked, busyTestSession, type Reported, sampleAsk, up } from '../../../test/support/test-session.ts';

describe('a request that is too large to be shown', () => {
  const input = { command: 'x'.repeat(5 * 1024 * 1024) };
  const tooLarge: Reported = { type: 'asked', requestId: 'r1', kind: 'approval', ask: sampleAsk({ input }) };

  it('is denied at once with a message for Claude and a notice for people, and its input is not stored', async () => {
    const session = await busyTestSession();
    await session.emit(tooLarge);
    expect(await session.pending()).toEqual([]);
    expect(session.events('approval-requested')).toEqual([]);
    const message = expect.stringContaining('too large to show to a person');
    expect(await answerRow(session)).toMatchObject({
      state: 'accepted',
      actor: null,
      body: { response: { subtype: 'success', response: { behavior: 'deny', message } } },
    });
    expect(await notices(session)).toEqual(['too-large']);
    expect(JSON.stringify(await session.transcript()).length).toBeLessThan(10_000);
  });

  it('is denied once, however often the CLI lists it, and confirmed by its echo', async () => {
    const session = await busyTestSession();
    await session.emit(tooLarge);
    await session.emit(up([{ requestId: 'r1', kind: 'approval', ask: sampleAsk({ input }) }]));
    expect((await session.outbox()).filter(({ kind }) => kind === 'answer')).toHaveLength(1);
    const body = (await answerRow(session))?.body;
    await session.emit(echo(body?.kind === 'answer' ? body.response : {}));
    expect(await answerRow(session)).toMatchObject({ state: 'confirmed' });
    expect(session.alarms()).toBe(0);
  });

  it('raises an alarm if something else allowed it', async () => {
    const session = await busyTestSession();
    await session.emit(tooLarge);
    await session.emit(echo());
    expect(session.alarms()).toBe(1);
    expect(await notices(session)).toEqual(['too-large', 'foreign-answer']);
  });

  it('is measured in bytes, not in characters', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1', { input: { command: '字'.repeat(1.5 * 1024 * 1024) } }));
    expect(await notices(session)).toEqual(['too-large']);
  });

  it('is denied if it has no room beside the open requests; small ones are asked, and large ones when there is room again', async () => {
    const session = await busyTestSession();
    const large = { input: { command: 'x'.repeat(4_000_000) } };
    for (let n = 1; n <= 8; n += 1) await session.emit(asked(`r${n}`, large));
    expect(await session.pending()).toHaveLength(8);
    await session.emit(asked('r9', large));
    expect(await answerRow(session, 'r9')).toMatchObject({
      body: {
        response: { response: { message: expect.stringMatching(/^Open requests already take \d+ MB/) } },
      },
    });
    expect(await notices(session)).toEqual(['too-large']);

    const open = (await session.pending()).map(
      ({ requestId }) => ({ requestId, kind: 'approval', ask: sampleAsk(large) }) as const,
    );
    await session.emit(up(open));
    await session.emit(asked('small'));
    expect(await session.pending()).toHaveLength(9);
    expect(await notices(session)).toEqual(['too-large']);

    await session.emit({ type: 'withdrawn', requestId: 'r1' }, asked('r10', large));
    expect((await session.pending()).map(({ requestId }) => requestId)).toContain('r10');
  });

  it('is declined if it is a form', async () => {
    const session = await busyTestSession();
    await session.emit({ type: 'asked', requestId: 'r1', kind: 'elicitation', ask: sampleAsk({ input }) });
    expect(await answerRow(session)).toMatchObject({ body: { response: { response: { action: 'decline' } } } });
  });
});
