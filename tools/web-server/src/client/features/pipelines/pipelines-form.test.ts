import { BUILT_IN_PIPELINES } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import {
  copyOf,
  emptyPipeline,
  givenPipelines,
  pipelineFacts,
  pipelineFormsOf,
  readPipelineForms,
} from './pipelines-form.tsx';

const phase = { name: 'Build', prompt: 'Build it', gate: { check: { command: 'npm test' } } };
const project = sampleProject({
  settings: { pipelines: { Tested: { phases: [phase], finish: 'merge' }, Plain: { phases: [phase] } } },
  file: { settings: { pipelines: { Ours: { phases: [phase] } } }, problems: [] },
});

it('shows the pipelines of the project, and reads them back as they were', () => {
  const forms = pipelineFormsOf(project);
  expect(forms.map(({ name, finish }) => [name, finish])).toEqual([
    ['Tested', 'merge'],
    ['Plain', ''],
  ]);
  expect(readPipelineForms(forms)).toEqual({ pipelines: project.settings.pipelines });
});

it('lists the pipelines that are not edited here with where they come from, and copies them', () => {
  const given = givenPipelines(project);
  expect(given.map(({ name, origin }) => `${name}: ${origin}`)).toEqual([
    'Ours: file',
    ...BUILT_IN_PIPELINES.map(({ name }) => `${name}: built-in`),
  ]);
  const [ours] = given;
  if (ours === undefined) throw new Error('no pipeline');
  const first = copyOf(ours, []);
  expect(first).toMatchObject({ name: 'Ours (own)', phases: [{ name: 'Build', command: 'npm test' }] });
  expect(copyOf(ours, [first]).name).toBe('Ours (own 2)');
  expect(pipelineFacts({ ...ours, finish: 'merge' })).toBe('1 phase, 1 check, merges automatically');
});

it('says what is wrong with each pipeline', () => {
  const [tested, plain] = pipelineFormsOf(project);
  if (tested === undefined || plain === undefined) throw new Error('no pipelines');
  const read = readPipelineForms([
    tested,
    { ...plain, name: ' tested ' },
    { ...emptyPipeline(), key: 'c', phases: [] },
  ]);
  expect(read).toEqual({
    errors: {
      Plain: { name: 'Another pipeline has this name.' },
      c: { name: 'The name is empty.', phases: 'It has no phases. Add one, or remove the pipeline.' },
    },
  });
  const wrong = { ...tested, phases: tested.phases.map((one) => ({ ...one, prompt: '{{stage.titel}}' })) };
  expect(readPipelineForms([wrong])).toMatchObject({
    errors: { Tested: { phases: expect.stringContaining('The prompt of phase 1 has {{stage.titel}}') } },
  });
});
