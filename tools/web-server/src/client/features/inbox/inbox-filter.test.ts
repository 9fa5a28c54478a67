import { expect, it } from 'vitest';
import { request } from '../../test/samples.ts';
import { inboxAddress, inboxChoices, matchesInbox, ofRequest, ofStopped, readInboxFilter } from './inbox-items.ts';

const risks = (...codes: string[]) => ({ stakes: codes.map((code) => ({ code, text: code, command: null })) });
const rows = [
  ofRequest(request('A', '1', risks('deletes', 'network')), 'web'),
  ofRequest(request('B', '2', risks('network', 'network')), 'web'),
  ofRequest(request('C', '3', { kind: 'plan', toolName: 'ExitPlanMode', ...risks() }), 'api'),
  ofStopped('api'),
];
const projects = [
  { id: 'web', name: 'Web shop' },
  { id: 'api', name: 'API' },
  { id: 'docs', name: 'Docs' },
];
const read = (query: string) => readInboxFilter(new URLSearchParams(query));
const shown = (query: string) => rows.flatMap((row, nth) => (matchesInbox(row, read(query)) ? [nth] : []));

it('filters by project, kind and risk, together', () => {
  expect(shown('')).toEqual([0, 1, 2, 3]);
  expect(shown('project=web')).toEqual([0, 1]);
  expect(shown('kind=plan')).toEqual([2]);
  expect(shown('kind=stopped')).toEqual([3]);
  expect(shown('risk=network')).toEqual([0, 1]);
  expect(shown('risk=none')).toEqual([2]);
  expect(shown('project=api&risk=network')).toEqual([]);
});

it('offers what occurs, with how much of it the rest of the filter leaves', () => {
  const choices = (name: 'project' | 'kind' | 'risk', query = '') =>
    inboxChoices(name, { rows, filter: read(query), projects }).map(({ label, count }) => `${label} ${count}`);
  expect(choices('project')).toEqual(['Web shop 2', 'API 2']);
  expect(choices('kind')).toEqual(['Tool call 2', 'Plan 1', 'Stopped stage 1']);
  expect(choices('risk')).toEqual(['Deletes 1', 'Network 2', 'Nothing known 1']);
  expect(choices('kind', 'project=web')).toEqual(['Tool call 2']);
  expect(choices('risk', 'project=api&risk=network')).toEqual(['Network 0', 'Nothing known 1']);
});

it('is kept in the address of every row', () => {
  expect(inboxAddress(read(''))).toBe('/inbox');
  expect(inboxAddress(read('project=web&risk=network&request=x'))).toBe('/inbox?project=web&risk=network');
  expect(inboxAddress(read('kind=plan'), { name: 'request', key: 'C/3' })).toBe('/inbox?kind=plan&request=C%2F3');
});
