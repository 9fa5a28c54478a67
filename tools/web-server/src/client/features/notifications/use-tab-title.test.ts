import { DEFAULT_ALERTS } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';
import { pageIcon, pageTitle, type SignalCounts, signalCounts } from './alerts.ts';

const NONE: SignalCounts = { waiting: 0, failed: 0, finished: 0 };
const OFF = { title: false, icon: false, sound: false, notification: false };
const title = (counts: Partial<SignalCounts>, settings = DEFAULT_ALERTS) =>
  pageTitle({ ...NONE, ...counts }, settings, 'Inbox');
const icon = (counts: Partial<SignalCounts>, settings = DEFAULT_ALERTS) => pageIcon({ ...NONE, ...counts }, settings);

it('counts each stage once, under the signal that it gives', () => {
  const idle = (id: string, outcome: string) => ({
    stage: stage(id),
    session: session(id, { state: 'idle', lastTurn: { outcome, at: at(0), message: null, code: null } }),
  });
  const view = board({
    stages: [
      idle('FAILED-1', 'failed'),
      idle('INTERRUPTED-1', 'interrupted'),
      idle('REVIEW-1', 'succeeded'),
      idle('REVIEW-2', 'succeeded'),
      { stage: stage('ASKS-1'), session: session('ASKS-1', { state: 'waiting' }) },
      { stage: stage('LOST-1'), session: session('LOST-1') },
    ],
    pending: [request('ASKS-1', 'a'), request('ASKS-1', 'b')],
    unsettled: [decision(request('LOST-1', 'c'), { delivery: 'unknown' })],
  });
  expect(signalCounts(view, null)).toEqual({ waiting: 3, failed: 1, finished: 0 });
  expect(signalCounts(view, [`finished REVIEW-2 ${at(0)}`])).toEqual({ waiting: 3, failed: 1, finished: 1 });
});

it('says in the title what there is to tell', () => {
  expect(title({})).toBe('Inbox · Callboard');
  expect(title({ waiting: 2 })).toBe('(2) Inbox · Callboard');
  expect(title({ failed: 1 })).toBe('(1 failed) Inbox · Callboard');
  expect(title({ waiting: 2, failed: 1, finished: 3 })).toBe('(2, 1 failed, 3 finished) Inbox · Callboard');
  expect(pageTitle(NONE, DEFAULT_ALERTS, '')).toBe('Callboard');
});

it('has one icon for each signal, the most urgent first', () => {
  expect(icon({})).toBe('/favicon.svg');
  expect(icon({ finished: 1 })).toBe('/favicon-finished.svg');
  expect(icon({ finished: 1, failed: 1 })).toBe('/favicon-failed.svg');
  expect(icon({ finished: 1, failed: 1, waiting: 1 })).toBe('/favicon-needs-you.svg');
});

it('leaves out what a person switched off', () => {
  const settings = { ...DEFAULT_ALERTS, failed: OFF, waiting: { ...OFF, title: true } };
  expect(title({ waiting: 1, failed: 1 }, settings)).toBe('(1) Inbox · Callboard');
  expect(icon({ waiting: 1, failed: 1, finished: 1 }, settings)).toBe('/favicon-finished.svg');
});
