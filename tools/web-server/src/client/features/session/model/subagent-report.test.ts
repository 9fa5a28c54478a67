import { expect, it } from 'vitest';
import { subagentReport } from './subagent-report.ts';

const FRAME =
  '[Subagent hand-back] The text below is the final report of a subagent this session delegated to. The report follows:';
const TRAILER = `agentId: a7525 (use SendMessage with to: 'a7525', summary: '<5-10 word recap>' to continue this agent)
<usage>subagent_tokens: 8602
tool_uses: 0
duration_ms: 688</usage>`;

it('takes what a subagent answered out of the frame that Claude Code puts around it', () => {
  const report = '  Forty-two files.\n  \n  - one\n    - two';
  for (const text of [`${FRAME}\n${report}\n${TRAILER}`, `${FRAME}\n${report}`])
    expect(subagentReport(text)).toBe('Forty-two files.\n\n- one\n  - two');
});

it('does not touch what has another form', () => {
  for (const text of [
    'Forty-two files.',
    `A note\n${FRAME}\n  Forty-two files.`,
    `${FRAME}\nForty-two files.\n${TRAILER}`,
    `${FRAME}\n  Forty-two files.\n${TRAILER}\nSomething new`,
    `${FRAME}\n${TRAILER}`,
    FRAME,
  ])
    expect(subagentReport(text)).toBeNull();
});
