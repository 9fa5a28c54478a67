import { LIMIT_DEFAULTS, type LimitsView, NO_LIMITS } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { limitsDialog } from '../../data/dialogs.ts';
import { comingTime } from '../../lib/limit-text.ts';
import { openPage } from '../../test/open-page.tsx';
import { at, board, session, stage } from '../../test/samples.ts';

const RESET = new Date(Date.now() + 2 * 3_600_000).toISOString();
const WHEN = comingTime(RESET);
const REACHED: LimitsView = {
  limits: {
    status: 'reached',
    window: 'five_hour',
    resetsAt: RESET,
    isUsingOverage: false,
    at: at(0),
    windows: [
      { name: 'five_hour', utilization: 1, status: 'reached', resetsAt: RESET },
      { name: 'seven_day', utilization: 0.41, status: 'allowed', resetsAt: RESET },
    ],
  },
  settings: LIMIT_DEFAULTS,
};

/** A stage that stopped at the limit, and a new one. */
function open(path: string, goesOnAt: string | null, limits = REACHED) {
  const lastTurn = { outcome: 'failed', at: at(1), message: 'You’ve hit your 5-hour limit', code: 'usage-limit' };
  const limitWait = { since: at(1), window: 'five_hour', resetsAt: RESET, goesOnAt };
  const stopped = session('STAGE-1', { state: 'idle', sessionId: 'one', lastTurn, limitWait });
  const stages = [{ stage: stage('STAGE-1'), session: stopped }, { stage: stage('STAGE-2', { autoStart: true }) }];
  onTestFinished(limitsDialog.close); // its store outlives the page
  const page = openPage(path, { ...board({ stages }), limits });
  page.server.answer({
    get_transcript: () => ({ entries: [], total: 0 }),
    get_servers: () => ({ servers: [] }),
    get_stage_commands: () => ({ commands: [] }),
    go_on: () => ({ session: stopped }),
    update_limits: (patch) => ({ ...limits, settings: { ...limits.settings, ...patch } }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map((one) => one.input);
  return { ...page, sent };
}

it('says on the board when stages go on, and calls nobody', async () => {
  const { user } = open('/', RESET);
  await screen.findByText(`5-hour limit reached, resets ${WHEN}. 1 stage goes on by itself.`);
  await within(screen.getByRole('region', { name: 'Running' })).findByText(`Goes on at ${WHEN}: usage limit`);
  expect(within(screen.getByRole('region', { name: 'Needs you' })).queryByText(/limit/)).toBeNull();
  await user.click(screen.getByRole('button', { name: `Usage limit until ${WHEN}` }));
  const dialog = await screen.findByRole('dialog', { name: 'Usage limits' });
  const list = within(dialog).getByRole('list', { name: 'Usage limits of the account' });
  expect(list.textContent).toContain(`5-hour limit100 %Resets ${WHEN}`);
  expect(list.textContent).toContain('Weekly limit41 %');
});

it('calls for a stage that a person keeps', async () => {
  open('/', null);
  await within(await screen.findByRole('region', { name: 'Needs you' })).findByText(`Usage limit until ${WHEN}`);
});

it('changes what happens at a limit', async () => {
  const { user, sent } = open('/', RESET);
  await user.click(await screen.findByRole('button', { name: 'Usage limits' }));
  const dialog = await screen.findByRole('dialog', { name: 'Usage limits' });
  await user.click(within(dialog).getByRole('checkbox', { name: 'Continue automatically' }));
  await user.selectOptions(
    within(dialog).getByRole('combobox', { name: 'Hold automatic starts' }),
    'At 80 % of a limit or more',
  );
  expect(sent('update_limits')).toEqual([{ goesOnAtReset: false }, { holdStartsAt: 0.8 }]);
});

it('lets a person try now, or keep the stage', async () => {
  const { user, sent } = open('/stages/STAGE-1', RESET);
  const banner = await screen.findByRole('region', { name: `Usage limit: continues at ${WHEN}` });
  await user.click(within(banner).getByRole('button', { name: 'Do not continue' }));
  await user.click(within(banner).getByRole('button', { name: 'Try now' }));
  expect(sent('go_on')).toEqual([
    { stageId: 'STAGE-1', when: 'never' },
    { stageId: 'STAGE-1', when: 'now' },
  ]);
  expect(screen.queryByRole('button', { name: 'Continue' })).toBeNull();
});

it('lets a kept stage go on by itself after all', async () => {
  const { user, sent } = open('/stages/STAGE-1', null);
  const banner = await screen.findByRole('region', { name: `Usage limit until ${WHEN}` });
  await user.click(within(banner).getByRole('button', { name: `Continue automatically at ${WHEN}` }));
  expect(sent('go_on')).toEqual([{ stageId: 'STAGE-1', when: 'at-reset' }]);
});

it('shows nothing of limits with an API key', async () => {
  const { user } = open('/', null, NO_LIMITS);
  await screen.findByRole('region', { name: 'Needs you' });
  expect(screen.queryByRole('button', { name: /Usage limit/ })).toBeNull();
  await user.click(screen.getByRole('button', { name: /^Account/ }));
  await screen.findByRole('menuitem', { name: 'Logins' });
  expect(screen.queryByRole('menuitem', { name: 'Usage limits' })).toBeNull();
});
