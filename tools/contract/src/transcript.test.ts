import { expect, it } from 'vitest';
import { NoticeCode, TranscriptEntry } from './transcript.ts';

it('reads a notice whose code another Callboard has stored', () => {
  const notice = { kind: 'notice', level: 'info', code: 'from-a-newer-one', text: 'Something happened.' };
  const entry = { ...notice, stageId: 'STAGE-1', index: 1, at: '2026-01-01T10:00:00.000Z', parentToolUseId: null };
  expect(NoticeCode.safeParse(notice.code).success).toBe(false);
  expect(TranscriptEntry.parse(entry)).toEqual(entry);
});
