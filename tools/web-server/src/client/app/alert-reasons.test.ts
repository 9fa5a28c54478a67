import { expect, it } from 'vitest';
import { at, board, request, session, stage } from '../test/samples.ts';
import { alertReasons, newAlertReasons } from './alert-reasons.ts';

const idle = (id: string, outcome: string) => ({
  stage: stage(id),
  session: session(id, { state: 'idle', lastTurn: { outcome, at: at(0), message: 'no credit', code: null } }),
});
const asking = (id: string) => ({ stage: stage(id), session: session(id, { state: 'waiting' }) });
const titles = (before: ReturnType<typeof board>, now: ReturnType<typeof board>) =>
  newAlertReasons(alertReasons(before), alertReasons(now)).map(({ title }) => title);

it('alerts once about each request, and about a stage that stops without one', () => {
  const quiet = board({ stages: [idle('A', 'succeeded'), asking('B')] });
  const both = board({ stages: [idle('A', 'failed'), asking('B')], pending: [request('B', 'r')] });
  expect(titles(quiet, both)).toEqual(['Title of B: Run this command?', 'Title of A: the last turn failed: no credit']);
  expect(titles(both, both)).toEqual([]);
  // A second request of the same stage is a new reason.
  const more = board({ stages: [idle('A', 'failed'), asking('B')], pending: [request('B', 'r'), request('B', 's')] });
  expect(titles(both, more)).toEqual(['Title of B: Run this command?']);
});

it('alerts once about many stages that stop together', () => {
  const names = ['A', 'B', 'C', 'D'];
  const before = board({ stages: names.map((id) => idle(id, 'succeeded')) });
  expect(titles(before, board({ stages: names.map((id) => idle(id, 'interrupted')) }))).toEqual(['4 stages need you']);
});
