import { expect, it } from 'vitest';
import { z } from 'zod';
import { NewStage, type StageField, shownFields } from './stage-fields.ts';

const phase = { name: 'Build', prompt: 'Build it.' };
const problemsOf = (pipeline: unknown) =>
  NewStage.safeParse({ projectId: 'shop', title: 'T', prompt: 'P', pipeline }).error?.issues.map(
    ({ path, message }) => `${path.join('.')} ${message}`,
  );

it.each<[unknown, string]>([
  ['  ', 'pipeline is empty'],
  ['x'.repeat(101), 'pipeline is longer than 100 characters'],
  [7, 'pipeline is a list of phases, or the name of a pipeline'],
  [phase, 'pipeline is a list of phases, or the name of a pipeline'],
  [[phase, { ...phase, prompt: '' }], 'pipeline.1.prompt is empty'],
  [Array.from({ length: 21 }, () => phase), 'pipeline has more than 20 phases'],
])('says what is wrong with the pipeline %j', (pipeline, problem) => {
  expect(problemsOf(pipeline)).toEqual([problem]);
});

it.each([undefined, 'Just do it', [], [phase]])('takes the pipeline %j', (pipeline) => {
  expect(problemsOf(pipeline)).toBeUndefined();
});

it('keeps the indentation of the first line of a prompt, and drops blank lines around it', () => {
  const prompt = ' \n\r\n    indented();\n\ttab\n\n ';
  const pipeline = [{ ...phase, prompt }];
  const parsed = NewStage.parse({ projectId: 'shop', title: 'T', prompt, pipeline });
  const saved = '    indented();\n\ttab';
  expect(parsed).toMatchObject({ prompt: saved, pipeline: [{ prompt: saved }] });
  expect(problemsOf([{ ...phase, prompt: ' \n\t\n' }])).toEqual(['pipeline.0.prompt is empty']);
});

it('shows a field with a value where its definition says', () => {
  const text: Pick<StageField, 'given' | 'stored' | 'afterStart'> = {
    given: z.string(),
    stored: z.string(),
    afterStart: 'form',
  };
  const fields = { ticket: { ...text, label: 'Ticket', onCard: true }, note: { ...text, inList: true } } as const;
  expect(shownFields({ ticket: 'SHOP-7', note: null }, 'onCard', fields)).toEqual([
    { label: 'Ticket', text: 'SHOP-7' },
  ]);
  expect(shownFields({ ticket: 'SHOP-7', note: null }, 'inList', fields)).toEqual([]);
  expect(shownFields({ note: 'later' }, 'inList', fields)).toEqual([{ label: 'note', text: 'later' }]);
});
