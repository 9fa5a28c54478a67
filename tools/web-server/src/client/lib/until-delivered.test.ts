import { expect, it } from 'vitest';
import { ApiError, type ApiErrorCode } from './api.ts';
import { untilDelivered } from './until-delivered.ts';

const failing = (codes: ApiErrorCode[]) => async (attempt: number) => {
  const code = codes[attempt - 1];
  if (code !== undefined) throw new ApiError(503, code, code);
  return attempt;
};
const now = async () => {};

it('sends again until somebody takes it', async () => {
  expect(await untilDelivered(failing(['orchestrator_unreachable', 'network', 'starting']), now)).toBe(4);
});

it('takes a refusal for an answer', async () => {
  await expect(untilDelivered(failing(['network', 'already_decided']), now)).rejects.toMatchObject({
    code: 'already_decided',
  });
});

it('gives up after half a minute', async () => {
  let waited = 0;
  const send = failing(Array<ApiErrorCode>(100).fill('network'));
  const wait = async (ms: number) => {
    waited += ms;
  };
  await expect(untilDelivered(send, wait)).rejects.toMatchObject({ code: 'network' });
  expect(waited).toBeGreaterThan(29_000);
  expect(waited).toBeLessThan(33_000);
});
