import { expect, it, vi } from 'vitest';
import { asked } from '../../../test/support/test-session.ts';
import { addHosts, type FindHosts } from './output-handler.ts';

const found: FindHosts = async (command) => (command === 'npm ci' ? ['packages.example'] : []);

async function hostsOf(fields: Parameters<typeof asked>[1], find = found): Promise<unknown> {
  const [line] = await addHosts([{ events: [asked('r1', fields)], end: 1 }], find);
  const [event] = line?.events ?? [];
  return event?.type === 'asked' ? event.ask.hosts : null;
}

it('adds the hosts that a command in the foreground of the sandbox needs', async () => {
  expect(await hostsOf({ input: { command: 'npm ci' } })).toEqual(['packages.example']);
  expect(await hostsOf({ input: { command: 'npm test' } })).toBeUndefined();
});

it('adds none to a command that leaves the sandbox or outlives its result, and to no other tool', async () => {
  expect(await hostsOf({ input: { command: 'npm ci', dangerouslyDisableSandbox: true } })).toBeUndefined();
  expect(await hostsOf({ input: { command: 'npm ci', run_in_background: true } })).toBeUndefined();
  expect(await hostsOf({ toolName: 'Other', input: { command: 'npm ci' } })).toBeUndefined();
});

it('does not hold up a request whose files cannot be read in time', async () => {
  vi.useFakeTimers();
  const waiting = hostsOf({ input: { command: 'npm ci' } }, () => new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(500);
  expect(await waiting).toBeUndefined();
  vi.useRealTimers();
});
