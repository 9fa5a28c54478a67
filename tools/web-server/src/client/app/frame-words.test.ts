import { expect, it } from 'vitest';
import { absenceWords, callWords, healthWords } from './frame-words.ts';

it('names who needs a person, the first four by title', () => {
  expect(callWords([])).toBe('No stage needs you');
  expect(callWords(['Login form'])).toBe('1 stage needs you: Login form');
  expect(callWords(['A', 'B', 'C', 'D', 'E', 'F'])).toBe('6 stages need you: A, B, C, D and 2 more');
});

it('has a word for what is wrong, and none while all is well', () => {
  const well = { connection: 'open', orchestrator: 'ready' } as const;
  expect(healthWords(well, { state: 'ready' })).toBeNull();
  expect(healthWords(well, { state: 'unknown' })).toBeNull();
  expect(healthWords({ connection: 'lost', orchestrator: 'unreachable' }, { state: 'missing' })).toBe('No connection');
  expect(healthWords({ ...well, orchestrator: 'unreachable' }, { state: 'ready' })).toBe('Orchestrator offline');
  expect(healthWords(well, { state: 'missing' })).toBe('Claude: not found');
  expect(healthWords(well, { state: 'not-logged-in' })).toBe('Claude: not logged in');
});

it('says what an absence means and what to do', () => {
  const well = { connection: 'open', orchestrator: 'ready', isHeldUp: false } as const;
  expect(absenceWords({ ...well, connection: 'connecting' })).toBeNull();
  expect(absenceWords({ ...well, connection: 'lost' })?.so).toContain('start it again');
  expect(absenceWords({ ...well, orchestrator: 'unreachable' })?.so).toContain('processes continue');
  expect(absenceWords({ ...well, isHeldUp: true })?.says).toContain('proxy');
});
