import { TransportError, type TransportErrorCode } from '@callboard/contract/client';
import { expect, it } from 'vitest';
import { createQueryClient } from './queries.ts';

const failingOnce = (status: number, code: TransportErrorCode) => {
  let asked = 0;
  return async () => {
    asked += 1;
    if (asked === 1) throw new TransportError(status, code, code);
    return asked;
  };
};

it.each([
  [0, 'network'],
  [503, 'starting'],
  [429, 'too_many_requests'],
] as const)('retries a query after a transient failure: %s %s', async (status, code) => {
  const cache = createQueryClient();
  const read = { queryKey: ['read'], queryFn: failingOnce(status, code) };
  expect(await cache.fetchQuery({ ...read, retry: cache.getDefaultOptions().queries?.retry })).toBe(2);
});

it('retries neither a refused query nor a command', async () => {
  const cache = createQueryClient();
  const { retry } = cache.getDefaultOptions().queries ?? {};
  const refused = { queryKey: ['read'], queryFn: failingOnce(404, 'unknown_stage'), retry };
  await expect(cache.fetchQuery(refused)).rejects.toMatchObject({ code: 'unknown_stage' });
  const given = cache.getMutationCache().build(cache, { mutationFn: failingOnce(429, 'too_many_requests') });
  await expect(given.execute(undefined)).rejects.toMatchObject({ code: 'too_many_requests' });
});
