import { type AlertSettings, DEFAULT_ALERTS, NOBODY, StageId } from '@callboard/contract';
import { screen, within } from '@testing-library/react';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, request, session, stage } from '../../test/samples.ts';
import { allowedNow, setAlerts } from './alerts.ts';

const ada = (alerts: AlertSettings = DEFAULT_ALERTS) => ({
  ...board({ stages: [] }),
  me: { ...NOBODY, name: 'Ada', alerts },
});

function open(alerts?: AlertSettings) {
  const page = openPage('/notifications', ada(alerts));
  page.server.answer({ get_webhooks: () => ({ webhooks: [] }) });
  page.server.answer({ update_me: (patch) => ({ me: { ...NOBODY, name: 'Ada', ...patch } }) });
  const told = () => page.server.received.flatMap(({ command, input }) => (command === 'update_me' ? [input] : []));
  return { ...page, told };
}

it('switches each signal on each channel, for all devices', async () => {
  const { user, told, server } = open();
  const table = await screen.findByRole('table');
  expect(within(table).getAllByRole('checkbox')).toHaveLength(12);
  await user.click(screen.getByRole('checkbox', { name: 'Failed: sound' }));
  const failed = { ...DEFAULT_ALERTS.failed, sound: false };
  await expect.poll(told).toEqual([{ alerts: { ...DEFAULT_ALERTS, failed } }]);
  await expect
    .poll(() => screen.getByRole<HTMLInputElement>('checkbox', { name: 'Failed: sound' }).checked)
    .toBe(false);
  // What another device chose shows as well.
  const alerts = { ...DEFAULT_ALERTS, finished: { ...DEFAULT_ALERTS.finished, title: false } };
  server.emit('person-updated', { person: 'Ada', presentation: 'overlay', alerts });
  const title = () => screen.getByRole<HTMLInputElement>('checkbox', { name: 'Finished: tab title' });
  await expect.poll(() => title().checked).toBe(false);
});

it('keeps quiet hours with the days and the time zone of the person', async () => {
  const { user, told } = open();
  await user.click(await screen.findByRole('switch', { name: /^Quiet hours/ }));
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const usual = { from: '22:00', to: '07:00', days: [1, 2, 3, 4, 5, 6, 0], timeZone };
  await expect.poll(told).toEqual([{ alerts: { ...DEFAULT_ALERTS, quiet: usual } }]);
  await user.click(await screen.findByRole('checkbox', { name: 'Saturday' }));
  await expect.poll(() => told().at(-1)).toMatchObject({ alerts: { quiet: { days: [1, 2, 3, 4, 5, 0] } } });
  const from = screen.getByLabelText('From');
  await user.clear(from);
  await user.type(from, '20:30');
  await user.tab();
  await expect.poll(() => told().at(-1)).toMatchObject({ alerts: { quiet: { from: '20:30', to: '07:00' } } });
  await user.click(screen.getByRole('switch', { name: /^Quiet hours/ }));
  await expect.poll(() => told().at(-1)).toMatchObject({ alerts: { quiet: null } });
});

it('allows a signal what the person chose, and nothing in quiet hours', () => {
  const night = new Date('2026-01-02T23:00:00Z');
  const day = new Date('2026-01-02T12:00:00Z');
  const quiet = { from: '22:00', to: '07:00', days: [5], timeZone: 'UTC' };
  const settings = { ...DEFAULT_ALERTS, quiet, finished: { ...DEFAULT_ALERTS.finished, notification: false } };
  expect(allowedNow({ signal: 'failed' }, settings, night)).toEqual([]);
  expect(allowedNow({ signal: 'failed' }, settings, day)).toEqual(['title', 'icon', 'sound', 'notification']);
  expect(allowedNow({ signal: 'finished' }, settings, day)).toEqual(['title', 'icon']);
});

it('tells a stage that finished while nobody looked, until somebody looks', async () => {
  const visibility = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('visible');
  const busy = { stage: stage('STAGE-1'), session: session('STAGE-1') };
  const { server } = openPage('/', { ...board({ stages: [busy] }), me: { ...NOBODY, name: 'Ada' } });
  await screen.findByRole('region', { name: 'Running' }); // what is finished until then is not new
  expect(document.title).toBe('Callboard');
  visibility.mockReturnValue('hidden');
  document.dispatchEvent(new Event('visibilitychange'));
  const lastTurn = { outcome: 'succeeded', at: at(1), message: null, code: null };
  server.emit('session-updated', session('STAGE-1', { stageId: StageId.parse('STAGE-1'), state: 'idle', lastTurn }));
  await expect.poll(() => document.title).toBe('(1 finished) Callboard');
  visibility.mockReturnValue('visible');
  document.dispatchEvent(new Event('visibilitychange'));
  await expect.poll(() => document.title).toBe('Callboard');
  visibility.mockRestore();
});

it('shows no notification of a host that is no longer wanted after a moment', async () => {
  const shown: string[] = [];
  class Shown {
    static permission = 'granted';
    constructor(title: string) {
      shown.push(title);
    }
  }
  vi.stubGlobal('Notification', Shown);
  setAlerts({ notify: true });
  vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  onTestFinished(() => {
    setAlerts({ notify: false });
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
  const asking = { stage: stage('STAGE-1', { title: 'Login form' }), session: session('STAGE-1') };
  const { server } = openPage('/', { ...board({ stages: [asking] }), me: { ...NOBODY, name: 'Ada' } });
  server.answer({ get_drafts: () => ({ drafts: [] }) });
  await screen.findByRole('region', { name: 'Running' }); // what waits until then is not new
  const wants = (requestId: string, host: string) =>
    request('STAGE-1', requestId, { kind: 'network', toolName: 'SandboxNetworkAccess', input: { host } });
  const { stageId, requestId } = wants('brief', 'brief.example');
  server.emit('network-requested', wants('brief', 'brief.example'));
  server.emit('network-requested', wants('lasting', 'lasting.example'));
  server.emit('approval-cancelled', { stageId, requestId, reason: 'The command finished before you answered.' });
  await expect.poll(() => shown).toEqual(['Login form: Connect to lasting.example?']);
});
