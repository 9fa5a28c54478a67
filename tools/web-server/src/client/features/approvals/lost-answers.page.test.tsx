import { type Decision, type LostTrace, MessageId } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { HttpResponse } from 'msw';
import { expect, it, vi } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';

const TITLES = ['Login form', 'Search index'];
const exact = (name: string) => ({ name, exact: true });
const endReason = 'The process was ended by SIGKILL.';
const LOST: LostTrace = { ended: 'process', writtenAt: null, endedAt: new Date().toISOString(), endReason };
const ENDED = { outcome: 'succeeded', at: at(1), message: null, code: null };
const lost = (id: string, change: Partial<Decision> = {}) =>
  decision(request('STAGE-1', id), { asked: 'Bash touch one', delivery: 'unknown', lost: LOST, ...change });

/** Opens a page on which the fate of an answer is unknown. */
function open(path: string, unsettled: Decision[]) {
  const stages = TITLES.map((title, nth) => ({
    stage: stage(`STAGE-${nth + 1}`, { title }),
    session: session(`STAGE-${nth + 1}`, { state: 'idle', lastTurn: ENDED }),
  }));
  const page = openPage(path, board({ stages, unsettled }));
  page.server.answer({ get_drafts: () => ({ drafts: [] }), get_transcript: () => ({ entries: [], total: 0 }) });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map(({ input }) => input);
  return { ...page, sent };
}

it('says on the board and in the inbox what is known of an answer that was not confirmed, and tells Claude again', async () => {
  const { user, server, sent } = open('/', [lost('lost-1')]);
  const row = within(await screen.findByRole('article', { name: 'Login form' }));
  row.getByText('an answer may not have reached Claude');
  await user.keyboard('gi');
  const article = within(
    (await screen.findByText(/It is not known whether this answer took effect/)).closest('article') ?? document.body,
  );
  article.getByText('Bash touch one');
  expect(screen.getByRole('main').textContent).toMatch(
    /ended (just now|\d+ s ago), before it was confirmed.*ended by SIGKILL/,
  );
  await expect.poll(() => document.title).toBe('(1) Inbox · Callboard');
  const settlement = { how: 'retried', by: 'Ada', at: at(9) } as const;
  server.answer({
    retry_decision: () => ({
      decision: lost('lost-1', { settlement }),
      message: { status: 'sent', messageId: MessageId.parse('message-1') },
    }),
  });
  await user.click(article.getByRole('button', exact('Retry')));
  await expect.poll(() => screen.queryByText(/It is not known whether/)).toBeNull();
  expect(sent('retry_decision')).toEqual([{ stageId: 'STAGE-1', requestId: 'lost-1' }]);
});

it('settles it on the page of the stage, and says if somebody else has', async () => {
  const { user, server } = open('/stages/STAGE-1', [lost('lost-2')]);
  const settlement = { how: 'retried', by: 'Bo', at: at(9) } as const;
  server.answer({
    dismiss_decision: async () => {
      server.emit('decision-updated', lost('lost-2', { settlement }));
      const refusal = await problem('already_settled', 'This answer was already sent to Claude again by Bo.').json();
      return HttpResponse.json({ ...refusal, decision: lost('lost-2', { settlement }) }, { status: 409 });
    },
  });
  const article = within(await screen.findByRole('article'));
  await user.click(article.getByRole('button', exact('Dismiss')));
  await screen.findByText('This answer was already sent to Claude again by Bo.');
  await expect.poll(() => screen.queryByRole('article')?.textContent).toBe(undefined);
});

const denied = decision(request('STAGE-2', 'denied-1'), {
  asked: 'Bash touch two',
  outcome: 'denied',
  by: 'Ada',
  reason: 'Use the table',
  at: new Date().toISOString(),
});

