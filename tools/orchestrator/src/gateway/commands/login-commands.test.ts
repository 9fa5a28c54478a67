import { expect, it } from 'vitest';
import type { Logins } from '../../auth/logins.ts';
import { loginCommands } from './login-commands.ts';

const invitations: string[] = [];
const logins = {
  invite: async (name: string) => {
    invitations.push(name);
    return { code: 'c1', expiresAt: '2026-01-01T00:00:00.000Z' };
  },
} as Partial<Logins> as Logins;
const { create_login_code: addDevice } = loginCommands({ logins });

const from = (loginId: string | null) => {
  const actor = { name: 'Ada' };
  return { actor, login: { actor, loginId }, watch: () => undefined };
};

it('lets a page add a device, in the name of its person, and refuses an API token', async () => {
  expect(await addDevice({}, from('login-1'))).toMatchObject({ code: 'c1' });
  await expect(async () => addDevice({}, from(null))).rejects.toMatchObject({ code: 'page_only' });
  await expect(async () => addDevice({}, { ...from(null), login: null })).rejects.toMatchObject({
    code: 'not_logged_in',
  });
  expect(invitations).toEqual(['Ada']);
});
