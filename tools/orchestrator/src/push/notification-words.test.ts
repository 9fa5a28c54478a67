import { expect, it } from 'vitest';
import { asked, busyTestSession } from '../../test/support/test-session.ts';
import { wholeInput } from './notification-words.ts';

async function ask(fields: Parameters<typeof asked>[1]) {
  const session = await busyTestSession();
  await session.tell(asked('r1', fields));
  const [request] = await session.pending();
  if (request === undefined) throw new Error('nothing is asked');
  return wholeInput(request);
}

it('shows a short command whole', async () => {
  expect(await ask({ input: { command: 'npm test', description: 'Runs the tests' } })).toBe('npm test');
  expect(await ask({ input: { command: 'x'.repeat(60) } })).toBe('x'.repeat(60));
});

it.each([
  ['is too long', { input: { command: 'x'.repeat(61) } }],
  ['has several lines', { input: { command: 'make\nrm -rf /' } }],
  ['begins with a space', { input: { command: ' make' } }],
  ['has a character that cannot be seen', { input: { command: 'make \u202Ehs' } }],
  ['has more to it', { input: { command: 'make', run_in_background: true } }],
  ['leaves the sandbox', { input: { command: 'make' }, leavesSandbox: { reason: null } }],
  ['is no command', { toolName: 'Write', input: { file_path: 'a', content: 'b' } }],
])('shows no input that %s', async (_, fields) => {
  expect(await ask(fields)).toBeNull();
});
