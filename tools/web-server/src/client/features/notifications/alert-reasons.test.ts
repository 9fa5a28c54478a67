import { expect, it } from 'vitest';
import { at, board, request, session, stage } from '../../test/samples.ts';
import { alertReasons, newAlertReasons } from './alerts.ts';

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

it('alerts about a stage that is ready for review, and leads to what each is about', () => {
  const before = board({ stages: [asking('A'), asking('B'), idle('C', 'failed')] });
  const now = board({
    stages: [idle('A', 'succeeded'), asking('B'), idle('C', 'failed')],
    pending: [request('B', 'r')],
  });
  expect(newAlertReasons(alertReasons(before), alertReasons(now))).toMatchObject([
    { signal: 'waiting', title: 'Title of B: Run this command?', path: '/inbox?request=B%2Fr', stageId: 'B' },
    { signal: 'finished', title: 'Title of A: ready for review', path: '/stages/A', stageId: 'A' },
  ]);
});

it('alerts once about many stages that stop together', () => {
  const names = ['A', 'B', 'C', 'D'];
  const before = board({ stages: names.map((id) => idle(id, 'succeeded')) });
  expect(titles(before, board({ stages: names.map((id) => idle(id, 'interrupted')) }))).toEqual(['4 stages need you']);
  expect(titles(before, board({ stages: names.map((id) => idle(id, 'failed')) }))).toEqual(['4 stages have failed']);
  const working = board({ stages: names.map(asking) });
  expect(titles(working, before)).toEqual(['4 stages are finished']);
});
