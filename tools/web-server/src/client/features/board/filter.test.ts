import { expect, it } from 'vitest';
import { board, stage } from '../../test/samples.ts';
import { groupsOf, matchesFilter, readFilter, writeFilter } from './board-filter.tsx';

const { stages } = board({
  stages: [
    { stage: stage('STAGE-001-002-003', { title: 'Login form' }) },
    { stage: stage('STAGE-001-010-001', { projectId: 'api', prompt: 'Add the Search index' }) },
    { stage: stage('STAGE-7') },
  ],
});
const shown = (query: string) =>
  stages.filter((one) => matchesFilter(one, readFilter(new URLSearchParams(query)))).map(({ id }) => id);

it('filters by project, by epic, and by text in title, id and prompt', () => {
  expect(shown('')).toHaveLength(3);
  expect(shown('project=api')).toEqual(['STAGE-001-010-001']);
  expect(shown('group=STAGE-001-002')).toEqual(['STAGE-001-002-003']);
  expect(shown('group=STAGE-001')).toHaveLength(2);
  expect(shown('text=LOGIN')).toEqual(['STAGE-001-002-003']);
  expect(shown('text=search')).toEqual(['STAGE-001-010-001']);
  expect(shown('text=stage-7')).toEqual(['STAGE-7']);
});

it('derives the epics from the ids', () => {
  expect(groupsOf(stages)).toEqual(['STAGE-001', 'STAGE-001-002', 'STAGE-001-010']);
});

it('keeps other parameters of the URL', () => {
  const params = new URLSearchParams('text=a&other=1');
  expect(String(writeFilter(params, { project: 'web', group: '', text: '' }))).toBe('other=1&project=web');
});
