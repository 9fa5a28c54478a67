import type { TranscriptEntry } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, decision, entry, request, session, stage } from '../../test/samples.ts';
import { FILM_MS, filmOf } from './film.ts';

const id = (digit: string) => digit.repeat(40);
const merged = {
  into: 'main',
  branch: 'callboard/stage-1',
  commit: id('c'),
  head: id('b'),
  previous: id('a'),
  commits: 1,
  at: at(9),
  files: 1,
};
const done = stage('STAGE-1', { title: 'Login form', completedAt: at(9), merged });
const view = board({ stages: [{ stage: done, session: session('STAGE-1', { state: 'ended' }) }] });
const [stageView] = view.stages;

const call = (index: number, toolUseId: string, toolName: string, input: object) =>
  entry(index, 'tool-use', { toolUseId, toolName, input: { ...input } });
const allowed = decision(request('STAGE-1', 'r1'), { by: 'Ada', waitedMs: 12_000, at: at(4), toolUseId: 'c3' });
const entries: TranscriptEntry[] = [
  entry(1, 'user', { text: 'Add a login form\nwith a test', messageId: null, by: 'Ada', attachments: [] }),
  call(2, 'c1', 'Read', { file_path: '/w/a.ts' }),
  call(3, 'c2', 'Edit', { file_path: '/w/a.ts', old_string: 'one\n', new_string: 'one\ntwo\nthree\n' }),
  call(4, 'c3', 'Bash', { command: 'npm i' }),
  entry(5, 'decision', { decision: allowed }),
  entry(6, 'text', { text: '## Done\nIt works.', blockId: 'b' }),
  entry(7, 'turn-end', { outcome: 'succeeded', message: null, durationMs: 1, costUsd: null }),
];

function film(of: readonly TranscriptEntry[]) {
  if (stageView === undefined) throw new Error('the board has no stage');
  return filmOf(stageView, of);
}

it('tells what was asked for, done, allowed by whom after how long, and merged', () => {
  const { steps } = film(entries);
  expect(steps.map(({ text, detail }) => [text, detail].filter(Boolean).join(' | '))).toEqual([
    'Add a login form',
    'Read 1 file, made 1 edit', // the command is in the decision
    'Bash npm i | Allowed by Ada after 12 s',
    'Done',
    'Merged into main as ccccccc',
  ]);
  expect(steps[1]).toMatchObject({ added: 3, removed: 1, sinceStartMs: 3 * 60_000 });
  expect(steps.at(-1)?.atMs).toBeLessThan(FILM_MS);
});

it('keeps its length and the decisions, however long the stage was', () => {
  const long = Array.from({ length: 400 }, (_, n) => ({
    ...entry(n + 8, 'text', { text: `Part ${n}`, blockId: `b${n}` }),
  }));
  const ends = long.map(({ index }) =>
    entry(index, 'turn-end', { outcome: 'succeeded', message: null, durationMs: 1, costUsd: null }),
  );
  const { steps } = film([
    ...entries,
    ...long.flatMap((text, n) => [text, ends[n]]).filter((one) => one !== undefined),
  ]);
  expect(steps).toHaveLength(14);
  expect(steps.map(({ text }) => text)).toContain('Bash npm i');
  expect(steps[0]?.text).toBe('Add a login form');
});

it('shows hidden characters as codes', () => {
  const [first] = entries;
  const { steps } = film([{ ...first, text: 'Pay\u202E now' } as TranscriptEntry]);
  expect(steps[0]?.text).not.toContain('\u202E');
});

it('has the steps as text beside the picture', async () => {
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null); // jsdom draws nothing
  const { server } = openPage('/stages/STAGE-1/replay', view);
  server.answer({ get_transcript: () => ({ entries, total: entries.length }) });
  const steps = await screen.findByRole('list', { name: 'Steps' });
  expect(within(steps).getAllByRole('listitem')).toHaveLength(5);
});
