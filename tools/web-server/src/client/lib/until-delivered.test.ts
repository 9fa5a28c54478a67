import { TransportError, type TransportErrorCode } from '@callboard/contract/client';
import { expect, it } from 'vitest';
import { untilDelivered } from './until-delivered.ts';

const failing = (codes: TransportErrorCode[]) => async (attempt: number) => {
  const code = codes[attempt - 1];
  if (code !== undefined) throw new TransportError(503, code, code);
  return attempt;
};
const now = async () => {};

it('resends until it is delivered', async () => {
  expect(await untilDelivered(failing(['orchestrator_unreachable', 'network', 'starting']), { wait: now })).toBe(4);
});

it('does not retry a refusal', async () => {
  await expect(untilDelivered(failing(['network', 'already_decided']), { wait: now })).rejects.toMatchObject({
    code: 'already_decided',
  });
});

it('gives up after half a minute', async () => {
  let waited = 0;
  const send = failing(Array<TransportErrorCode>(100).fill('network'));
  const wait = async (ms: number) => {
    waited += ms;
  };
  await expect(untilDelivered(send, { wait })).rejects.toMatchObject({ code: 'no_confirmation' });
  expect(waited).toBeGreaterThan(29_000);
  expect(waited).toBeLessThan(33_000);
});

/** A server that holds the connection and never answers. */
const hang = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

it('gives up an unanswered attempt, and resends', async () => {
  const send = (attempt: number, signal: AbortSignal) => (attempt < 3 ? hang(signal) : Promise.resolve(attempt));
  expect(await untilDelivered(send, { wait: now, attemptMs: 5 })).toBe(3);
});

it('fails with a network error if every attempt hangs', async () => {
  let waited = 0;
  const wait = async (ms: number) => {
    waited += ms;
  };
  const sent = untilDelivered((_attempt, signal) => hang(signal), { wait, attemptMs: 1 });
  await expect(sent).rejects.toMatchObject({ code: 'no_confirmation' });
  expect(waited).toBeLessThan(33_000);
});
