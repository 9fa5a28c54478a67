import { expect, it } from 'vitest';
import { decision, entry, request } from '../test/samples.ts';
import { hasEarlier, joinTranscripts, lastIndex, withDecisions } from './recent-events.ts';

const text = (index: number) => entry(index, 'text', { text: `t${index}`, blockId: `b${index}` });
const part = (...indices: number[]) => ({ entries: indices.map(text), total: indices.at(-1) ?? 0 });

it('joins two parts in order, each entry once', () => {
  const joined = joinTranscripts(part(3, 4), part(4, 5));
  expect(joined.entries.map((e) => e.index)).toEqual([3, 4, 5]);
  expect(joined.total).toBe(5);
  expect(joinTranscripts(part(1, 2), part(3)).entries).toHaveLength(3);
});

it('knows its last entry, and whether earlier ones exist', () => {
  expect(lastIndex(part(3, 4))).toBe(4);
  expect(lastIndex(part())).toBe(0);
  expect(hasEarlier(part(3))).toBe(true);
  expect(hasEarlier(part(1))).toBe(false);
  expect(hasEarlier(part())).toBe(false);
});

it('updates a decision, and never with an older state', () => {
  const asked = request('STAGE-1', 'r1');
  const made = (delivery: 'accepted' | 'written' | 'confirmed') => decision(asked, { delivery });
  const written = { entries: [entry(1, 'decision', { decision: made('written') })], total: 1 };
  expect(withDecisions(written, [made('confirmed')]).entries[0]).toMatchObject({ decision: { delivery: 'confirmed' } });
  expect(withDecisions(written, [made('accepted')])).toBe(written);
  expect(withDecisions(written, [decision(request('STAGE-1', 'r2'))])).toBe(written);
});

it('ranks a settled answer above an unknown delivery, and a known delivery above both', () => {
  const asked = request('STAGE-1', 'r1');
  const unknown = decision(asked, { delivery: 'unknown' });
  const settled = { ...unknown, settlement: { how: 'dismissed' as const, by: 'Ada', at: unknown.at } };
  const shown = { entries: [entry(1, 'decision', { decision: unknown })], total: 1 };
  const after = withDecisions(shown, [settled]);
  expect(after.entries[0]).toMatchObject({ decision: { settlement: { how: 'dismissed' } } });
  expect(withDecisions(after, [unknown])).toBe(after);
  expect(withDecisions(shown, [decision(asked)]).entries[0]).toMatchObject({ decision: { delivery: 'confirmed' } });
});
