import type { SessionNow } from '@callboard/contract';
import { expect, it } from 'vitest';
import { activityText } from './transcript-view.tsx';

const since = '2026-01-01T10:00:00.000Z';

it.each<[SessionNow | null, string, string | null]>([
  [null, 'Working…', null],
  [{ kind: 'thinking', since }, 'Thinking…', null],
  [{ kind: 'writing', text: 'The index' }, 'Writing…', null],
  [{ kind: 'preparing', toolName: 'Write' }, 'Preparing a call of Write…', null],
  [{ kind: 'tool', toolUseId: 't', action: 'npm test', isCommand: true, since }, 'Running', 'npm test'],
  [{ kind: 'tool', toolUseId: 't', action: 'Edit src/a.ts', isCommand: false, since }, 'Edit src/a.ts', null],
])('says what is done now: %j', (now, text, code) => {
  expect(activityText(now)).toEqual({ text, code });
});
