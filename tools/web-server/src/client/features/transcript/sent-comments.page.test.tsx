import { MessageId, TranscriptEntry } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { reviewComment } from '../../test/open-changes.ts';
import { openPage } from '../../test/open-page.tsx';
import { board, session, stage } from '../../test/samples.ts';

const own = stage('STAGE-1', { title: 'Login form' });
const messageId = MessageId.parse('aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa');
const TEXT = 'Please address this comment on your changes.\n\na.ts, line 3:\n```\nconst two = 3;\n```\nTwo is two.';

const said = (index: number, fields: object) =>
  TranscriptEntry.parse({
    stageId: own.id,
    index,
    at: '2026-01-01T00:00:00.000Z',
    kind: 'user',
    text: TEXT,
    messageId,
    by: 'Ada',
    attachments: [],
    parentToolUseId: null,
    ...fields,
  });

it('shows sent comments with their lines and the way to them, and a message of the same words as it is', async () => {
  const { server } = openPage('/stages/STAGE-1', board({ stages: [{ stage: own, session: session('STAGE-1') }] }));
  const comment = reviewComment('c1', {
    path: 'a.ts',
    line: 3,
    endLine: 3,
    quote: 'const two = 3;',
    text: 'Two is two.',
    state: 'sent',
    sentAt: '2026-01-01T00:00:00.000Z',
    messageId,
  });
  server.answer({
    get_drafts: () => ({ drafts: [] }),
    get_transcript: () => ({ entries: [said(1, {}), said(2, { messageId: null })], total: 2 }),
    get_queue: () => ({ queue: [], held: false }),
    get_live_text: () => ({ blocks: [] }),
    get_comments: () => ({ comments: [comment] }),
  });
  const transcript = within(await screen.findByRole('region', { name: 'Transcript' }));
  const lines = await transcript.findByRole('link', { name: 'a.ts, line 3' });
  expect(lines.getAttribute('href')).toBe('/stages/STAGE-1?tab=changes&comment=c1');
  transcript.getByText('const two = 3;');
  transcript.getByText('Two is two.');
  // The other one is no message that Callboard has sent.
  expect(transcript.getAllByText(/Please address/)).toHaveLength(1);
});
