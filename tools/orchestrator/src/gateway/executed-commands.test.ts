import { expect, it } from 'vitest';
import { createExecutedCommands, type RepeatableCommand } from './execute-command.ts';

const KEY = '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e61';

function setUp() {
  let time = 1_000;
  let count = 0;
  const executed = createExecutedCommands<number>(() => time);
  const send = (change: Partial<RepeatableCommand> = {}) =>
    executed.once({ key: KEY, sender: 'Ada', content: 'start', unknownForMs: null, ...change }, async () => ++count);
  const pass = (ms: number) => {
    time += ms;
  };
  return { send, pass };
}

it('executes a command once under its key, however often and by whomever else it is sent', async () => {
  const { send, pass } = setUp();
  expect(await Promise.all([send(), send()])).toEqual([1, 1]);
  pass(5_000);
  expect(await send({ unknownForMs: 5_000 })).toBe(1);
  expect(await send({ sender: 'Bo' })).toBe(2);
  await expect(send({ content: 'stop' })).rejects.toMatchObject({ code: 'bad_request' });
});

it('executes a command of which only the attempts failed that it would know, and no other', async () => {
  const { send, pass } = setUp();
  pass(3_000);
  expect(await send({ unknownForMs: 2_000 })).toBe(1); // it ran already then, and nothing came
  const other = KEY.replace('0198', '0199');
  await expect(send({ key: other, unknownForMs: 4_000 })).rejects.toMatchObject({ code: 'no_confirmation' });
  expect(await send({ key: other })).toBe(2);
});

it('does not execute a command again that it has forgotten', async () => {
  const { send, pass } = setUp();
  await send();
  pass(11 * 60_000);
  await send({ key: KEY.replace('0198', '0199') });
  await expect(send({ unknownForMs: 11 * 60_000 })).rejects.toMatchObject({ code: 'no_confirmation' });
});
