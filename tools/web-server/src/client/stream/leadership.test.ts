import { expect, it } from 'vitest';
import { seekLeadership } from './shared-stream.ts';

/** One lock, as the browser's tabs see it: granted in turn, or taken by force. */
function oneLock(): LockManager {
  let holder: { reject: (reason: unknown) => void } | undefined;
  const waiting: (() => void)[] = [];
  const grant = (run: () => Promise<unknown>) =>
    new Promise((resolve, reject) => {
      const mine = { reject };
      holder = mine;
      run()
        .then(resolve, reject)
        .finally(() => {
          if (holder !== mine) return;
          holder = undefined;
          waiting.shift()?.();
        });
    });
  const request = (_name: string, { steal, signal }: LockOptions, run: () => Promise<unknown>) => {
    if (steal === true) holder?.reject(new DOMException('stolen', 'AbortError'));
    if (holder === undefined || steal === true) return grant(run);
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
      waiting.push(() => resolve(grant(run)));
    });
  };
  return { request, query: async () => ({}) } as unknown as LockManager;
}

const turn = () => new Promise((resolve) => setTimeout(resolve));

function tabs(count: number) {
  const locks = oneLock();
  const leads: number[] = [];
  const all = Array.from({ length: count }, (_, tab) =>
    seekLeadership(() => {
      leads.push(tab);
      return () => leads.splice(leads.indexOf(tab), 1);
    }, locks),
  );
  return { leads, all };
}

it('has one leader, and another once that one leaves', async () => {
  const { leads, all } = tabs(3);
  await turn();
  expect(leads).toEqual([0]);
  all[0]?.leave();
  await turn();
  expect(leads).toEqual([1]);
});

it('lets a tab take over from a leader that does not answer', async () => {
  const { leads, all } = tabs(2);
  await turn();
  all[1]?.takeOver();
  await turn();
  expect(leads).toEqual([1]);
});

it('does not let a leader take over from itself', async () => {
  const { leads, all } = tabs(1);
  await turn();
  all[0]?.takeOver();
  await turn();
  expect(leads).toEqual([0]);
});
