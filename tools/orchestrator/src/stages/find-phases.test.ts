import { BUILT_IN_PIPELINES, ProjectPipeline } from '@callboard/contract';
import { expect, it } from 'vitest';
import { findPhases, type PipelineSource } from './find-phases.ts';

const tested = ProjectPipeline.parse({
  phases: [{ name: 'Build', prompt: '{{stage.prompt}}', gate: { check: { command: 'npm test' } } }],
});
const source = (change: Partial<PipelineSource> = {}): PipelineSource => ({
  ...{ settings: { pipelines: { Tested: tested } }, fromFile: [], isAgreed: true },
  ...change,
});

it('finds a pipeline of the project, and a built-in one, whatever the case of its name', () => {
  expect(findPhases(source(), 'tested')).toEqual(tested.phases);
  for (const { name, phases } of BUILT_IN_PIPELINES) expect(findPhases(source(), name.toUpperCase())).toEqual(phases);
});

it('says which pipelines there are', () => {
  expect(findPhases(source(), 'Tset')).toContain('there is no pipeline "Tset"; there are "Tested", "Just do it"');
});

it('runs no command of the repository that nobody agreed to', () => {
  const fromFile = source({ fromFile: ['pipelines'], isAgreed: false });
  expect(findPhases(fromFile, 'Tested')).toContain('runs commands that nobody has agreed to');
  expect(findPhases(fromFile, 'Plan, build, verify')).toHaveLength(3);
  expect(findPhases(source({ isAgreed: false }), 'Tested')).toEqual(tested.phases);
});
