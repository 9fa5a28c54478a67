import { describe, expect, it } from 'vitest';
import { entry, request } from '../../test/samples.ts';
import { callProgress } from './tool-card.tsx';
import { type ToolItem, transcriptItems } from './transcript-items.ts';

const rule = (toolName: string) => ({ type: 'addRules', rules: [{ toolName, ruleContent: 'x' }] });
/** Recorded suggestions: for a command that itself needs permission, and for one that reads outside of the worktree. */
const WRITES = [rule('Bash')];
const READS = [rule('Bash'), rule('Read')];

const use = (index: number, toolName: string, parent: string | null = null) =>
  entry(index, 'tool-use', { toolUseId: `tool-${index}`, toolName, input: {} }, parent);
const result = (of: number) =>
  entry(of + 10, 'tool-result', {
    toolUseId: `tool-${of}`,
    isError: false,
    text: '',
    allowedBy: null,
    sandboxFailure: null,
  });

type Entries = Parameters<typeof transcriptItems>[0];

/** How far each call has got, by its id, while the calls in `asking` have requests. */
function progress(entries: Entries, asking: Record<string, readonly object[]> = {}): string[] {
  const requests = Object.entries(asking).map(([toolUseId, suggestions]) =>
    request('STAGE-1', toolUseId, { toolUseId, suggestions }),
  );
  return transcriptItems(entries)
    .filter((item): item is ToolItem => item.kind === 'tool' && item.result === null)
    .map((tool) => callProgress(tool, (toolUseId) => requests.find((one) => one.toolUseId === toolUseId)));
}

describe('the progress of a call without a result', () => {
  it.each<[string, Entries, Record<string, readonly object[]>, string[]]>([
    ['one alone', [use(1, 'Bash')], {}, ['running']],
    ['one that asks', [use(1, 'Bash')], { 'tool-1': WRITES }, ['waits for you']],
    [
      'those after a command that asks',
      [use(1, 'Bash'), use(2, 'Bash'), use(3, 'Read')],
      { 'tool-1': WRITES },
      ['waits for you', 'not started yet', 'not started yet'],
    ],
    [
      'a command after one that asks to read elsewhere: it may read as well',
      [use(1, 'Bash'), use(2, 'Bash'), use(3, 'Write')],
      { 'tool-1': READS },
      ['waits for you', 'no result yet', 'not started yet'],
    ],
    ['a command after one that runs', [use(1, 'Bash'), use(2, 'Bash')], {}, ['running', 'no result yet']],
    [
      'an edit after one that asks',
      [use(1, 'Edit'), use(2, 'Edit')],
      { 'tool-1': [] },
      ['waits for you', 'not started yet'],
    ],
    [
      'readers, of which one asks',
      [use(1, 'WebFetch'), use(2, 'WebFetch')],
      { 'tool-1': [] },
      ['waits for you', 'running'],
    ],
    ['one whose forerunners are done', [use(1, 'Edit'), use(2, 'Edit'), result(1)], {}, ['running']],
    ['two subagents', [use(1, 'Agent'), use(2, 'Agent')], {}, ['running', 'running']],
    [
      'a subagent that has begun, after what cannot be known',
      [use(1, 'mcp__x__y'), use(2, 'Agent'), use(3, 'Bash', 'tool-2')],
      {},
      ['running', 'running'],
    ],
    [
      'a subagent that asks, beside a call of the main conversation',
      [use(1, 'Agent'), use(2, 'Bash', 'tool-1'), use(3, 'Agent')],
      { 'tool-2': WRITES },
      ['waits for you', 'running'],
    ],
    [
      'what was cut off, and what came after it',
      [use(1, 'Edit'), entry(2, 'notice', { level: 'warning', code: 'process-ended', text: '' }), use(3, 'Edit')],
      {},
      ['cut off', 'running'],
    ],
  ])('%s', (_, entries, asking, expected) => {
    expect(progress(entries, asking)).toEqual(expected);
  });
});
