import { expect, it } from 'vitest';
import { createTestChannel } from '../../../test/support/test-channel.ts';
import { coalesceBatches, createProtocolPeer, type ReadLine } from './output-handler.ts';

const response = (id: string, fields: object = {}) => ({
  type: 'control_response',
  response: { subtype: 'success', request_id: id, ...fields },
});
const never = new AbortController().signal;
const ignore = { onLines: async () => undefined };

it('gives each request its own reply, in any order', async () => {
  const { channel, print } = createTestChannel();
  const peer = createProtocolPeer(channel, ignore);
  const first = peer.reply('a', never);
  const second = peer.reply('b', never);
  print(response('b', { response: { n: 2 } }), response('nobody'), response('a', { response: { n: 1 } }));
  expect(await first).toMatchObject({ response: { n: 1 } });
  expect(await second).toMatchObject({ response: { n: 2 } });
  channel.finish();
  await peer.closed;
});

it("rejects with the CLI's own words", async () => {
  const { channel, print } = createTestChannel();
  const peer = createProtocolPeer(channel, ignore);
  const reply = peer.reply('a', never);
  const silent = peer.reply('b', never);
  print(response('a', { subtype: 'error', error: 'not that mode' }), response('b', { subtype: 'error' }));
  await expect(reply).rejects.toMatchObject({ code: 'refused', kind: 'protocol', message: 'not that mode' });
  await expect(silent).rejects.toMatchObject({ code: 'refused', message: 'no reason given' });
});

it('closes what it reads when its lines cannot be handled', async () => {
  const closed = Promise.withResolvers<void>();
  async function* lines() {
    try {
      for (;;) yield [{ text: JSON.stringify({ type: 'odd' }), end: 1 }];
    } finally {
      closed.resolve();
    }
  }
  const { channel } = createTestChannel();
  const onLines = () => Promise.reject(new Error('the store is closed'));
  const peer = createProtocolPeer({ ...channel, lines }, { onLines });
  await expect(peer.closed).rejects.toThrow('the store is closed');
  await closed.promise;
});

it('settles a reply only after its batch was handled', async () => {
  const { channel, print } = createTestChannel();
  const commit = Promise.withResolvers<void>();
  let isStored = false;
  const onLines = async () => {
    await commit.promise;
    isStored = true;
  };
  const peer = createProtocolPeer(channel, { onLines });
  const reply = peer.reply('a', never).then(() => isStored);
  print(response('a'));
  commit.resolve();
  expect(await reply).toBe(true);
});

it('passes on events in order, batch by batch, with the offset behind each line', async () => {
  const { channel, print } = createTestChannel();
  const taken: [string[], number][][] = [];
  let running = 0;
  const onLines = async (lines: ReadLine[]) => {
    expect(++running).toBe(1);
    await Promise.resolve();
    running--;
    taken.push(lines.map(({ events, end }) => [events.map((event) => event.type), end]));
  };
  const peer = createProtocolPeer(channel, { onLines });
  print({ type: 'odd' });
  print({ type: 'system', subtype: 'init', session_id: 's' }, { type: 'keep_alive' });
  channel.finish();
  await peer.closed;
  expect(taken).toEqual([
    [[['notice'], 1]],
    [
      [['conversation', 'turn-started'], 2],
      [[], 3],
    ],
  ]);
});

it('rejects every waiter when the process ends, and everyone who asks later', async () => {
  const { channel } = createTestChannel();
  const peer = createProtocolPeer(channel, ignore);
  const waiting = peer.reply('a', never);
  channel.finish();
  await expect(waiting).rejects.toMatchObject({ code: 'peer_closed', kind: 'operational' });
  await peer.closed;
  await expect(peer.reply('b', never)).rejects.toMatchObject({ code: 'peer_closed' });
});

