import { expect, it } from 'vitest';
import type { AgentEvent } from '../agent-event.ts';
import { createLiveNow, newestSentence } from './live-now.ts';

const delta = (text: string, more: { kind?: 'text' | 'thinking'; parentToolUseId?: string } = {}): AgentEvent => ({
  type: 'delta',
  apiMessageId: 'm1',
  index: 0,
  kind: 'text',
  parentToolUseId: null,
  text,
  ...more,
});
const preparing: AgentEvent = { type: 'preparing', toolName: 'Write', parentToolUseId: null };
const call: AgentEvent = {
  type: 'block',
  apiMessageId: 'm1',
  parentToolUseId: null,
  block: { kind: 'tool-use', toolUseId: 'u1', toolName: 'Write', input: {} },
};

function after(...events: AgentEvent[]) {
  const live = createLiveNow(() => undefined);
  for (const event of events) live.take(event);
  return live.read();
}

it('tells the text while it is written, then the call that is prepared, and nothing while it runs', () => {
  expect(after(delta('The in'), delta('dex'))).toEqual({ kind: 'writing', text: 'The index' });
  expect(after(delta('The index'), preparing)).toEqual({ kind: 'preparing', toolName: 'Write' });
  expect(after(delta('The index'), preparing, call)).toBeNull();
});

it('tells neither thoughts nor what a subagent writes', () => {
  expect(after(delta('Hm', { kind: 'thinking' }))).toBeNull();
  expect(after(delta('Text'), delta('Hm', { kind: 'thinking' }))).toBeNull();
  expect(after(delta('Text', { parentToolUseId: 'u0' }))).toBeNull();
});

it('tells nothing after the end of the turn', () => {
  const end = { outcome: 'succeeded', message: null, durationMs: 1, costUsd: null, tokens: null } as const;
  expect(after(delta('Done.'), { type: 'turn-ended', end })).toBeNull();
});

it('tells the newest sentence from its beginning, as one plain line', () => {
  expect(newestSentence('The index is built from titles. Next I move the check')).toBe('Next I move the check');
  expect(newestSentence('# Plan\n\n- first **step** of all\n- `second` of them\n')).toBe('second of them');
  expect(newestSentence('See src/cart.ts, which is 1.5 kB')).toBe('See src/cart.ts, which is 1.5 kB');
});

it('tells no code and no mark alone, however long the code is', () => {
  expect(newestSentence('The price has no tax.\n\n```ts\nif (net === un')).toBe('The price has no tax.');
  expect(newestSentence('```ts\nconst a = 1;\n```\nThat is the price of it')).toBe('That is the price of it');
  expect(newestSentence('Two places surprise people:\n\n1.')).toBe('Two places surprise people:');
  expect(newestSentence('```ts\nconst a')).toBe('');
  const code = Array.from({ length: 200 }, (_, n) => delta(`const a${n} = ${n};\n`));
  expect(after(delta('It begins here.\n```ts\n'), ...code)).toEqual({ kind: 'writing', text: '' });
  const told = after(delta('It begins here.\n```ts\n'), ...code, delta('```\nThat was all the code.'));
  expect(told).toEqual({ kind: 'writing', text: 'That was all the code.' });
});

it('tells the sentence before until the new one says something', () => {
  expect(newestSentence('The index is built from titles. Nex')).toBe('The index is built from titles.');
  expect(newestSentence('Now it works. Done.')).toBe('Done.');
  expect(newestSentence('No')).toBe('No');
});

it('tells no more than the beginning of a long sentence', () => {
  const long = newestSentence(`It is ${'word '.repeat(100)}end`);
  expect(long).toHaveLength(120);
  expect(long).toMatch(/^It is word .*…$/);
});
