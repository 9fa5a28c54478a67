import { StageId } from '@callboard/contract';
import { act, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { crashDialog } from '../../data/dialogs.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { board, request, session, stage } from '../../test/samples.ts';

const stageId = StageId.parse('STAGE-1');
const claude = (pid: number) => ({ stageId, pid, startedAt: '2026-01-01T10:00:00.000Z' });
const [first, next] = ['0194269f-8c00-7000-8000-000000000001', '0194269f-8c00-7000-8000-000000000002'];
const view = () =>
  board({
    stages: [{ stage: stage('STAGE-1'), session: session('STAGE-1', { state: 'waiting' }) }],
    pending: [request('STAGE-1', 'r1')],
  });

async function openCrash() {
  const page = openPage('/inbox', view());
  await screen.findByRole('heading', { name: /Inbox/ });
  act(() => crashDialog.open());
  return { ...page, dialog: await screen.findByRole('dialog', { name: 'Pull the plug' }) };
}

it('shows what is there again, and that a process has ended meanwhile', async () => {
  const { user, server, dialog } = await openCrash();
  let asked = 0;
  server.answer({
    get_processes: () => {
      asked += 1;
      if (asked < 3) return { instance: first, processes: [claude(11), claude(12)] }; // also once after the reply
      if (asked < 5) return problem('orchestrator_unreachable', 'Callboard is starting.');
      return { instance: next, processes: [claude(11)] };
    },
    crash: ({ instance }) => (instance === first ? {} : problem('bad_request', 'It is another one.')),
  });
  await user.click(within(dialog).getByRole('button', { name: 'Kill Callboard' }));
  await within(dialog).findByText(/^Gone for/);
  await within(dialog).findByRole('heading', { name: /^Back after \d/ });
  expect(
    within(dialog)
      .getAllByRole('listitem')
      .map(({ textContent }) => textContent),
  ).toEqual([
    '1 Claude process survived (11)',
    '1 process has ended meanwhile',
    '1 request still open. Your answer goes to the same process.',
  ]);
});

it('says why Callboard was not killed', async () => {
  const { user, server, dialog } = await openCrash();
  server.answer({
    get_processes: () => ({ instance: first, processes: [] }),
    crash: () => problem('page_only', 'Kill Callboard from a browser that is logged in.'),
  });
  await user.click(within(dialog).getByRole('button', { name: 'Kill Callboard' }));
  await within(dialog).findByText('Kill Callboard from a browser that is logged in.');
});
