import { expect, it } from 'vitest';
import { decision, request } from '../../test/samples.ts';
import { verdictLabel, waitText } from './decision-log.tsx';

const made = (change: Parameters<typeof decision>[1]) => decision(request('STAGE-1', 'r'), change);

it('says who decided a request and how long Claude waited', () => {
  expect([verdictLabel(made({})), waitText(made({}))]).toEqual(['Allowed by Ada', 'Claude waited 4 min 12 s']);
  expect(verdictLabel(made({ device: 'Terminal on desk' }))).toBe('Allowed by Ada from Terminal on desk');
});

it('says what denied a call in Claude Code, as nobody was asked and nothing waited', () => {
  const denied = made({ outcome: 'denied', by: 'Claude Code', denial: { source: 'rule', detail: 'Bash(npm *)' } });
  expect([verdictLabel(denied), waitText(denied)]).toEqual(['Denied by Claude Code', 'By the rule Bash(npm *)']);
});
