import { expect, it } from 'vitest';
import { resultCode, subagentReport } from './tool-card.tsx';

it('removes the line numbers from a read file', () => {
  expect(resultCode('Read', '    7→a\n    8→\n    9→\tb→c')).toEqual({ code: 'a\n\n\tb→c', firstLine: 7 });
  expect(resultCode('Read', '1\ta\n2\tb\n\n<system-reminder>\nmind\n</system-reminder>')).toEqual({
    code: 'a\nb',
    firstLine: 1,
  });
});

it('leaves other results unchanged', () => {
  expect(resultCode('Read', 'File does not exist.').code).toBe('File does not exist.');
  expect(resultCode('Bash', '1\ta')).toEqual({ code: '1\ta', firstLine: null });
  expect(resultCode('Edit', '<tool_use_error>No\nmatch</tool_use_error>').code).toBe('No\nmatch');
});

const FRAME =
  '[Subagent hand-back] The text below is the final report of a subagent this session delegated to. The report follows:';
const TRAILER = `agentId: a7525 (use SendMessage with to: 'a7525', summary: '<5-10 word recap>' to continue this agent)
<usage>subagent_tokens: 8602
tool_uses: 0
duration_ms: 688</usage>`;

it('extracts the answer of a subagent from its frame', () => {
  const report = '  Forty-two files.\n  \n  - one\n    - two';
  for (const text of [`${FRAME}\n${report}\n${TRAILER}`, `${FRAME}\n${report}`])
    expect(subagentReport(text)).toBe('Forty-two files.\n\n- one\n  - two');
});

it('returns null for a result of another form', () => {
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
