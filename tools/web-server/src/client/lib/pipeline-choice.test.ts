import { BUILT_IN_PIPELINES, ProjectPipelines, pipelinesOf } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { emptyPhase, type PhaseForm } from './phases.ts';
import { choosePipeline, chosenPipeline, needsAgreement, OWN_PHASES, phasesOf } from './stage-form.ts';

it('names the pipeline whose phases are in the form, and none once they were changed', () => {
  const own = { Tested: { phases: [{ name: 'Build', prompt: 'Build', gate: 'none', conversation: 'same' }] } } as const;
  const pipelines = pipelinesOf({ file: {}, own: { Tested: { phases: [...own.Tested.phases] } } });
  expect(pipelines[0]?.name).toBe('Tested');
  const nameOf = (phases: PhaseForm[], finish = '') => chosenPipeline(pipelines, { phases, finish })?.name;
  for (const { name, phases } of pipelines) expect(nameOf(phasesOf(phases))).toBe(name);
  const [, second] = BUILT_IN_PIPELINES;
  const changed = phasesOf(second?.phases ?? []).map((phase) => ({ ...phase, prompt: 'Other' }));
  expect(nameOf(changed)).toBeUndefined();
  expect(nameOf([emptyPhase()])).toBeUndefined();
});

const phases = [{ name: 'Build', prompt: 'Build', gate: { check: { command: 'npm test' } } }];
const merged = ProjectPipelines.parse({ Merged: { phases, finish: 'merge' } });

it('names the one of two with the same phases that finishes likewise', () => {
  const twins = pipelinesOf({ file: ProjectPipelines.parse({ Twin: { phases } }), own: merged });
  const form = choosePipeline(twins, { phases: [], finish: '' }, 'Merged');
  expect(chosenPipeline(twins, form)?.name).toBe('Merged');
  expect(chosenPipeline(twins, { ...form, finish: '' })?.name).toBe('Twin');
});

it('takes the way to finish from the pipeline, unless a person has chosen one', () => {
  const pipelines = pipelinesOf({ file: {}, own: merged });
  const chosen = choosePipeline(pipelines, { phases: [], finish: '' }, 'Merged');
  expect(chosen).toMatchObject({ phases: [{ name: 'Build' }], finish: 'merge' });
  expect(choosePipeline(pipelines, chosen, 'Just do it')).toEqual({ phases: [], finish: '' });
  expect(choosePipeline(pipelines, { ...chosen, finish: 'none' }, 'Just do it')).toMatchObject({ finish: 'none' });
  expect(choosePipeline(pipelines, chosen, OWN_PHASES)).toMatchObject({ phases: [{ name: '' }], finish: '' });
});

it('offers a pipeline of callboard.yaml that acts only when people agreed to it', () => {
  const item = { kind: 'command' as const, text: 'Checks', value: 'npm test', file: 'callboard.yaml' };
  const project = (isNew: boolean) =>
    sampleProject({ trust: { needed: isNew, hash: 'h', items: [{ ...item, isNew }] } });
  const [ofFile] = pipelinesOf({ file: merged, own: {} });
  const [own] = pipelinesOf({ file: {}, own: merged });
  if (ofFile === undefined || own === undefined) throw new Error('no pipelines');
  expect([needsAgreement(ofFile, project(true)), needsAgreement(ofFile, project(false))]).toEqual([true, false]);
  expect(needsAgreement(own, project(true))).toBe(false);
});
