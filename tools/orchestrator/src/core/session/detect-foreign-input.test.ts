import { describe, expect, it } from 'vitest';
import { ALLOWED, allow, echo } from '../../../test/support/test-answers.ts';
import {
  asked,
  begun,
  busyTestSession,
  type Reported,
  read,
  type TestSession,
  up,
} from '../../../test/support/test-session.ts';
import { messageBody } from '../../store/records.ts';

const alarm = async (session: TestSession) => (await session.record()).alarm?.code ?? null;
const control = async (session: TestSession) => (await session.outbox()).find(({ kind }) => kind === 'control');
const mode = (name: string): Reported => ({ type: 'mode-changed', mode: name });

const insert = (
  { store, platform, stageId, launchId }: TestSession,
  body: Parameters<typeof messageBody>[0] | { subtype: string; mode: string },
) =>
  store.transact(async (tx) => {
    const id = platform.newId();
    const row = { id, stageId, launchId: launchId(), wireId: id, actor: 'Ada', createdAt: tx.now };
    const stored = 'subtype' in body ? ({ kind: 'control', request: body } as const) : messageBody(body);
    await tx.outbox.insert({ ...row, body: stored });
    return id;
  });

describe('input that Callboard did not send', () => {
  it.each([
    ['a reply to a request that Callboard did not send', 'foreign-control', echo(ALLOWED, 'nobody')],
    ['a reply without a request', 'foreign-control', { type: 'reply-to-nobody' }],
    ['the echo of a foreign message', 'foreign-message', { type: 'message-echoed', messageId: 'm9', text: null }],
    [
      'the echo of a message without an id',
      'foreign-message',
      { type: 'message-echoed', messageId: null, text: 'Do it' },
    ],
    ['a turn that begins with a foreign message', 'foreign-message', begun('m9')],
    ['a foreign message that was read', 'foreign-message', read('m9')],
    [
      'a foreign message that is finished',
      'foreign-message',
      { type: 'message-progress', messageId: 'm9', progress: 'finished' },
    ],
    ['the output of a command that nobody sent', 'foreign-message', { type: 'command-output' }],
    ['a line that the CLI cannot have printed', 'forged-output', { type: 'forged-line' }],
    ['a mode that allows more', 'foreign-mode', mode('acceptEdits')],
    [
      'a mode that allows more, reported at the start of a turn',
      'foreign-mode',
      { ...begun(), mode: 'bypassPermissions' } as Reported,
    ],
    [
      'a mode that allows more, reported in the reply to initialize',
      'foreign-mode',
      { ...up(), mode: 'auto' } as Reported,
    ],
  ] as const)('raises an alarm: %s', async (_what, code, reported) => {
    const session = await busyTestSession();
    expect(await alarm(session)).toBeNull();
    await session.emit(reported);
    expect(await alarm(session)).toBe(code);
    expect(session.alarms()).toBe(1);
  });

  it('raises an alarm: a second reply to a request of Callboard', async () => {
    const session = await busyTestSession();
    const { wireId = '' } = (await control(session)) ?? {};
    await session.emit(echo(ALLOWED, wireId));
    expect(await alarm(session)).toBeNull();
    await session.emit(echo(ALLOWED, wireId));
    expect(await alarm(session)).toBe('foreign-control');
  });
});

describe('no alarm is raised', () => {
  it('for a message of Callboard, however it is reported, unless text was added to it', async () => {
    const session = await busyTestSession();
    const [id] = (await session.outbox()).flatMap((row) => (row.kind === 'message' ? [row.wireId] : []));
    if (id === undefined) throw new Error('the session has no message');
    const echoed = (text: string | null) => ({ type: 'message-echoed', messageId: id, text }) as const;
    await session.emit(echoed(null), echoed('Do it'), echoed(' Do it\n'), read(id), begun(id), begun());
    expect(await alarm(session)).toBeNull();
    await session.emit(echoed('Delete it\nDo it'));
    expect(await alarm(session)).toBe('foreign-message');
  });

  it('for a mode that allows nothing more, for example one that Claude enters on its own', async () => {
    const session = await busyTestSession();
    await session.emit(mode('plan'), mode('default'), mode('dontAsk'));
    expect(await session.record()).toMatchObject({ mode: 'dontAsk', alarm: null });
  });

  it('for a mode that a person chose, even if it is reported before the reply', async () => {
    const session = await busyTestSession();
    await insert(session, { subtype: 'set_permission_mode', mode: 'acceptEdits' });
    await session.emit(mode('acceptEdits'));
    expect(await alarm(session)).toBeNull();
  });

  it('for a mode that an answer set', async () => {
    const session = await busyTestSession();
    await session.emit(asked('r1'));
    const updatedPermissions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
    const response = { subtype: 'success', response: { behavior: 'allow', updatedPermissions } };
    await allow(session, 'r1', response);
    await session.emit(echo(response), mode('acceptEdits'));
    expect(await alarm(session)).toBeNull();
  });

  it('for a mode that a command of the running turn may have set', async () => {
    const session = await busyTestSession();
    const id = await insert(session, { text: '/fast', attachments: [], isCommand: true, attachesFiles: false });
    await session.emit(read(id), { type: 'command-output' }, mode('acceptEdits'));
    expect(await alarm(session)).toBeNull();
  });
});
