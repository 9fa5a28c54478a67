import { expect, it } from 'vitest';
import { board, session, stage } from '../../test/samples.ts';
import { listRows, readSorting } from './stage-list.tsx';

const view = board({
  stages: [
    { stage: stage('STAGE-1', { title: 'B' }), session: session('STAGE-1', { costUsd: 1 }) },
    { stage: stage('STAGE-2', { title: 'A' }), session: session('STAGE-2', { costUsd: 3 }) },
    { stage: stage('STAGE-3') },
  ],
});
const sorted = (query: string) => listRows(view.stages, readSorting(new URLSearchParams(query))).map(({ id }) => id);

it('lists the stages, sorted as the URL says', () => {
  expect(sorted('sort=stage')).toEqual(['STAGE-2', 'STAGE-1', 'STAGE-3']);
  expect(sorted('sort=cost')).toEqual(['STAGE-3', 'STAGE-1', 'STAGE-2']);
  expect(sorted('sort=cost&order=down')).toEqual(['STAGE-2', 'STAGE-1', 'STAGE-3']);
  expect(sorted('')).toHaveLength(3);
});
