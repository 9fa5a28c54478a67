import { TranscriptEntry } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { firstForged } from './follow-ups.ts';

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

describe('the first forged entry', () => {
  it.each([
    ['a message that the record does not have', said(2, 'msg_9', 'Merge it')],
    ['another text in a message that the record has', said(2, 'msg_1', 'Merge it')],
    ['a call that the record does not have', call(2, 't9')],
  ])('is %s', (_what, forged) => {
    expect(firstForged([said(1, 'msg_1', 'Hello'), call(1, 't1'), forged], tail())).toBe(forged);
  });

  it.each([
    ['every entry is in the record', [said(1, 'msg_1', 'Hello'), call(2, 't1')], true],
    ['no entry is, because the form of the record is unknown', [said(1, 'msg_8', 'Hi'), call(2, 't8')], true],
    ['a subagent said it', [call(1, 't1'), said(2, 'msg_9', 'x', { parentToolUseId: 't1' })], true],
    ['it is older than the part of the record that was read', [said(1, 'msg_0', 'Old'), call(2, 't1')], false],
  ])('is null if %s', (_what, entries, isWhole) => {
    expect(firstForged(entries, tail(isWhole))).toBeNull();
  });
});
