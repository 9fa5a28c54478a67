import { StageId, TranscriptEntry } from '@callboard/contract';
import { AT } from '@callboard/contract/samples';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { styleOf } from '../text.ts';
import { createTranscriptScreen } from './transcript-screen.ts';

function setUp(width = 40) {
  let shown = '';
  const screen = createTranscriptScreen({
    write: (text) => {
      shown += text;
    },
    columns: () => width,
    place: () => ({ width, style: styleOf({ isTerminal: false, env: {} }) }),
    now: () => new Date(AT),
  });
  return { screen, shown: () => shown };
}

const stageId = StageId.parse('STAGE-1');
const base = { stageId, at: AT, parentToolUseId: null };
const entry = (fields: Record<string, unknown>): TranscriptEntry =>
  TranscriptEntry.parse({ ...base, index: 1, ...fields });
const text = (text: string, blockId = 'b1') => entry({ kind: 'text', text, blockId });
const delta = (text: string, offset: number, blockId = 'b1') => ({
  stageId,
  blockId,
  kind: 'text' as const,
  text,
  offset,
  parentToolUseId: null,
});
const message = (shown: string) =>
  shown
    .replaceAll(/claude \d\d:\d\d/g, '')
    .split(/\s+/)
    .filter((word) => word !== '');

it('draws text while it streams, and then only what is missing', () => {
  const { screen, shown } = setUp();
  screen.delta(delta('I will st', 0));
  expect(shown()).toMatch(/^claude \d\d:\d\d\n {2}I will $/);
  screen.delta(delta('art', 9));
  screen.entry(text('I will start now.'));
  expect(shown()).toMatch(/\n {2}I will start now\.\n$/);
});

it('goes on with a text below what was printed in between, without repeating it', () => {
  const { screen, shown } = setUp();
  screen.delta(delta('One two ', 0));
  screen.lines(['-- between']);
  screen.delta(delta('three ', 8));
  screen.entry(text('One two three four'));
  expect(message(shown())).toEqual(['One', 'two', '--', 'between', 'three', 'four']);
});

it('leaves out the live text of what is stored already', () => {
  const { screen, shown } = setUp();
  screen.entry(text('All of it'));
  screen.delta(delta('All of it', 0));
  expect(message(shown())).toEqual(['All', 'of', 'it']);
});

it('waits for the stored text if some of the stream is missing', () => {
  const { screen, shown } = setUp();
  screen.delta(delta('late', 20));
  expect(shown()).toBe('');
  screen.entry(text('Everything, and not too late'));
  expect(message(shown())).toEqual(['Everything,', 'and', 'not', 'too', 'late']);
});

it('draws every word of a text once and in order, however it arrives', () => {
  const piece = fc.record({
    size: fc.integer({ min: 1, max: 9 }),
    after: fc.constantFrom('', '', '', 'between', 'lost', 'twice'),
  });
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 30 }),
      fc.array(piece),
      fc.integer({ min: 8, max: 50 }),
      (list, pieces, width) => {
        const { screen, shown } = setUp(width);
        const whole = list.join(' ');
        let at = 0;
        for (const { size, after } of pieces) {
          const part = delta(whole.slice(at, at + size), at);
          if (after !== 'lost') screen.delta(part);
          if (after === 'twice') screen.delta(part);
          if (after === 'between') screen.lines([]);
          at += size;
          if (at >= whole.length) break;
        }
        screen.entry(text(whole));
        expect(message(shown()).join('')).toBe(list.join(''));
      },
    ),
  );
});

it('draws each kind of entry, and lets none command the terminal', () => {
  const { screen, shown } = setUp();
  const evil = 'x\x1b[2J\x9b1m\u202ey';
  const entries: Record<string, unknown>[] = [
    { kind: 'user', text: evil, messageId: null, by: evil, attachments: [{ name: evil, mediaType: 'text/plain' }] },
    { kind: 'text', text: evil, blockId: 'b2' },
    { kind: 'tool-use', toolUseId: 't', toolName: evil, input: { command: evil } },
    { kind: 'tool-use', toolUseId: 't', toolName: evil, input: { file_path: evil } },
    { kind: 'tool-result', toolUseId: 't', isError: true, text: evil },
    { kind: 'turn-end', outcome: 'failed', message: evil, durationMs: 1_500, costUsd: 0.1 },
    { kind: 'notice', level: 'error', code: 'worktree', text: evil },
    { kind: 'unknown', raw: { evil } },
  ];
  for (const fields of entries) screen.entry(entry(fields));
  screen.delta(delta(evil, 0, 'b3'));
  screen.lines([]);
  expect(shown().replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
  expect(shown().match(/⟨\\x1b⟩/g)?.length).toBeGreaterThanOrEqual(8);
});
