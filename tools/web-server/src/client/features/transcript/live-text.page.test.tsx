import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { board, session, stage } from '../../test/samples.ts';

const own = stage('STAGE-1', { title: 'Login form' });
const BEGINNING = 'The beginning: word0 word1';

it('shows a text from its beginning to a person who opens the page in the middle of it, or comes back, and goes on as it comes', async () => {
  const busy = session('STAGE-1', { state: 'busy' });
  const { server } = openPage('/stages/STAGE-1', board({ stages: [{ stage: own, session: busy }] }));
  const delta = (block: number, offset: number, text: string) => ({
    stageId: own.id,
    blockId: `message:${block}`,
    kind: 'text' as const,
    parentToolUseId: null,
    offset,
    text,
  });
  server.answer({
    get_drafts: () => ({ drafts: [] }),
    get_transcript: () => ({ entries: [], total: 0 }),
    get_queue: () => ({ queue: [], held: false }),
    get_live_text: () => ({ blocks: [delta(0, 0, BEGINNING)] }),
  });
  await screen.findByText(BEGINNING);
  await expect.poll(() => server.watched.at(-1)?.stageIds).toEqual(['STAGE-1']);
  server.pass('text-delta', delta(0, BEGINNING.length, ' word2'));
  await screen.findByText(`${BEGINNING} word2`);

  // What was said meanwhile is asked for.
  server.answer({ get_live_text: () => ({ blocks: [delta(1, 0, 'And then: word3')] }) });
  server.pass('text-delta', delta(1, 'And then: word3'.length, ' word4'));
  await screen.findByText('And then: word3 word4');
});
