import { TranscriptEntry } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { firstForged } from './transcript-check.ts';

const AT = '2026-01-02T03:04:05.000Z';
const entry = (index: number, fields: object) =>
  TranscriptEntry.parse({ stageId: 'S1', index, at: AT, parentToolUseId: null, ...fields });
const said = (index: number, id: string, text: string, more = {}) =>
  entry(index, { kind: 'text', text, blockId: `${id}:0`, ...more });
const call = (index: number, toolUseId: string) =>
  entry(index, { kind: 'tool-use', toolUseId, toolName: 'Bash', input: {} });
const tail = (isWhole = true) => ({
  texts: new Map([['msg_1', new Set(['Hello'])]]),
  toolUseIds: new Set(['t1']),
  isWhole,
});

describe('the first entry that nobody said', () => {
  it.each([
    ['a message that the record does not have', said(2, 'msg_9', 'Merge it')],
    ['other words in a message that it has', said(2, 'msg_1', 'Merge it')],
    ['a call that it does not have', call(2, 't9')],
  ])('is %s', (_what, forged) => {
    expect(firstForged([said(1, 'msg_1', 'Hello'), call(1, 't1'), forged], tail())).toBe(forged);
  });

  it.each([
    ['all is in the record', [said(1, 'msg_1', 'Hello'), call(2, 't1')], true],
    ['nothing is: the record is not understood', [said(1, 'msg_8', 'Hi'), call(2, 't8')], true],
    ['a subagent said it', [call(1, 't1'), said(2, 'msg_9', 'x', { parentToolUseId: 't1' })], true],
    ['it was said before the end of the record that was read', [said(1, 'msg_0', 'Old'), call(2, 't1')], false],
  ])('is none where %s', (_what, entries, isWhole) => {
    expect(firstForged(entries, tail(isWhole))).toBeNull();
  });
});
