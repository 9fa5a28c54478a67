import type { Decision } from '@callboard/contract';
import { expect, it } from 'vitest';
import { decision, request } from '../../../test/samples.ts';
import { answerText, asReadBy, decisionText, decisionThatStands, deliveryText } from './decision-text.ts';

const made = (change: Parameters<typeof decision>[1]) => decision(request('STAGE-1', 'r'), change);

it('says who decided what, and how long Claude waited', () => {
  expect(decisionText(made({}))).toBe('Allowed by Ada after 4 min 12 s');
  expect(decisionText(made({ device: 'Terminal on desk' }))).toBe(
    'Allowed by Ada from Terminal on desk after 4 min 12 s',
  );
  expect(decisionText(made({ updatedInput: { command: 'make' } }))).toBe(
    'Allowed with changes by Ada after 4 min 12 s',
  );
  expect(decisionText(made({ hosts: ['a.example'] }))).toBe('Allowed with a.example by Ada after 4 min 12 s');
  expect(decisionText(made({ updatedInput: { command: 'make' }, hosts: ['a.example', 'b.example'] }))).toBe(
    'Allowed with changes and a.example, b.example by Ada after 4 min 12 s',
  );
  expect(decisionText(made({ outcome: 'denied', by: null }))).toBe('Denied after 4 min 12 s');
  expect(decisionText(made({ outcome: 'denied', kind: 'question' }))).toBe('Declined by Ada after 4 min 12 s');
  expect(decisionText(made({ outcome: 'closed', by: null }))).toBe('Closed without an answer after 4 min 12 s');
});

it('says which part of Claude Code denied a call, without a waiting time', () => {
  const denied = (denial: NonNullable<Decision['denial']>) =>
    decisionText(made({ outcome: 'denied', by: 'Claude Code', waitedMs: 0, denial }));
  expect(denied({ source: 'rule', detail: 'Bash(npm run *)' })).toBe('Denied by Claude Code: the rule Bash(npm run *)');
  expect(denied({ source: 'rule', detail: null })).toBe('Denied by Claude Code: a permission rule');
  expect(denied({ source: 'mode', detail: 'dontAsk' })).toBe('Denied by Claude Code: dontAsk mode');
  expect(denied({ source: 'hook', detail: 'PreToolUse:Bash' })).toBe('Denied by Claude Code: a PreToolUse:Bash hook');
  expect(denied({ source: 'unknown', detail: null })).toBe(
    'Denied by Claude Code, which does not say why in this release',
  );
});

it('describes the delivery until Claude confirms it', () => {
  expect(deliveryText(made({ delivery: 'confirmed' }))).toBeNull();
  expect(deliveryText(made({ delivery: 'not-applied' }))).toContain('not applied');
});

it('says how a person settled an answer whose fate is unknown', () => {
  const settlement = { how: 'retried', by: 'Bo', at: '2026-01-01T10:00:00.000Z' } as const;
  expect(deliveryText(made({ delivery: 'unknown' }))).toMatch(/^not known whether it took effect.*confirming$/);
  expect(deliveryText(made({ delivery: 'unknown', settlement }))).toMatch(/; sent to Claude again by Bo$/);
});

it('lists the answers in one line, each after the short name of its question, or the question', () => {
  const questions = [
    { question: 'Which database?', header: 'Database' },
    { question: 'Write tests?', header: 'Tests' },
  ];
  const answers = { 'Write tests?': 'yes', 'Which database?': 'PostgreSQL' };
  const answered = made({ outcome: 'answered', kind: 'question', answers });
  expect(answerText(answered, questions)).toBe('Database: PostgreSQL; Tests: yes');
  expect(answerText(answered, [])).toBe('Write tests? yes; Which database? PostgreSQL');
  expect(answerText(made({ outcome: 'answered', answers: {} }), questions)).toBeNull();
  expect(answerText(made({ outcome: 'denied', kind: 'question', answers: null }), questions)).toBeNull();
});

it('counts every decision as standing, including an expiry, but not a request closed without one', () => {
  const asked = request('STAGE-1', 'r1');
  for (const outcome of ['allowed', 'denied', 'answered', 'timed-out'] as const) {
    const made = decision(asked, { outcome });
    expect(decisionThatStands({ decision: made })).toBe(made);
  }
  expect(decisionThatStands({ decision: decision(asked, { outcome: 'closed' }) })).toBeNull();
  expect(decisionThatStands({ decision: null })).toBeNull();
});

it('says of a decision of the reader that it was theirs, on whatever device', () => {
  const own = made({ device: 'Terminal on desk' });
  expect(decisionText(asReadBy('Ada', own))).toBe('Allowed by you after 4 min 12 s');
  expect(asReadBy('Bo', own)).toBe(own);
  expect(asReadBy('', made({ by: null })).by).toBeNull();
});