it('keeps decisions in a log that is filtered by its address, and settles them from there', async () => {
  const { user, server, sent } = open('/decisions', [lost('lost-3')]);
  server.answer({
    get_decisions: ({ outcome, stageId }) => ({
      decisions: [lost('lost-3'), denied].filter(
        (one) =>
          (outcome === undefined || one.outcome === outcome) && (stageId === undefined || one.stageId === stageId),
      ),
      next: null,
    }),
  });
  const log = within(await screen.findByRole('region', { name: 'Decision log' }));
  const rows = () => log.queryAllByRole('listitem');
  await expect.poll(rows).toHaveLength(2);
  const deniedRow = within(rows()[1] ?? document.body);
  deniedRow.getByText(/^Denied by Ada/);
  deniedRow.getByText('Bash touch two');
  deniedRow.getByText('Use the table');
  deniedRow.getByText('confirmed by Claude');

  const settlement = { how: 'dismissed', by: 'Ada', at: at(9) } as const;
  const settled = lost('lost-3', { settlement });
  server.answer({
    dismiss_decision: () => {
      server.emit('decision-updated', settled);
      return { decision: settled };
    },
  });
  await user.click(within(rows()[0] ?? document.body).getByRole('button', exact('Dismiss')));
  await expect.poll(() => sent('dismiss_decision')).toEqual([{ stageId: 'STAGE-1', requestId: 'lost-3' }]);

  await user.selectOptions(screen.getByRole('combobox', { name: 'Outcome' }), 'Denied');
  await expect.poll(rows).toHaveLength(1);
  expect(location.search).toBe('?outcome=denied');
  await user.selectOptions(screen.getByRole('combobox', { name: 'Stage' }), 'Login form');
  await screen.findByText('No decision matches these filters.');
  await user.click(screen.getByRole('button', exact('Show all')));
  await expect.poll(rows).toHaveLength(2);
  expect(location.search).toBe('');
  expect(deniedRow.getByRole('link', exact('Search index')).getAttribute('href')).toBe('/stages/STAGE-2');
});

it('filters the log by the device on which people decided', async () => {
  const { user, server, sent } = open('/decisions', []);
  const from = (id: string, device: string) => decision(request('STAGE-1', id), { asked: `Bash ${id}`, device });
  const all = [from('one', 'Chrome on Android'), from('two', 'Terminal on desk')];
  server.answer({
    get_decisions: ({ device }) => ({
      decisions: all.filter((one) => device === undefined || one.device === device),
      next: null,
    }),
  });
  await screen.findByText('Bash one');
  await user.selectOptions(screen.getByRole('combobox', { name: 'Device' }), 'Terminal on desk');
  await expect.poll(() => screen.queryByText('Bash one')).toBeNull();
  await screen.findByText('Bash two');
  expect(location.search).toBe('?device=Terminal+on+desk');
  expect(sent('get_decisions').at(-1)).toMatchObject({ device: 'Terminal on desk' });
});

it('reads the filters of the log from its address, and has them as a file', async () => {
  const blobs: Blob[] = [];
  const createObjectURL = (blob: Blob) => `blob:${blobs.push(blob)}`;
  vi.stubGlobal('URL', Object.assign(URL, { createObjectURL, revokeObjectURL: () => undefined }));
  const names: string[] = [];
  const click = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download);
  });
  const { user, server, sent } = open('/decisions?stage=STAGE-2', []);
  server.answer({
    get_decisions: (asked) =>
      'format' in asked ? HttpResponse.text('{"reason":"Use the table"}\n') : { decisions: [denied], next: null },
  });
  await screen.findByText('Bash touch two');
  expect(sent('get_decisions')[0]).toMatchObject({ stageId: 'STAGE-2' });
  await user.click(screen.getByRole('button', exact('Export JSON Lines')));
  await expect.poll(() => sent('get_decisions').at(-1)).toMatchObject({ stageId: 'STAGE-2', format: 'jsonl' });
  await expect.poll(() => names).toEqual(['decisions.jsonl']);
  click.mockRestore();
  expect(await blobs[0]?.text()).toBe('{"reason":"Use the table"}\n');
});
