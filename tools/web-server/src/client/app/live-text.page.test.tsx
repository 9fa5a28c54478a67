import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { board, session, stage } from '../test/samples.ts';

const own = stage('STAGE-1', { title: 'Login form' });
const BEGINNING = 'The beginning: word0 word1';

it('shows a text from its beginning to a person who opens the page in the middle of it, and goes on as it comes', async () => {
  const busy = session('STAGE-1', { state: 'busy' });
  const { server } = openPage('/stages/STAGE-1', board({ stages: [{ stage: own, session: busy }] }));
  const delta = (offset: number, text: string) => ({
    ...{ stageId: own.id, blockId: 'message:0', kind: 'text' as const, parentToolUseId: null },
    ...{ offset, text },
  });
  server.answer({
    get_drafts: () => ({ drafts: [] }),
    get_transcript: () => ({ entries: [], total: 0 }),
    get_queue: () => ({ queue: [], held: false }),
    get_live_text: () => ({ blocks: [delta(0, BEGINNING)] }),
  });
  await expect.poll(() => server.watched.at(-1)?.stageIds).toEqual(['STAGE-1']);
  server.pass('text-delta', delta(BEGINNING.length, ' word2'));
  await screen.findByText(/^The beginning: word0 word1 word2/);
  server.pass('text-delta', delta(BEGINNING.length + ' word2'.length, ' word3'));
  await screen.findByText(/^The beginning: word0 word1 word2 word3$/);
});
