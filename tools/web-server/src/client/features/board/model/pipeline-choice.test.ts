import { BUILT_IN_PIPELINES, pipelinesOf } from '@callboard/contract';
import { expect, it } from 'vitest';
import { emptyPhase } from '../../../lib/phase-form.ts';
import { OWN_PHASES, pipelineName } from './pipeline-choice.ts';
import { phasesOf } from './stage-form.ts';

it('names the pipeline whose phases are in the form, and none once they were changed', () => {
  const own = { Tested: { phases: [{ name: 'Build', prompt: 'Build', gate: 'none', conversation: 'same' }] } } as const;
  const pipelines = pipelinesOf({ file: {}, own: { Tested: { phases: [...own.Tested.phases] } } });
  expect(pipelines[0]?.name).toBe('Tested');
  for (const { name, phases } of pipelines) expect(pipelineName(pipelines, phasesOf(phases))).toBe(name);
  const [, second] = BUILT_IN_PIPELINES;
  const changed = phasesOf(second?.phases ?? []).map((phase) => ({ ...phase, prompt: 'Other' }));
  expect(pipelineName(pipelines, changed)).toBe(OWN_PHASES);
  expect(pipelineName(pipelines, [emptyPhase()])).toBe(OWN_PHASES);
});
