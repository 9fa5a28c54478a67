import { expect, it } from 'vitest';
import { absenceText, callText, healthText } from './header.tsx';

it('names who needs a person, the first four by title', () => {
  expect(callText(['Login form'])).toBe('1 stage needs you: Login form');
  expect(callText(['A', 'B', 'C', 'D', 'E', 'F'])).toBe('6 stages need you: A, B, C, D and 2 more');
});

it('has a word for what is wrong, and none while all is well', () => {
  const well = { connection: 'open', orchestrator: 'ready' } as const;
  expect(healthText(well, { state: 'ready' })).toBeNull();
  expect(healthText(well, { state: 'unknown' })).toBeNull();
  expect(healthText({ connection: 'lost', orchestrator: 'unreachable' }, { state: 'missing' })).toBe('No connection');
  expect(healthText({ ...well, orchestrator: 'unreachable' }, { state: 'ready' })).toBe('Orchestrator offline');
  expect(healthText(well, { state: 'missing' })).toBe('Claude: not found');
  expect(healthText(well, { state: 'not-logged-in' })).toBe('Claude: not logged in');
});

it('says what an absence means and what to do', () => {
  const well = { connection: 'open', orchestrator: 'ready', isStalled: false } as const;
  expect(absenceText({ ...well, connection: 'connecting' })).toBeNull();
  expect(absenceText({ ...well, connection: 'lost' })?.so).toContain('start it again');
  expect(absenceText({ ...well, orchestrator: 'unreachable' })?.so).toContain('processes continue');
  expect(absenceText({ ...well, isStalled: true })?.says).toContain('proxy');
});
