import { NewPhases, type Phase } from '@callboard/contract';
import { expect, it } from 'vitest';
import { emptyPhase, type PhaseForm, phaseFormOf, phaseOf, phaseProblem } from './phases.ts';

const problemsOf = (...phases: PhaseForm[]): string[] => {
  const parsed = NewPhases.safeParse(phases.map(phaseOf));
  return (parsed.error?.issues ?? []).map(({ path, message }) => phaseProblem(phases, path, message));
};
const typed = (change: Partial<PhaseForm>): PhaseForm => ({
  ...emptyPhase(),
  name: 'Build',
  prompt: 'Build it',
  ...change,
});

it.each<Phase>([
  { name: 'Plan', prompt: 'Plan it', gate: 'human', conversation: 'same' },
  { name: 'Plan', prompt: 'Plan it', gate: 'none', conversation: 'fresh', permissionMode: 'plan' },
  {
    name: 'Build',
    prompt: 'Build',
    gate: { check: { command: 'npm test', timeLimit: 90, attempts: 2 } },
    conversation: 'same',
  },
  {
    name: 'Build',
    prompt: 'Build',
    conversation: 'same',
    gate: { check: { command: 'npm test', timeLimit: 600, attempts: 3, message: 'Mend {{check.output}}' } },
  },
])('keeps the phase %j through the form', (phase) => {
  expect(phaseOf(phaseFormOf(phase, 'a'))).toEqual(phase);
});

it('says in words what is wrong', () => {
  const check = { gate: 'check', command: 'npm test' } as const;
  expect(problemsOf(typed({}))).toEqual([]);
  expect(problemsOf(typed({ name: ' ' }))).toEqual(['The name of phase 1 is empty.']);
  expect(problemsOf(typed({}), typed({ prompt: '' }))).toEqual(['The prompt of phase 2 is empty.']);
  expect(problemsOf(typed({ prompt: 'See {{stage.titel}}' }))[0]).toContain(
    'The prompt of phase 1 has {{stage.titel}} in line 1, which is no name: there are {{stage.title}}',
  );
  expect(problemsOf(typed({ ...check, command: '' }))).toEqual(['The command of the check of phase 1 is empty.']);
  expect(problemsOf(typed({ ...check, minutes: 'ten' }))).toEqual([
    'The time limit of the check of phase 1 is not a number.',
  ]);
  expect(problemsOf(typed({ ...check, minutes: '0' }))).toEqual([
    'The time limit of the check of phase 1 is below one second.',
  ]);
  expect(problemsOf(typed({ ...check, attempts: '21' }))).toEqual(['The number of attempts of phase 1 is above 20.']);
  expect(problemsOf(typed({ ...check, attempts: '1.5' }))).toEqual([
    'The number of attempts of phase 1 is not a whole number.',
  ]);
});
