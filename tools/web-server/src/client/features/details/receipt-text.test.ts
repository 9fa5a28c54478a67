import { expect, it } from 'vitest';
import { callReason } from './stage-details.tsx';

const call = { toolUseId: 't', asked: 'Bash ls', isAgents: false };

it('says who consented, by which rule, and what is not known', () => {
  expect(callReason({ ...call, reason: 'person', by: 'ada', detail: null })).toBe('allowed by ada');
  expect(callReason({ ...call, reason: 'denied-by-person', by: 'ada', detail: 'not now' })).toBe(
    'denied by ada (not now)',
  );
  expect(callReason({ ...call, reason: 'rule', by: 'bob', detail: 'Bash(ls)' })).toBe(
    'allowed by a rule, covered by Bash(ls), which bob gave',
  );
  expect(callReason({ ...call, reason: 'rule', by: null, detail: null })).toBe('allowed by a rule');
  expect(callReason({ ...call, reason: 'denied-by-claude-code', by: null, detail: 'mode: plan' })).toBe(
    'denied by Claude Code (mode: plan)',
  );
  expect(callReason({ ...call, reason: 'no-record', by: null, detail: null })).toBe(
    'without a record of what let it run',
  );
});
