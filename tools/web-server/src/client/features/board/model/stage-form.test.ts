import type { StageView } from '@callboard/contract';
import { expect, it } from 'vitest';
import { board, stage } from '../../../test/samples.ts';
import { emptyPhase, emptyStageForm, readStageForm, readStagePatch, stageFormOf } from './stage-form.ts';

it('turns the form into a stage, with trimmed texts', () => {
  const phase = { ...emptyPhase(), name: 'Build', prompt: 'Go' };
  const form = { ...emptyStageForm('web'), title: ' Footer ', prompt: 'Build it', priority: '0', phases: [phase] };
  expect(readStageForm(form)).toEqual({
    stage: {
      title: 'Footer',
      prompt: 'Build it',
      projectId: 'web',
      dependsOn: [],
      priority: 0,
      permissionMode: 'default',
      model: null,
      sandbox: null,
      autoStart: false,
      held: false,
      pipeline: [{ name: 'Build', prompt: 'Go', gate: 'human' }],
    },
  });
});

it('says what is wrong with each field', () => {
  expect(readStageForm({ ...emptyStageForm(''), prompt: '  ' })).toEqual({
    errors: {
      title: 'The title is empty.',
      prompt: 'The prompt is empty.',
      projectId: 'The project is missing; choose one or add one.',
    },
  });
  expect(readStageForm({ ...emptyStageForm('web'), prompt: 'x', title: 'x'.repeat(301) })).toEqual({
    errors: { title: 'The title is longer than 300 characters.' },
  });
  expect(readStageForm({ ...emptyStageForm('web'), prompt: 'x', title: 'x', phases: [emptyPhase()] })).toEqual({
    errors: { phases: 'The name of phase 1 is empty.' },
  });
});

it('sends only what can still change in a started stage', () => {
  const { stages } = board({ stages: [{ stage: stage('STAGE-1', { held: true, model: 'opus', sandbox: false }) }] });
  const form = { ...stageFormOf(stages[0] as StageView), title: 'New' };
  expect(readStagePatch(form, true)).toEqual({ patch: { title: 'New', priority: 2, pipeline: [] } });
  expect(readStagePatch(form, false)).toMatchObject({
    patch: { prompt: 'Do it', held: true, model: 'opus', sandbox: false },
  });
  expect(readStagePatch({ ...form, sandbox: '' }, false)).toMatchObject({ patch: { sandbox: null } });
  expect(readStagePatch({ ...form, sandbox: 'on' }, false)).toMatchObject({ patch: { sandbox: true } });
});
