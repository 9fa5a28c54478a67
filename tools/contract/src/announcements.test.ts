import { expect, it } from 'vitest';
import { at, board, idle, request, session, stage } from '../test/sample-board.ts';
import { sampleDecision } from '../test/samples.ts';
import { announcementPath, announcementsOf, finishedText } from './notifications.ts';

const checkId = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa';
const check = (state: string) => ({ checkId, state, command: 'make', failures: 3, attempts: 3, since: at(2) });
const review = (state: string) => ({ runId: checkId, state, findings: 0, since: at(3) });
type One = Parameters<typeof board>[0]['stages'][number];
const signals = (...stages: One[]) => announcementsOf(board({ stages })).map(({ signal }) => signal);
const turn = (fields: object) => ({ lastTurn: { outcome: 'failed', at: at(0), message: null, code: null, ...fields } });

it.each<[string, One, string[]]>([
  ['a failed turn', idle('A', 'failed'), ['failed']],
  [
    'a session that could not be started',
    { stage: stage('A'), session: session('A', { state: 'failed' }) },
    ['failed'],
  ],
  ['a check out of attempts', idle('A', 'succeeded', { atGate: true, check: check('failed') }), ['failed']],
  ['a review without a result', idle('A', 'succeeded', { atGate: true, review: review('failed') }), ['failed']],
  ['a phase that a person starts', idle('A', 'succeeded', { atGate: true }), ['waiting']],
  ['a check that a person stopped', idle('A', 'succeeded', { atGate: true, check: check('stopped') }), ['waiting']],
  ['a silent session', { stage: stage('A'), session: session('A', { stalledSince: at(1) }) }, ['waiting']],
  ['an interrupted turn', idle('A', 'interrupted'), ['waiting']],
  ['a missing login', idle('A', 'failed', turn({ code: 'not-logged-in' })), ['waiting']],
  ['settings to agree to', idle('A', 'failed', turn({ code: 'settings-not-agreed' })), ['waiting']],
  ['a stage that is ready for review', idle('A', 'succeeded'), ['finished']],
  ['a working stage', { stage: stage('A'), session: session('A') }, []],
  ['a stage that was not started', { stage: stage('A') }, []],
  ['a completed stage', { stage: stage('A', { completedAt: at(1) }), session: session('A', { state: 'ended' }) }, []],
])('tells of %s', (_, one, expected) => {
  expect(signals(one)).toEqual(expected);
});

const merging = (state: string, turn: string | null = at(4)) => ({
  finishing: { way: 'merge', state, by: 'Callboard', at: at(4), turn, order: null, problem: null },
});
const merged = (fields: object) => ({
  commit: 'c'.repeat(40),
  head: 'd'.repeat(40),
  into: 'main',
  branch: 'b',
  previous: null,
  commits: 1,
  files: 1,
  at: at(9),
  ...fields,
});
const finished = (fields: Record<string, unknown>) => ({ ...idle('A', 'succeeded', {}, 4), stage: stage('A', fields) });

it('tells once that Callboard merges a stage: the same before, during and after', () => {
  const stages = [
    finished({}),
    finished(merging('under-way')),
    finished({ ...merging('under-way'), completedAt: at(5) }), // killed before it was noted
    finished({ ...merging('done'), completedAt: at(5) }),
  ];
  const view = board({ stages });
  expect(announcementsOf(view).map(({ key }) => key)).toEqual(Array(4).fill(`finished A ${at(4)}`));
  expect(view.stages.map(finishedText)).toEqual(['ready for review', 'finished', ...Array(2).fill('merged and done')]);
});

it('tells that a pull request was merged, and nothing of what a person completed', () => {
  const through = (pullRequest: number | null) =>
    announcementsOf(board({ stages: [finished({ completedAt: at(9), merged: merged({ pullRequest }) })] }));
  expect(through(7)).toMatchObject([{ key: `finished A ${at(9)}`, signal: 'finished' }]);
  expect(through(null)).toEqual([]);
  expect(signals(finished({ ...merging('done', null), completedAt: at(5) }))).toEqual([]);
  expect(signals(finished({ ...merging('done', at(1)), completedAt: at(5) }))).toEqual([]); // another turn came after it
  const before = merged({ pullRequest: 7, at: at(2) }); // completed before its pull request was merged, or after
  expect(signals(finished({ completedAt: at(9), merged: before }))).toEqual([]);
});

it('tells of each request once, and not of its stage', () => {
  const asking = { stage: stage('A'), session: session('A', { state: 'waiting' }) };
  const view = board({ stages: [asking], pending: [request('A', 'r'), request('A', 's')] });
  expect(announcementsOf(view).map(({ key, signal }) => [key, signal])).toEqual([
    ['request A r', 'waiting'],
    ['request A s', 'waiting'],
  ]);
});

it('has one key for one occasion, also after the idle process has ended', () => {
  const keys = (one: One) => announcementsOf(board({ stages: [one] })).map(({ key }) => key);
  const finished = keys(idle('A', 'succeeded', {}, 4));
  expect(keys(idle('A', 'succeeded', { state: 'ended', stateSince: at(60) }, 4))).toEqual(finished);
  expect(keys(idle('A', 'succeeded', {}, 5))).not.toEqual(finished);
  expect(keys(idle('A', 'failed', {}, 4))).not.toEqual(finished);
  const stopped = (since: number) => ({
    stage: stage('A'),
    session: session('A', { state: 'failed', stateSince: at(since) }),
  });
  expect(keys(stopped(1))).not.toEqual(keys(stopped(2)));
});

it('leaves out a stage with an answer of unknown delivery, which has a place of its own', () => {
  const unsettled = [sampleDecision({ stageId: 'A', delivery: 'unknown' })];
  expect(announcementsOf(board({ stages: [idle('A', 'failed')], unsettled }))).toEqual([]);
});

it('leads to the request, or to the stage', () => {
  const [asked] = announcementsOf(board({ stages: [{ stage: stage('A') }], pending: [request('A', 'r/1')] }));
  const [ready] = announcementsOf(board({ stages: [idle('A', 'succeeded')] }));
  expect(asked && announcementPath(asked)).toBe('/inbox?request=A%2Fr%2F1');
  expect(ready && announcementPath(ready)).toBe('/stages/A');
});
