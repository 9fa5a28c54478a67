import { expect, it } from 'vitest';
import { emptyStageForm, readStageForm } from './stage-form.ts';

it('makes a stage of what was typed, trimmed', () => {
  const form = { ...emptyStageForm('web'), title: ' Footer ', prompt: 'Build it', priority: '0' };
  expect(readStageForm(form)).toEqual({
    stage: {
      title: 'Footer',
      prompt: 'Build it',
      projectId: 'web',
      dependsOn: [],
      priority: 0,
      permissionMode: 'default',
    },
  });
});

it('says of each field what is wrong with it', () => {
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
});
