import { expect, it } from 'vitest';
import type { AgentEvent } from '../agent-event.ts';
import { createLiveNow, plainTail } from './live-now.ts';

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

it('makes one plain line of the end of a text', () => {
  expect(plainTail('# Plan\n\n- first **step**\n- `second`\n')).toBe('Plan first step second');
  const long = plainTail(`${'word '.repeat(100)}end`);
  expect(long.length).toBeLessThanOrEqual(120);
  expect(long).toMatch(/^word .* end$/);
  expect(plainTail('x'.repeat(500))).toHaveLength(120);
});
