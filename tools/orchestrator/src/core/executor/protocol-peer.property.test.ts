import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Channel } from '../claude/channel.ts';
import { createLineReader } from '../claude/frames.ts';
import { createProtocolPeer, type ReadLine } from './output-handler.ts';

/** A line; for a reply also its id and content. */
interface Said {
  text: string;
  id?: string;
  n?: number;
}
const id = fc.constantFrom('a', 'b', 'constructor', '__proto__');
const reply = fc.record({ id, ok: fc.boolean(), n: fc.nat() }).map(({ id, ok, n }): Said => {
  const response = { subtype: ok ? 'success' : 'error', request_id: id, response: { n }, error: String(n) };
  return { id, n, text: JSON.stringify({ type: 'control_response', response }) };
});
const request = fc
  .constantFrom('can_use_tool', 'hook_callback', 'unheard_of')
  .map(
    (subtype): Said => ({ text: JSON.stringify({ type: 'control_request', request_id: 'r1', request: { subtype } }) }),
  );
const cancel = id.map((name): Said => ({ text: JSON.stringify({ type: 'control_cancel_request', request_id: name }) }));
const noise = fc
  .oneof(fc.constantFrom('', '{', 'null', '[1]', '\u2028'), fc.string({ unit: 'grapheme' }))
  .map((text): Said => ({ text: text.replaceAll('\n', ' ') }));
const lines = fc.array(fc.oneof(reply, request, cancel, noise), { maxLength: 20 });

/** A process that prints these bytes in pieces of these sizes, then ends. */
function printed(text: string, sizes: readonly number[]): Channel {
  return {
    async *lines() {
      const reader = createLineReader(0);
      let rest = Buffer.from(text);
      for (const size of [...sizes, rest.length]) {
        yield reader.push(rest.subarray(0, size));
        rest = rest.subarray(size);
      }
    },
    write: async () => undefined,
    finish: () => undefined,
    close: () => undefined,
  };
}

it('handles every line once and in order, and gives every waiter the first reply to its id, or an error', async () => {
  await fc.assert(
    fc.asyncProperty(lines, fc.array(fc.nat({ max: 60 }), { maxLength: 30 }), async (said, sizes) => {
      const taken: ReadLine[] = [];
      const onLines = async (read: ReadLine[]) => void taken.push(...read);
      const peer = createProtocolPeer(printed(said.map(({ text }) => `${text}\n`).join(''), sizes), { onLines });
      const waiters = ['a', 'b', 'constructor', '__proto__', 'nobody'];
      const reported = waiters.map((waiter) =>
        peer.reply(waiter, new AbortController().signal).then(
          ({ response }) => ({ response }),
          (error: Error & { code: string }) => (error.code === 'refused' ? { refused: error.message } : error.code),
        ),
      );
      await peer.closed;

      let end = 0;
      const ends = said.map(({ text }) => {
        end += Buffer.byteLength(text) + 1;
        return text.trim() === '' ? [] : [end];
      });
      expect(taken.map((line) => line.end)).toEqual(ends.flat());
      for (const [index, waiter] of waiters.entries()) {
        const first = said.find((line) => line.id === waiter);
        const expected = first === undefined ? 'peer_closed' : { n: first.n };
        const got = await reported[index];
        if (typeof got === 'string') expect(got).toBe(expected);
        else if (got !== undefined && 'refused' in got) expect({ n: Number(got.refused) }).toEqual(expected);
        else expect(got?.response).toEqual(expected);
      }
    }),
    { numRuns: 300 },
  );
});
