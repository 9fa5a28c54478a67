import { type PendingRequest, StageId } from '@callboard/contract';
import { type Transport, TransportError } from '@callboard/contract/client';
import { sampleDecision, sampleRequest } from '@callboard/contract/samples';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createWatchKeys, keysFor } from './watch-keys.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Keys on a screen that is a list of lines; the server answers as told. */
function setUp(answer: () => unknown = () => ({ decision: sampleDecision() })) {
  const lines: string[] = [];
  const sent: [string, Record<string, unknown>][] = [];
  const api = {
    command: async (type: string, input: Record<string, unknown>) => {
      sent.push([type, input]);
      return answer();
    },
  } as Pick<Transport, 'command'> as Transport;
  const keys = createWatchKeys({
    api,
    pageOf: (stageId) => `http://board/stages/${stageId}`,
    stageId: StageId.parse('STAGE-1'),
    write: () => undefined,
    written: () => lines.length,
    columns: () => 80,
    hasKeys: () => true,
    print: (list) => void lines.push(...list),
    requestLines: (request) => [`${request.requestId} ${keysFor(request)}`],
    clock: () => performance.now(),
    onBug: (error) => {
      throw error;
    },
  });
  const type = (text: string) => {
    for (const key of text) keys.key(key, true);
  };
  return { keys, lines, sent, type, wait: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

const command = (requestId: string) => sampleRequest({ requestId });
const drawn = (lines: readonly string[], id: string) => lines.filter((line) => line.startsWith(`${id} `)).length;

it('decides the request that was drawn for half a second, and then draws the next one', async () => {
  const { keys, lines, sent, type, wait } = setUp();
  keys.setOpen([command('r1'), command('r2')]);
  type('a');
  await wait(0);
  expect(sent).toEqual([]);
  await wait(500);
  type('aa');
  await wait(0);
  expect(sent).toEqual([['approve_tool', { stageId: 'STAGE-1', requestId: 'r1', decision: 'allow' }]]);
  expect([drawn(lines, 'r1'), drawn(lines, 'r2')]).toEqual([1, 1]);
  type('a');
  await wait(0);
  expect(sent).toHaveLength(1);
  await wait(500);
  type('d');
  type('not now\r');
  await wait(0);
  expect(sent[1]).toEqual([
    'approve_tool',
    { stageId: 'STAGE-1', requestId: 'r2', decision: 'deny', reason: 'not now' },
  ]);
});

it('decides nothing by what is pasted, or while something else stands below the request', async () => {
  const { keys, lines, sent, type, wait } = setUp();
  keys.opened(command('r1'));
  await wait(2_000);
  keys.key('a', false);
  keys.paste('a');
  keys.output(() => lines.push('more output'));
  await wait(900);
  type('a');
  await wait(500);
  expect(lines.at(-1)).toContain('c shows it');
  type('a');
  await wait(0);
  expect(sent).toEqual([]);
  type('c');
  await wait(500);
  type('a');
  await wait(0);
  expect(sent).toHaveLength(1);
});

it('stays with a request while output comes that draws nothing', async () => {
  const { keys, sent, type, wait } = setUp();
  keys.opened(command('r1'));
  await wait(400);
  keys.output(() => undefined);
  await wait(100);
  type('a');
  await wait(0);
  expect(sent).toHaveLength(1);
});

it('draws a request again by itself if its own output came just after it', async () => {
  const { keys, lines, wait } = setUp();
  keys.opened(command('r1'));
  keys.output(() => lines.push('> $ make'));
  await wait(1_000);
  expect(drawn(lines, 'r1')).toBe(2);
});

it('names the page of a request whose answer needs an input that only the page asks for', async () => {
  const text = 'Send updatedInput with one of the branches as "branch".';
  const { keys, lines, type, wait } = setUp(() => {
    throw new TransportError(400, 'bad_request', text);
  });
  keys.opened(command('r1'));
  await wait(500);
  type('a');
  await wait(0);
  expect(lines).toContain(`  This request needs an answer from its page: http://board/stages/STAGE-1 (${text})`);
});

it('says who was faster, and keeps to what the server says', async () => {
  const text = 'This request was already denied by Ada';
  const { keys, lines, type, wait } = setUp(() => {
    throw new TransportError(409, 'already_decided', text);
  });
  keys.opened(command('r1'));
  await wait(500);
  type('a');
  await wait(0);
  expect(lines).toContain(`  ${text}`);
  expect(drawn(lines, 'r1')).toBe(2);
  keys.closed('r1');
  await wait(600);
  type('a');
  await wait(0);
  expect(lines.filter((line) => line === `  ${text}`)).toHaveLength(1);
});

it('answers questions one after the other, asks again for what does not fit, and goes back with Escape', async () => {
  const { keys, lines, sent, type, wait } = setUp();
  const questions = [
    { question: 'Which database?', options: [{ label: 'SQLite' }, { label: 'PostgreSQL' }] },
    { question: 'Name?' },
  ];
  keys.opened(sampleRequest({ requestId: 'q', kind: 'question', toolName: 'AskUserQuestion', input: { questions } }));
  await wait(500);
  type('a');
  type('r');
  type('1\r');
  await wait(0);
  type('\x1b');
  await wait(0);
  expect([sent, drawn(lines, 'q')]).toEqual([[], 2]);
  await wait(500);
  type('r');
  type('9\r');
  await wait(0);
  expect(lines.at(-1)).toContain('has no option 9');
  type('2\r');
  await wait(0);
  type('x\x7fAda\r');
  await wait(0);
  const answers = { 'Which database?': 'PostgreSQL', 'Name?': 'Ada' };
  expect(sent).toEqual([['answer_question', { stageId: 'STAGE-1', requestId: 'q', answers }]]);
});

it('accepts a plan with the mode that follows', async () => {
  const { keys, sent, type, wait } = setUp();
  const plan = (requestId: string): PendingRequest =>
    sampleRequest({ requestId, kind: 'plan', toolName: 'ExitPlanMode', input: { plan: 'x' } });
  keys.setOpen([plan('p1'), plan('p2')]);
  await wait(500);
  type('e');
  await wait(500);
  type('a');
  await wait(0);
  const modes = sent.map(([, input]) => input.updatedPermissions);
  expect(modes).toEqual(['acceptEdits', 'default'].map((mode) => [{ type: 'setMode', mode, destination: 'session' }]));
});

it('holds output back while a message is typed, and sends a pasted text with its line breaks', async () => {
  const { keys, lines, sent, type, wait } = setUp(() => ({ status: 'queued' }));
  type('m');
  keys.output(() => lines.push('output'));
  keys.opened(command('r1'));
  keys.paste('two\r\nlines');
  type(' more');
  expect(lines).toEqual([]);
  type('\r');
  await wait(0);
  expect(sent).toEqual([['send_message', { stageId: 'STAGE-1', message: 'two\nlines more' }]]);
  expect([lines.includes('output'), drawn(lines, 'r1')]).toEqual([true, 1]);
});
