import { MessageId } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { openPage } from '../test/open-page.tsx';
import { at, board, session, stage } from '../test/samples.ts';

const NOT_LOGGED_IN = {
  state: 'not-logged-in',
  why: 'Claude is not logged in on this machine.',
  command: 'claude',
} as const;
const READY = { state: 'ready', why: null, command: null } as const;

const stopped = (claude: typeof NOT_LOGGED_IN | typeof READY) => {
  const lastTurn = { outcome: 'failed', at: at(1), message: 'Run claude.', code: 'not-logged-in' };
  const own = session('STAGE-1', { state: 'idle', sessionId: 'one', lastTurn });
  return { ...board({ stages: [{ stage: stage('STAGE-1'), session: own }] }), claude };
};
const noTranscript = { get_transcript: () => ({ entries: [], total: 0 }) };

it('says on the board that Claude is not logged in, with the command that mends it', async () => {
  openPage('/', stopped(NOT_LOGGED_IN));
  await screen.findByText(NOT_LOGGED_IN.why);
  screen.getByRole('button', { name: 'Copy command' });
  screen.getByText('Claude: not logged in');
  await within(screen.getByRole('region', { name: 'Needs you' })).findByText('Claude is not logged in');
});

it('offers to continue a stage once Claude is logged in again', async () => {
  const { user, server } = openPage('/stages/STAGE-1', stopped(READY));
  server.answer({
    ...noTranscript,
    send_message: ({ messageId }) => ({ status: 'sent', messageId: MessageId.parse(messageId) }),
  });
  const banner = await screen.findByRole('region', { name: 'Claude is logged in again' });
  await user.click(within(banner).getByRole('button', { name: 'Continue' }));
  await expect
    .poll(() => server.received.find(({ command }) => command === 'send_message')?.input)
    .toMatchObject({ stageId: 'STAGE-1', message: 'Continue where you left off.' });
});

it('tells a stage without a login what to run', async () => {
  const { server } = openPage('/stages/STAGE-1', stopped(NOT_LOGGED_IN));
  server.answer(noTranscript);
  const banner = await screen.findByRole('region', { name: 'Claude is not logged in' });
  within(banner).getByText('claude', { selector: 'code' });
  within(banner).getByRole('button', { name: 'Try again' });
});
