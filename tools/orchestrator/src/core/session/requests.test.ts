import { type Delivery, ProjectId } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { ALLOWED, allow, answerRow, decide, decision, echo, notices } from '../../../test/support/test-answers.ts';
import {
  asked,
  busyTestSession,
  type Reported,
  sampleAsk,
  type TestSession,
  turnEnded,
  up,
} from '../../../test/support/test-session.ts';
import { openTestStore, sampleProject } from '../../../test/support/test-store.ts';

const delivery = async (session: TestSession): Promise<Delivery | undefined> => (await decision(session))?.delivery;

const NOTHING_SAID = { reason: null, answers: null, updatedInput: null };

const withdrawn: Reported = { type: 'withdrawn', requestId: 'r1' };

describe('a request', () => {
  it('is open as soon as the CLI reports it, and is emitted once', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1', { description: 'Build it' }));
    await session.emit(asked('r1'));
    expect(await session.pending()).toMatchObject([{ requestId: 'r1', kind: 'approval', description: 'Build it' }]);
    expect(session.events('approval-requested')).toHaveLength(1);
  });

  it('names the agent that asks by its description, or by its id if it has none', async () => {
    const session = await busyTestSession();
    const started = { type: 'task-started', taskId: 't1', toolUseId: 'u1', taskType: 'local_agent' } as const;
    await session.emit({ ...started, description: 'Look around' });
    const ids = ['t1', 't9', 'constructor'];
    await session.emit(...ids.map((agentId) => asked(agentId, { agentId })));
    expect((await session.pending()).map(({ agent }) => agent).sort()).toEqual(['Look around', 'constructor', 't9']);
  });

  it('is closed, by no person, when the CLI withdraws it', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    expect(await session.emit(withdrawn)).toMatchObject({ state: 'busy' });
    expect(await decision(session)).toMatchObject({ outcome: 'closed', by: null, delivery: 'none' });
    expect(session.events('approval-cancelled')).toMatchObject([{ requestId: 'r1' }]);
    expect(session.events('approval-resolved')).toMatchObject([{ outcome: 'closed' }]);
    await session.emit(withdrawn); // a repeated line changes nothing
    expect(session.events('approval-resolved')).toHaveLength(1);
  });

  it('that is withdrawn because Callboard ends its turn says so, and for whom', async () => {
    const session = await busyTestSession();
    const { store, platform, stageId } = session;
    const send = (subtype: string, reason?: string) =>
      store.transact(async (tx) => {
        const row = {
          id: platform.newId(),
          stageId,
          launchId: session.launchId(),
          wireId: platform.newWireId(),
          actor: null,
        };
        await tx.outbox.insert({ ...row, createdAt: tx.now, body: { kind: 'control', request: { subtype }, reason } });
      });
    const withdraw = async (requestId: string) => {
      await session.emit({ type: 'withdrawn', requestId });
      return (await decision(session, requestId))?.reason;
    };
    await send('interrupt', 'Interrupted by Bo.'); // this one belongs to another turn
    await session.emit(turnEnded('interrupted'), asked('r1'), asked('r2'), asked('r3'));
    await send('get_context_usage');
    expect(await withdraw('r1')).toContain('something else decided');
    await send('interrupt', 'Stopped by Ada.');
    await send('end_session', 'Stopped by Ada.');
    const text = 'Claude Code withdrew the request, since its turn was ended.';
    expect(await withdraw('r2')).toBe(`${text} Stopped by Ada.`);
    await session.emit(turnEnded('interrupted'));
    expect(await withdraw('r3')).toContain('something else decided');
  });

  it('of an unknown kind is refused at once, so that the CLI does not wait for it', async () => {
    const session = await busyTestSession();
    await session.emit({ type: 'asked-unknown', permissionFor: null, requestId: 'r1', subtype: 'hook_callback' });
    const row = await answerRow(session);
    expect(row).toMatchObject({ state: 'accepted', body: { response: { subtype: 'error' } } });
    expect(await session.pending()).toEqual([]);
    expect(await notices(session)).toEqual(['unknown-request']);
    await session.emit(echo({ subtype: 'error', error: 'Callboard does not answer "hook_callback" requests' }));
    expect(await answerRow(session)).toMatchObject({ state: 'confirmed' });
    expect(session.alarms()).toBe(0);
  });

  it('is closed with the reason when its process dies', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'), asked('r2'));
    await session.end();
    expect(await session.pending()).toEqual([]);
    expect(await decision(session, 'r2')).toMatchObject({ outcome: 'closed', reason: 'The process is gone.' });
  });
});

