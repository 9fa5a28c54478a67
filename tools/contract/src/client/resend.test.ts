import { expect, it } from 'vitest';
import { type Attempt, resend } from './http-transport.ts';
import { TransportError, type TransportErrorCode } from './transport.ts';

const now = async () => {};
const unanswered = () => new TransportError(0, 'network', 'No answer.');
const options = { patienceMs: 30_000, attemptMs: 1_000, wait: now, unanswered };

/** Fails with these codes, one after the other, and keeps the attempts. */
function failing(codes: TransportErrorCode[]) {
  const attempts: Attempt[] = [];
  const send = async (attempt: Attempt) => {
    attempts.push(attempt);
    const code = codes[attempt.nth - 1];
    if (code !== undefined) throw new TransportError(503, code, code);
    return attempt.nth;
  };
  return { attempts, send };
}

it('tells an attempt since when nobody knows whether it was done', async () => {
  const { attempts, send } = failing(['starting', 'orchestrator_unreachable', 'reply_lost', 'starting']);
  expect(await resend(send, options)).toBe(5);
  const known = attempts.map(({ unknownForMs }) => unknownForMs === null);
  expect(known).toEqual([true, true, true, false, false]);
});

it('does not say that nothing was done if that holds for the last attempt only', async () => {
  const lost = failing(['reply_lost', ...Array<TransportErrorCode>(100).fill('orchestrator_unreachable')]);
  await expect(resend(lost.send, options)).rejects.toMatchObject({ code: 'network' });
  const away = failing(Array<TransportErrorCode>(100).fill('orchestrator_unreachable'));
  await expect(resend(away.send, options)).rejects.toMatchObject({ code: 'orchestrator_unreachable' });
});

it('waits longer for a server that holds an attempt than for one that is away', async () => {
  let attempts = 0;
  const hang = ({ signal }: Attempt) => {
    attempts += 1;
    return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  await expect(resend(hang, { ...options, attemptMs: 2, heldMs: 20, patienceMs: 500 })).rejects.toMatchObject({
    code: 'network',
  });
  expect(attempts).toBeGreaterThan(1);
});
