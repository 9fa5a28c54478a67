import type { TranscriptEntry } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decision, entry, request } from '../../test/samples.ts';
import { type GrowingItems, growItems, itemKeys, transcriptItems } from './transcript-items.ts';

const turnEnd = { outcome: 'succeeded' as const, message: null, durationMs: 1, costUsd: 0 };
const calls = ['a', 'b', 'c', 'd'];

/** An entry of any kind, which may belong to any call that was or was not there before. */
const anyEntry = fc.tuple(
  fc.constantFrom('text', 'use', 'read', 'result', 'decision', 'turn-end', 'turn-end', 'ended'),
  fc.constantFrom(...calls),
  fc.constantFrom(null, null, null, 'agent'),
);

function made([kind, call, parent]: [string, string, string | null], index: number): TranscriptEntry {
  const id = `${call}${Math.floor(index / 60)}`;
  switch (kind) {
    case 'use':
      return entry(index, 'tool-use', { toolUseId: id, toolName: 'Bash', input: {} }, parent);
    case 'read':
      return entry(index, 'tool-use', { toolUseId: id, toolName: 'Read', input: {} }, parent);
    case 'result':
      return entry(index, 'tool-result', {
        toolUseId: id,
        isError: false,
        text: '',
        allowedBy: null,
        sandboxFailure: null,
      });
    case 'decision':
      return entry(index, 'decision', { decision: { ...decision(request('STAGE-1', 'x')), toolUseId: id } });
    case 'turn-end':
      return entry(index, 'turn-end', turnEnd);
    case 'ended':
      return entry(index, 'notice', { level: 'warning', code: 'process-ended', text: 'Killed.' });
    default:
      return entry(index, 'text', { text: 't', blockId: `b${index}` }, parent);
  }
}

it('groups a transcript that grows like the whole transcript', () => {
  fc.assert(
    fc.property(
      fc.array(anyEntry, { minLength: 300, maxLength: 600 }),
      fc.integer({ min: 1, max: 90 }),
      (kinds, step) => {
        const entries = kinds.map((kind, at) => made(kind, at + 1));
        let grown: GrowingItems | null = null;
        for (let end = step; end < entries.length + step; end += step) grown = growItems(entries.slice(0, end), grown);
        const whole = transcriptItems(entries);
        expect(grown?.items).toEqual(whole);
        expect(grown?.keys).toEqual(itemKeys(whole));
      },
    ),
    { numRuns: 60 },
  );
});

it('keeps the items of finished turns as they are', () => {
  const turns = (count: number) =>
    Array.from({ length: count }, (_, n) => [
      entry(n * 2 + 1, 'text', { text: 't', blockId: `b${n}` }),
      entry(n * 2 + 2, 'turn-end', turnEnd),
    ]).flat();
  const entries = turns(300);
  const before = growItems(entries);
  const after = growItems([...entries, entry(601, 'text', { text: 'new', blockId: 'new' })], before);
  expect(after.items[17]).toBe(before.items[17]);
  expect(after.settled).toBe(before.settled);
});
