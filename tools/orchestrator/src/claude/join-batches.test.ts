import { expect, it } from 'vitest';
import { joinBatches, type ReadLine } from './join-batches.ts';

const consumed: ReadLine['events'][number] = { type: 'message-progress', messageId: 'm', progress: 'consumed' };
const echoed: ReadLine['events'][number] = { type: 'message-echoed', messageId: 'm', text: 'x' };
const withdrawn: ReadLine['events'][number] = { type: 'withdrawn', requestId: 'r' };
const line = (end: number, ...events: ReadLine['events']): ReadLine => ({ end, events });

/** Batches that the test hands in, when it likes. */
function source() {
  const batches: (ReadLine[] | Error)[] = [];
  let wake: () => void = () => undefined;
  let isOver = false;
  async function* read(): AsyncGenerator<ReadLine[]> {
    for (;;) {
      const next = batches.shift();
      if (next instanceof Error) throw next;
      if (next !== undefined) yield next;
      else if (isOver) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  return {
    joined: joinBatches(read()),
    add(batch: ReadLine[] | Error) {
      batches.push(batch);
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
  };
}

const ends = ({ value }: IteratorResult<ReadLine[]>) => value?.map(({ end }: ReadLine) => end);

it('hands on at once what somebody waits for', async () => {
  const { joined, add } = source();
  add([line(1, withdrawn)]);
  expect(ends(await joined.next())).toEqual([1]);
  add([line(2)]);
  expect(ends(await joined.next())).toEqual([2]);
  add([line(3, echoed, withdrawn)]);
  expect(ends(await joined.next())).toEqual([3]);
});

it('hands on what nobody waits for with what comes behind it', async () => {
  const { joined, add } = source();
  add([line(1, consumed)]);
  const taken = joined.next();
  add([line(2, echoed), line(3)]);
  add([line(4, withdrawn)]);
  add([line(5, withdrawn)]);
  expect(ends(await taken)).toEqual([1, 2, 3, 4]);
  expect(ends(await joined.next())).toEqual([5]);
});

it('hands it on after a moment where nothing comes', async () => {
  const { joined, add } = source();
  add([line(1, consumed)]);
  expect(ends(await joined.next())).toEqual([1]);
  add([line(2, withdrawn)]);
  expect(ends(await joined.next())).toEqual([2]);
});

it('hands it on before it ends, or fails', async () => {
  const first = source();
  first.add([line(1, consumed)]);
  first.end();
  expect(ends(await first.joined.next())).toEqual([1]);
  expect(await first.joined.next()).toMatchObject({ done: true });
  const second = source();
  second.add([line(1, consumed)]);
  second.add(new Error('cut'));
  expect(ends(await second.joined.next())).toEqual([1]);
  await expect(second.joined.next()).rejects.toThrow('cut');
});
