import { expect, it } from 'vitest';
import type { Logins } from '../../core/commands/logins.ts';
import { loginCommands } from './login-commands.ts';

const invitations: string[] = [];
const pairing = { sshTarget: 'ada@desk', startCommand: null, tailscale: null };
const logins = {
  invite: async (name: string) => {
    invitations.push(name);
    return { code: 'c1', expiresAt: '2026-01-01T00:00:00.000Z', publicUrl: null };
  },
  createMetricsToken: async (by: string) => `metrics of ${by}`,
} as Partial<Logins> as Logins;
const { create_login_code: addDevice, create_metrics_token: addMetrics } = loginCommands({
  logins,
  findPairing: async () => pairing,
});

const from = (kind: 'page' | 'token', loginId: string | null) => {
  const actor = { name: 'Ada' };
  return { actor, login: { actor, loginId, kind }, watch: () => undefined };
};

it('lets a page add a device, in the name of its person, and refuses every token', async () => {
  expect(await addDevice({}, from('page', 'login-1'))).toMatchObject({ code: 'c1', pairing });
  for (const loginId of [null, 'login-2']) {
    await expect(async () => addDevice({}, from('token', loginId))).rejects.toMatchObject({ code: 'page_only' });
  }
  await expect(async () => addDevice({}, { ...from('page', null), login: null })).rejects.toMatchObject({
    code: 'not_logged_in',
  });
  expect(invitations).toEqual(['Ada']);
});

it('lets a page make a token for metrics, which outlives every other login, and refuses every token', async () => {
  expect(await addMetrics({}, from('page', 'login-1'))).toEqual({ token: 'metrics of Ada' });
  for (const loginId of [null, 'login-2']) {
    await expect(async () => addMetrics({}, from('token', loginId))).rejects.toMatchObject({ code: 'page_only' });
  }
});
