import { mapStageFields, type StageView } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { board, stage } from '../test/samples.ts';
import { emptyPhase } from './phases.ts';
import {
  changedSince,
  emptyStageForm,
  nextStageForm,
  readStageForm,
  readStagePatch,
  stageFormOf,
} from './stage-form.ts';

const web = sampleProject({ id: 'web' });

it('turns the form into a stage, with trimmed texts', () => {
  const phase = { ...emptyPhase(), name: 'Build', prompt: 'Go' };
  const form = { ...emptyStageForm(web), title: ' Footer ', prompt: 'Build it', priority: '0', phases: [phase] };
  expect(readStageForm(form)).toEqual({
    stage: {
      title: 'Footer',
      prompt: 'Build it',
      projectId: 'web',
      dependsOn: [],
      priority: 0,
      promptIsCommand: false,
      permissionMode: 'default',
      ...mapStageFields('isText', () => null),
      sandbox: null,
      autoStart: false,
      held: false,
      pipeline: [{ name: 'Build', prompt: 'Go', gate: 'human', conversation: 'same' }],
    },
  });
});

it('says what is wrong with each field', () => {
  expect(readStageForm({ ...emptyStageForm(undefined), prompt: '  ' })).toEqual({
    errors: {
      prompt: 'The prompt is empty.',
      projectId: 'The project is missing; choose one or add one.',
    },
  });
  expect(readStageForm({ ...emptyStageForm(web), prompt: 'x', title: 'x'.repeat(301) })).toEqual({
    errors: { title: 'The title is longer than 300 characters.' },
  });
  expect(readStageForm({ ...emptyStageForm(web), prompt: 'x', title: 'x', phases: [emptyPhase()] })).toEqual({
    errors: { phases: 'The name of phase 1 is empty.' },
  });
});

it('sends only what can still change in a started stage', () => {
  const { stages } = board({ stages: [{ stage: stage('STAGE-1', { held: true, model: 'opus', sandbox: false }) }] });
  const form = { ...stageFormOf(stages[0] as StageView), title: 'New' };
  const sent = readStagePatch(form, true);
  expect(sent).toMatchObject({ patch: { title: 'New', priority: 2, group: null, finish: null, pipeline: [] } });
  const stays = ['prompt', 'promptIsCommand', 'permissionMode', 'effort', 'base', 'branch', 'model', 'dependsOn'];
  expect('patch' in sent && stays.filter((key) => key in sent.patch)).toEqual([]);
  expect(readStagePatch(form, false)).toMatchObject({
    patch: { prompt: 'Do it', held: true, model: 'opus', sandbox: false },
  });
  expect(readStagePatch({ ...form, sandbox: '' }, false)).toMatchObject({ patch: { sandbox: null } });
  expect(readStagePatch({ ...form, sandbox: 'on' }, false)).toMatchObject({ patch: { sandbox: true } });
});

it('sends only what was changed in the form, with the texts that were shown there', () => {
  const { stages } = board({ stages: [{ stage: stage('STAGE-1', { model: 'opus' }) }] });
  const shown = stages[0] as StageView;
  const read = readStagePatch({ ...stageFormOf(shown), prompt: 'Do more' }, false);
  if (!('patch' in read)) throw new Error('the form is not valid');
  const seen = { title: shown.title, prompt: 'Do it' };
  expect(changedSince(shown, read.patch)).toEqual({ prompt: 'Do more', seen });
});

it('takes the title from the prompt until somebody writes one', () => {
  const form = { ...emptyStageForm(web), prompt: 'Build the footer. It has three columns.' };
  expect(readStageForm(form)).toMatchObject({ stage: { title: 'Build the footer' } });
  expect(readStageForm({ ...form, title: 'Footer' })).toMatchObject({ stage: { title: 'Footer' } });
});

it('sends effort, base, branch and group, and a prompt as a command only if it can be one', () => {
  const chips = { effort: 'high', base: ' develop ', branch: 'feature/x', group: 'shop', isCommand: true };
  const form = { ...emptyStageForm(web), ...chips, prompt: '/init' };
  expect(readStageForm(form)).toMatchObject({
    stage: { effort: 'high', base: 'develop', branch: 'feature/x', group: 'shop', promptIsCommand: true },
  });
  expect(readStageForm({ ...form, prompt: 'init' })).toMatchObject({ stage: { promptIsCommand: false } });
  expect(readStageForm({ ...form, group: 'x'.repeat(61) })).toEqual({
    errors: { group: 'The group is longer than 60 characters.' },
  });
});

it('keeps the chips for the next stage, not its texts', () => {
  const form = { ...emptyStageForm(web), prompt: 'x', title: 'y', branch: 'z', model: 'opus', group: 'shop' };
  expect(nextStageForm(form)).toMatchObject({ prompt: '', title: '', branch: '', model: 'opus', group: 'shop' });
});

it('begins with the defaults of its project, of which the file decides all but the mode', () => {
  const file = { settings: { defaults: { model: 'haiku' } }, problems: [] };
  const settings = { defaults: { model: 'opus', effort: 'high', mode: 'plan' } };
  expect(emptyStageForm(sampleProject({ settings, file }))).toMatchObject({
    model: 'haiku',
    effort: 'high',
    permissionMode: 'plan',
  });
});
