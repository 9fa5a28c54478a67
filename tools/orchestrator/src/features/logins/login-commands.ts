import type { Pairing } from '@callboard/contract';
import { type CommandHandlers, requireLogin, requirePage } from '../../core/commands/command-handler.ts';
import type { Logins } from '../../core/commands/logins.ts';
import { Rejection } from '../../lib/errors.ts';

type LoginCommands =
  | 'create_login_code'
  | 'create_metrics_token'
  | 'get_logins'
  | 'remove_login'
  | 'auth_redeem'
  | 'auth_prove'
  | 'auth_check'
  | 'auth_logout';

export interface LoginDeps {
  logins: Logins;
  /** Finds out what could lead other devices here; null if there is an address that they open. */
  findPairing: () => Promise<Pairing | null>;
}

export const loginCommands = ({ logins, findPairing }: LoginDeps): Pick<CommandHandlers, LoginCommands> => ({
  get_logins: async (_, { login }) => ({ logins: await logins.list(), current: login?.loginId ?? null }),
  remove_login: async ({ loginId }, { actor }) => ({ login: await logins.end(loginId, actor.name) }),
  create_login_code: async (_, { actor, login }) => {
    requirePage(login, 'Add a device'); // a token must not make a login that outlives it
    const [invitation, pairing] = await Promise.all([logins.invite(actor.name), findPairing()]);
    return { ...invitation, pairing };
  },
  create_metrics_token: async (_, { actor, login }) => {
    requirePage(login, 'Make a token for metrics');
    return { token: await logins.createMetricsToken(actor.name) };
  },
  auth_redeem: logins.redeem,
  auth_prove: async (input, { login }) => {
    const { loginId, kind } = requireLogin(login);
    if (loginId === null || kind !== 'page')
      throw new Rejection('bad_request', 'A token has no page that could be proven.');
    await logins.prove(loginId, input);
    return { loginId };
  },
  auth_check: async (_, { login }) => {
    const { actor, loginId } = requireLogin(login);
    return { actor, loginId };
  },
  auth_logout: async (_, { actor, login }) => {
    const { loginId } = requireLogin(login);
    if (loginId !== null) await logins.end(loginId, actor.name);
    return {};
  },
});
