import { MessageId } from '@callboard/contract';
import { screen, waitFor, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { clockTime } from '../../lib/format.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, request, session, stage } from '../../test/samples.ts';

const SINCE = '2026-01-01T14:05:00.000Z';
const worktree = { path: '/w/my stage', branch: 'callboard/STAGE-1', base: 'f'.repeat(40) };
const COMMAND = "cd '/w/my stage' && claude --resume 24796da1";
const terminal = { since: SINCE, by: 'Ada' };

function open(path: string, summary: Record<string, unknown>, pending: ReturnType<typeof request>[] = []) {
  const own = stage('STAGE-1', { title: 'Login form', worktree });
  const seen = session('STAGE-1', { sessionId: '24796da1', ...summary });
  const page = openPage(path, board({ stages: [{ stage: own, session: seen }], pending }));
  page.server.answer({ get_servers: () => ({ servers: [] }), get_stage_commands: () => ({ commands: [] }) });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map((one) => one.input);
  return { ...page, sent };
}

async function openDialog(user: ReturnType<typeof open>['user']) {
  await user.click(await screen.findByRole('button', { name: 'More' }));
  await user.click(await screen.findByRole('menuitem', { name: 'Continue in a terminal' }));
  return screen.findByRole('dialog', { name: 'Continue in a terminal' });
}

it('leaves a conversation to a terminal, and copies the command once its process has ended', async () => {
  const { user, server, sent } = open('/stages/STAGE-1', { state: 'idle' });
  let refusals = 1;
  server.answer({
    continue_in_terminal: () =>
      refusals-- > 0 ? problem('stage_running', 'A turn of STAGE-1 is running.') : { command: COMMAND, terminal },
  });
  const dialog = await openDialog(user);
  within(dialog).getByText(/^Claude’s process will be ended gracefully\./);
  await user.click(within(dialog).getByRole('button', { name: 'End process and copy command' }));
  await within(dialog).findByText(/A turn of STAGE-1 is running\./);
  expect(within(dialog).queryByText(COMMAND)).toBeNull();
  await user.click(within(dialog).getByRole('button', { name: 'End process and copy command' }));
  await within(dialog).findByText(COMMAND);
  expect(within(dialog).getByRole('status').textContent).toContain('Copied. Run this');
  expect(await navigator.clipboard.readText()).toBe(COMMAND);
  expect(sent('continue_in_terminal')).toEqual(Array(2).fill({ stageId: 'STAGE-1', endTurn: false }));
});

it('says what is ended with a running turn, and ends it only on that word', async () => {
  const { user, server, sent } = open('/stages/STAGE-1', { state: 'waiting' }, [request('STAGE-1', 'r1')]);
  server.answer({ continue_in_terminal: () => ({ command: COMMAND, terminal }) });
  const dialog = await openDialog(user);
  within(dialog).getByText(/A turn is running\. It will be interrupted.*The open request will be closed\./);
  await user.click(within(dialog).getByRole('button', { name: 'Interrupt and copy command' }));
  await within(dialog).findByText(COMMAND);
  expect(sent('continue_in_terminal')).toEqual([{ stageId: 'STAGE-1', endTurn: true }]);
});

it('shows that a stage is in a terminal, what waits, and why it cannot be taken back yet', async () => {
  const { user, server, sent } = open('/stages/STAGE-1', { state: 'ended', terminal, queued: 1 });
  const refusal = 'Claude Code still runs in the terminal of STAGE-1 (process 4711). Exit it there.';
  let refusals = 1;
  server.answer({
    get_queue: () => ({
      queue: [
        {
          stageId: stage('STAGE-1').id,
          messageId: MessageId.parse('aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'),
          text: 'Now test it',
          by: 'Ada',
          createdAt: SINCE,
          position: 1,
          attachments: [],
          isCommand: false,
        },
      ],
      held: false,
    }),
    take_back: () => (refusals-- > 0 ? problem('in_terminal', refusal) : { status: 'resumed' }),
  });
  const text = `In a terminal since ${clockTime(SINCE)}`;
  const banner = await screen.findByRole('region', { name: text });
  expect(screen.getAllByText(text).length).toBeGreaterThan(1); // in the head as well
  within(banner).getByText(COMMAND);
  within(banner).getByText(/1 message queued\./);
  await screen.findByText(/the next one is sent when the stage is taken back from the terminal/);
  screen.getByText(/a message takes it back once Claude Code has ended there/);
  expect(screen.queryByRole('button', { name: /^(Continue|Start again|Complete)/ })).toBeNull();
  await user.click(within(banner).getByRole('button', { name: 'Take back' }));
  await screen.findByText(refusal);
  await user.click(within(banner).getByRole('button', { name: 'Take back' }));
  await waitFor(() => expect(sent('take_back')).toHaveLength(2));
  await user.click(screen.getByRole('button', { name: 'More' }));
  await screen.findByRole('menuitem', { name: 'Delete' });
  expect(screen.queryByRole('menuitem', { name: 'Continue in a terminal' })).toBeNull();
});

it('says on the board that a stage is in a terminal', async () => {
  open('/', { state: 'ended', terminal });
  const running = await screen.findByRole('region', { name: /^Running/ });
  await within(running).findByText(`In a terminal since ${clockTime(SINCE)}`);
});
