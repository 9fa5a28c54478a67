import { expect, it } from 'vitest';
import { board, stage } from '../../test/samples.ts';
import { isLaneFolded, laneOf, lanesOf } from './columns.ts';
import { graphOf, relationsOf, relationsText } from './graph-model.ts';

const done = { completedAt: '2026-01-01T11:00:00.000Z' };
const [login, cart, pay, mail] = [
  stage('STAGE-1', { title: 'Login', ...done }),
  stage('STAGE-2', { title: 'Cart', group: 'shop' }),
  stage('STAGE-3', { title: 'Pay', group: 'shop', dependsOn: ['STAGE-1', 'STAGE-2', 'STAGE-9'] }),
  stage('STAGE-4', { title: 'Mail', dependsOn: ['STAGE-3'] }),
];
const view = board({ stages: [login, cart, pay, mail].map((one) => ({ stage: one })) });
const all = () => true;

it('has an edge for each dependency between two stages that the filter keeps', () => {
  expect(graphOf(view, all).edges.map((edge) => edge.join(' > '))).toEqual([
    ...['STAGE-1 > STAGE-3', 'STAGE-2 > STAGE-3', 'STAGE-3 > STAGE-4'],
  ]);
  expect(graphOf(view, ({ id }) => id !== 'STAGE-3')).toEqual({
    stageIds: ['STAGE-1', 'STAGE-2', 'STAGE-4'],
    edges: [],
  });
});

it('says what a stage waits for, what is done before it, and what it blocks', () => {
  const text = (of: typeof login) => relationsText(relationsOf(view, of.id));
  expect(text(pay)).toBe('Waits for Cart and STAGE-9. After Login, which is done. Blocks Mail.');
  expect(text(login)).toBe('Waits for nothing and blocks nothing.');
  expect(text(cart)).toBe('Blocks Pay.');
  const many = Array.from({ length: 9 }, (_, n) => `S${n}`);
  expect(relationsText({ waitsFor: many, after: [], blocks: [] })).toBe(
    'Waits for S0, S1, S2, S3, S4, S5, and 3 more.',
  );
});

it('cuts the board into lanes by group, or by the epic of an imported id; stages without either come last', () => {
  expect(laneOf(stage('STAGE-001-002-003'))).toBe('STAGE-001');
  expect(laneOf(stage('STAGE-001-002-003', { group: 'shop' }))).toBe('shop');
  expect(laneOf(stage('STAGE-12'))).toBe('');
  const lanes = lanesOf(view, all);
  expect(lanes.map(({ name, total }) => [name, total])).toEqual([
    ['shop', 2],
    ['', 2],
  ]);
  expect(lanes[0]?.stages).toMatchObject({ ready: ['STAGE-2'], backlog: ['STAGE-3'], done: [] });
  expect(lanesOf(view, ({ group }) => group === 'shop')).toHaveLength(1);
});

it('folds a lane once all of it is done, unless a person left it otherwise', () => {
  const [lane] = lanesOf(view, ({ id }) => id === login.id);
  if (lane === undefined) throw new Error('there is no lane');
  expect(isLaneFolded(lane, {})).toBe(true);
  expect(isLaneFolded(lane, { '': false })).toBe(false);
  const [shop] = lanesOf(view, all);
  expect(shop !== undefined && isLaneFolded(shop, {})).toBe(false);
});
