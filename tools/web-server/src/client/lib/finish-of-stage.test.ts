import { Phase } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { finishOfStage } from './stage-options.ts';

const phase = (gate: 'none' | 'human') => Phase.parse({ name: 'Build', prompt: 'Build it.', gate });
const stage = (finish: 'none' | 'merge' | null, gate: 'none' | 'human' = 'none') => ({
  finish,
  pipeline: [phase(gate)],
});
const project = (of: 'merge' | 'none', inFile?: 'pull-request', isNew = false) =>
  sampleProject({
    settings: { finish: of },
    file: inFile === undefined ? null : { settings: { finish: inFile }, problems: [] },
    trust: {
      ...sampleProject().trust,
      items: [{ kind: 'other', text: 'Finishes', value: 'pull-request', file: 'callboard.yaml', isNew }],
    },
  });

it('says what happens after the last phase, and who decides that', () => {
  expect(finishOfStage(stage('merge'), project('none'))).toBe('Merges automatically (set for this stage)');
  expect(finishOfStage(stage('none'), project('merge'))).toBe('You finish it (set for this stage)');
  expect(finishOfStage(stage(null), project('merge'))).toBe('Merges automatically (project default)');
  expect(finishOfStage(stage(null), project('merge', 'pull-request'))).toBe(
    'Opens a pull request automatically (from callboard.yaml)',
  );
  expect(finishOfStage(stage(null), project('merge', 'pull-request', true))).toBe(
    'You finish it (until somebody agrees to callboard.yaml)',
  );
  expect(finishOfStage(stage('merge', 'human'), project('none'))).toBe('You finish it (the last phase ends with you)');
  expect(finishOfStage(stage(null), undefined)).toBe('You finish it (project default)');
});