describe('an answer', () => {
  it('is confirmed by an equal echo, whatever the order of its keys', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await allow(session, 'r1', {
      subtype: 'success',
      response: { behavior: 'allow', updatedInput: { a: 1, b: [2] } } as never,
    });
    expect(await session.record()).toMatchObject({ state: 'busy' });
    await session.emit(echo({ response: { updatedInput: { b: [2], a: 1 }, behavior: 'allow' }, subtype: 'success' }));
    expect(await answerRow(session)).toMatchObject({ state: 'confirmed' });
    expect(await delivery(session)).toBe('confirmed');
    expect(session.events('decision-updated')).toMatchObject([{ delivery: 'confirmed', by: 'Ada' }]);
    expect(session.alarms()).toBe(0);
  });

  it('is not applied if the CLI withdraws the request before confirming it', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await allow(session);
    await session.emit(withdrawn);
    expect(await delivery(session)).toBe('not-applied');
    expect(await answerRow(session)).toMatchObject({ state: 'void' });
    expect(await decision(session)).toMatchObject({ outcome: 'allowed', by: 'Ada' });
  });

  it('stays confirmed if the request is withdrawn afterwards', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await allow(session);
    await session.emit(echo(), withdrawn);
    expect(await delivery(session)).toBe('confirmed');
  });

  it.each([
    ['is not applied if it was not written', false, 'not-applied'],
    ['is unknown if it was written and not confirmed', true, 'unknown'],
  ] as const)('to a process that died %s', async (_what, isWritten, expected) => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await allow(session);
    const row = await answerRow(session);
    if (isWritten && row !== undefined) await session.store.transact((tx) => tx.outbox.setWritten(row, tx.now));
    await session.end();
    expect(await delivery(session)).toBe(expected);
    expect(await answerRow(session)).toMatchObject({ state: 'void' });
  });

  it('stays confirmed when its process dies', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await allow(session);
    await session.emit(echo());
    await session.end();
    expect(await delivery(session)).toBe('confirmed');
  });
});

describe('an answer that Callboard did not send', () => {
  it('raises an alarm, closes the request and is reported in the transcript', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await session.emit(echo());
    expect(session.alarms()).toBe(1);
    expect(await decision(session)).toMatchObject({ outcome: 'closed', by: null });
    expect(await notices(session)).toEqual(['foreign-answer']);
  });

  it('raises an alarm if it arrived before the answer of Callboard, which was then not applied', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await allow(session);
    await session.emit(echo({ subtype: 'success', response: { behavior: 'allow', updatedInput: { command: 'rm' } } }));
    expect(session.alarms()).toBe(1);
    expect(await delivery(session)).toBe('not-applied');
    expect(await answerRow(session)).toMatchObject({ state: 'void' });
  });

  it('raises no alarm if it is the one reply to a request of Callboard', async () => {
    const session = await busyTestSession();
    const control = (await session.outbox()).find((row) => row.kind === 'control');
    await session.emit(echo(ALLOWED, control?.wireId ?? ''));
    expect(session.alarms()).toBe(0);
    expect((await session.outbox()).find((row) => row.kind === 'control')).toMatchObject({ state: 'confirmed' });
  });
});

describe('a repeated initialize', () => {
  const open = (requestId: string) => ({ requestId, kind: 'approval', ask: sampleAsk() }) as const;

  it('closes requests that the CLI no longer waits for, opens new ones, and keeps the others', async () => {
    const session = await busyTestSession();
    await session.emit(asked('gone'), asked('kept'));
    await session.emit(up([open('kept'), open('new')]));
    expect((await session.pending()).map(({ requestId }) => requestId).sort()).toEqual(['kept', 'new']);
    expect(await decision(session, 'gone')).toMatchObject({ outcome: 'closed', by: null });
    expect(session.events('approval-requested').map(({ requestId }) => requestId)).toEqual(['gone', 'kept', 'new']);
  });

  it('does not reopen a request whose answer is not confirmed yet', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    await allow(session);
    await session.emit(up([open('r1')]));
    expect(await session.pending()).toEqual([]);
    await session.emit(echo());
    expect(await delivery(session)).toBe('confirmed');
  });

  it('keeps the form of an MCP server open, because the CLI lists only tool calls', async () => {
    const session = await busyTestSession();
    await session.emit({ type: 'asked', requestId: 'f1', kind: 'elicitation', ask: sampleAsk() });
    await session.emit(up());
    expect(await session.pending()).toMatchObject([{ requestId: 'f1' }]);
  });

  it('makes the session live, in the mode that the CLI names', async () => {
    const session = await busyTestSession();
    await session.emit(turnEnded());
    const record = await session.emit({ type: 'initialized', mode: 'plan', open: [], unclear: [] });
    expect(record).toMatchObject({ state: 'idle', mode: 'plan' });
  });
});