it('rejects every waiter when reading or handling fails', async () => {
  const broken = createTestChannel();
  const first = createProtocolPeer(broken.channel, ignore);
  const waiting = first.reply('a', never);
  broken.breakDown(new Error('spool gone'));
  await expect(waiting).rejects.toMatchObject({ code: 'peer_closed' });
  await expect(first.closed).rejects.toThrow('spool gone');

  const full = createTestChannel();
  const second = createProtocolPeer(full.channel, { onLines: () => Promise.reject(new Error('disk full')) });
  const other = second.reply('a', never);
  full.print(response('a'));
  await expect(other).rejects.toMatchObject({ code: 'peer_closed' });
  await expect(second.closed).rejects.toThrow('disk full');
});

it('lets a waiter abort, and ignores the late reply', async () => {
  const { channel, print } = createTestChannel();
  const peer = createProtocolPeer(channel, ignore);
  const patience = new AbortController();
  const reply = peer.reply('a', patience.signal);
  patience.abort(new Error('too slow'));
  await expect(reply).rejects.toThrow('too slow');
  await expect(peer.reply('b', patience.signal)).rejects.toThrow('too slow');
  print(response('a'));
  channel.finish();
  await peer.closed;
});

const consumed: ReadLine['events'][number] = { type: 'message-progress', messageId: 'm', progress: 'consumed' };
const echoed: ReadLine['events'][number] = { type: 'message-echoed', messageId: 'm', text: 'x' };
const withdrawn: ReadLine['events'][number] = { type: 'withdrawn', requestId: 'r' };
const line = (end: number, ...events: ReadLine['events']): ReadLine => ({ end, events });

/** Batches that the test adds whenever it likes. */
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
    joined: coalesceBatches(read()),
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

it('yields at once the lines that somebody waits for', async () => {
  const { joined, add } = source();
  add([line(1, withdrawn)]);
  expect(ends(await joined.next())).toEqual([1]);
  add([line(2)]);
  expect(ends(await joined.next())).toEqual([2]);
  add([line(3, echoed, withdrawn)]);
  expect(ends(await joined.next())).toEqual([3]);
});

it('joins a text with what follows if it was shown live, and otherwise yields it at once', async () => {
  const { joined, add } = source();
  const ids = { apiMessageId: 'm', parentToolUseId: null };
  const delta: ReadLine['events'][number] = { type: 'delta', index: 0, kind: 'text', text: 'He', ...ids };
  const text: ReadLine['events'][number] = { type: 'block', block: { kind: 'text', text: 'Hello' }, ...ids };
  add([line(1, delta), line(2, text)]);
  const taken = joined.next();
  add([line(3, consumed)]);
  add([line(4, text)]);
  expect(ends(await taken)).toEqual([1, 2, 3, 4]);
  add([line(5, text)]);
  expect(ends(await joined.next())).toEqual([5]);
});

it('tells of lines before they wait for others', async () => {
  const done: string[] = [];
  const { channel, print } = createTestChannel();
  const saying = (what: string) => (lines: readonly ReadLine[]) => done.push(`${what} ${lines.length}`);
  const peer = createProtocolPeer(channel, {
    onRead: (lines) => saying('read')(lines) === 1 && print(response('a')),
    onLines: async (lines) => void saying('stored')(lines),
  });
  const message = { id: 'm', content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }] };
  print({ type: 'assistant', message, parent_tool_use_id: null, uuid: 'u' });
  await expect.poll(() => done.length).toBe(3);
  expect(done).toEqual(['read 1', 'read 1', 'stored 2']);
  channel.finish();
  await peer.closed;
});

it('joins deferrable lines with those behind them', async () => {
  const { joined, add } = source();
  add([line(1, consumed)]);
  const taken = joined.next();
  add([line(2, echoed), line(3)]);
  add([line(4, withdrawn)]);
  add([line(5, withdrawn)]);
  expect(ends(await taken)).toEqual([1, 2, 3, 4]);
  expect(ends(await joined.next())).toEqual([5]);
});

it('yields deferrable lines after a moment when nothing follows', async () => {
  const { joined, add } = source();
  add([line(1, consumed)]);
  expect(ends(await joined.next())).toEqual([1]);
  add([line(2, withdrawn)]);
  expect(ends(await joined.next())).toEqual([2]);
});

it('yields deferrable lines before it ends or fails', async () => {
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
