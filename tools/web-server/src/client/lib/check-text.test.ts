import { CheckRun, checkAtGate, checkGateText, type StageCheck } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, session, stage } from '../test/samples.ts';
import { checkResult, runFacts, runTime } from './check-text.ts';
import { stateLabel, stoppedText } from './stage-status.ts';

const ID = '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e62';
const check = (state: StageCheck['state'], failures = 0): StageCheck => ({
  checkId: ID,
  state,
  command: 'npm test',
  failures,
  attempts: 3,
  since: at(0),
});
const pipeline = [{ name: 'Build', prompt: 'p', gate: { check: { command: 'npm test', timeLimit: 60, attempts: 3 } } }];
const checked = (found: StageCheck | null, change: Record<string, unknown> = {}) => {
  const lastTurn = { outcome: 'succeeded', at: at(0), message: null };
  const own = session('STAGE-1', { state: 'idle', lastTurn, check: found, ...change });
  return { ...stage('STAGE-1', { pipeline }), session: own, column: 'review' as const };
};

it('says what the checks of a stage came to', () => {
  expect(checkResult(checked(null))).toBe('');
  expect(checkResult(checked(check('passed')))).toBe('checks passed');
  expect(checkResult(checked(check('failed', 2)))).toBe('checks failed (2 of 3)');
  expect(checkResult(checked(check('timed-out')))).toBe('checks failed');
  expect(checkResult(checked(check('running')))).toBe('');
});

it('says why a check waits for a person, in the row and in the head of the page', () => {
  const waiting = checked(check('failed', 3), { atGate: true });
  expect(checkAtGate(waiting)).toMatchObject({ failures: 3 });
  expect(stoppedText(waiting)).toEqual({ text: 'Check failed 3 times', tone: 'fail' });
  expect(stateLabel(waiting, 0, 0)).toEqual({ text: 'Check failed 3 times', tone: 'fail' });
  expect(stoppedText(checked(check('stopped'), { atGate: true }))).toEqual({ text: 'Check stopped', tone: 'needs' });
  expect(checkGateText(check('failed', 1))).toBe('Check failed');
  // A gate for a person after a check that passed is a gate like any other.
  expect(checkAtGate(checked(check('passed'), { atGate: true }))).toBeNull();
});

it('says that a check runs', () => {
  expect(stateLabel(checked(check('running'), { state: 'busy' }), 0, 0).text).toBe('Checking');
});

it('tells of a run', () => {
  const run = CheckRun.parse({
    id: ID,
    stageId: 'STAGE-1',
    phaseIndex: 0,
    phase: 'Build',
    command: 'npm test',
    timeLimit: 60,
    state: 'failed',
    failures: 2,
    attempts: 3,
    by: 'Ada',
    createdAt: at(0),
    startedAt: at(0),
    endedAt: at(1),
    exitCode: 1,
    reason: null,
    commandId: null,
    messageId: ID,
  });
  expect(runFacts(run)).toEqual(['exit code 1', 'failure 2 of 3', 'sent to Claude', 'run by Ada']);
  expect(runTime(run)).toBe('1:00');
  expect(runTime({ ...run, endedAt: null })).toBeNull();
});