it('lists the decisions made on a device', async () => {
  const session = await busyTestSession();
  for (const [id, device] of [
    ['r1', 'Chrome on Android'],
    ['r2', 'Terminal on desk'],
  ] as const) {
    await session.emit(asked(id));
    await decide(session, id, ALLOWED, { outcome: 'allowed', by: 'Ada', device, ...NOTHING_SAID });
  }
  const { decisions } = await session.store.read.requests.decisions({ device: 'Terminal on desk', limit: 10 });
  expect(decisions.map(({ requestId }) => requestId)).toEqual(['r2']);
});

it('lists the decisions of a project', async () => {
  const given = await openTestStore();
  await given.store.transact((tx) => tx.projects.save(sampleProject({ id: 'api', path: '/repos/api' })));
  for (const projectId of ['shop', 'api']) {
    const session = await busyTestSession({ projectId }, given);
    await session.emit(asked('r1'));
    await allow(session);
  }
  const listed = await given.store.read.requests.decisions({ projectId: ProjectId.parse('api'), limit: 10 });
  expect(listed.decisions.map(({ stageId }) => stageId)).toEqual(['S2']);
  expect((await given.store.read.requests.decisions({ limit: 10 })).decisions).toHaveLength(2);
});

it('returns long decisions in pages of bounded size, each decision once', async () => {
  const session = await busyTestSession();
  const long = (mib: number) => ({ command: 'x'.repeat(mib * 1024 * 1024) });
  const withdrawn = ['a', 'b', 'c'].map((requestId) => ({ type: 'withdrawn', requestId }) as const);
  await session.emit(...withdrawn.map(({ requestId }) => asked(requestId)));
  await session.emit(...withdrawn); // these have the same time
  const verdict = { outcome: 'allowed', by: 'Ada', reason: null, answers: null } as const;
  for (const [n, mib] of [0.4, 0.4, 0.4, 1.5, 0.4].entries()) {
    await session.emit(asked(`r${n}`));
    await decide(session, `r${n}`, ALLOWED, { ...verdict, updatedInput: long(mib) });
  }
  const pages = async (limit: number) => {
    const all: string[][] = [];
    for (let before: string | undefined; ; ) {
      const { decisions, next } = await session.store.read.requests.decisions({ limit, before });
      all.push(decisions.map(({ requestId }) => requestId));
      if (next === null) return all;
      before = next;
    }
  };
  expect(await pages(100)).toEqual([['r4'], ['r3'], ['r2', 'r1'], ['r0', 'a', 'b', 'c']]);
  expect(await pages(1)).toEqual([['r4'], ['r3'], ['r2'], ['r1'], ['r0'], ['a', 'b', 'c']]);
});

it('shows an open request that Callboard does not understand, and refuses it once, so that the CLI does not wait forever', async () => {
  const session = await busyTestSession();
  const unclear = [
    { requestId: 'odd', subtype: 'can_use_tool', raw: { request_id: 'odd' } },
    { requestId: null, subtype: 'unknown', raw: 'nonsense' },
  ];
  const event = { type: 'initialized', mode: 'default', open: [], unclear } as const;
  await session.emit({ ...event, open: [], unclear: [...unclear] });
  const refusals = async () => (await session.outbox()).filter(({ wireId }) => wireId === 'odd');
  expect(await refusals()).toMatchObject([
    { kind: 'answer', state: 'accepted', body: { response: { subtype: 'error', error: expect.any(String) } } },
  ]);
  const shown = async () =>
    (await session.transcript()).flatMap((entry) => (entry.kind === 'unknown' ? [entry.raw] : []));
  expect(await shown()).toEqual([{ request_id: 'odd' }, 'nonsense']);
  await session.emit({ ...event, open: [], unclear: unclear.slice(0, 1) });
  expect(await refusals()).toHaveLength(1);
  expect(await session.pending()).toEqual([]);
});
