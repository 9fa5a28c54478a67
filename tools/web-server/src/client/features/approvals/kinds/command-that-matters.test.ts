import type { Risk } from '@callboard/contract';
import { expect, it } from 'vitest';
import { commandThatMatters } from './approval.tsx';

const of = (command: string, stakes: Risk[] = []) => commandThatMatters({ input: { command }, stakes });
const crontab: Risk = { code: 'schedules', text: 'Changes scheduled jobs (crontab).', command: 'crontab jobs.txt' };

it('shows a short command as it is', () => {
  expect(of(' npm i left-pad\n')).toBe('npm i left-pad');
  expect(of('cd app && crontab jobs.txt', [crontab])).toBe('cd app && crontab jobs.txt');
});

it('shows the part of a script with the most at risk, and that there is more', () => {
  expect(of('# Set up\nnpm ci\ncrontab jobs.txt\nnpm test', [crontab])).toBe('… crontab jobs.txt …');
  expect(of('crontab jobs.txt\nnpm test', [crontab])).toBe('crontab jobs.txt …');
});

it('shows the first line of a script of which nothing is known, without the comments above it', () => {
  expect(of('# Look around\n\nls -la\npwd')).toBe('… ls -la …');
});
