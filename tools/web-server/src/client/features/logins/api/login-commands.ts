import type { Login } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import { useQueryClient } from '@tanstack/react-query';
import { removeLogin } from '../../../data/login-queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { forgetKey } from '../../../lib/page-key.ts';

/** Revokes the login of a browser. */
export function useRevoke() {
  const cache = useQueryClient();
  return useCommand({
    run: ({ loginId }: Login) => client.command('remove_login', { loginId }),
    failed: ({ browser }) => `The login of ${browser} was not revoked`,
    done: ({ login }) => removeLogin(cache, login.loginId),
  });
}

/** Makes a one-time code for one more browser. The caller shows a refusal. */
export const useAddDevice = () => useCommand({ run: () => client.command('create_login_code', {}) });

/** Makes a token for metrics. The caller shows a refusal. */
export const useMetricsToken = () => useCommand({ run: () => client.command('create_metrics_token', {}) });

/** Ends the login of this browser. */
export const useLogout = () =>
  useCommand({
    run: () => client.call(serviceRoutes.logOut, {}),
    failed: 'You are still logged in',
    done: () => void forgetKey().finally(() => window.location.assign('/')),
  });
