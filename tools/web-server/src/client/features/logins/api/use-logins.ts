import { commands, type Login } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { call, Nothing } from '../../../lib/api.ts';
import { forgetKey } from '../../../lib/page-key.ts';
import { dropLogin } from '../../../live/logins.ts';
import { useCommand } from '../../../live/use-command.ts';

/** Revokes the login of a browser. */
export function useRevoke() {
  const cache = useQueryClient();
  return useCommand({
    run: ({ loginId }: Login) =>
      call(`/api/logins/${encodeURIComponent(loginId)}`, { method: 'DELETE', reply: commands.remove_login.reply }),
    failed: ({ browser }) => `The login of ${browser} was not revoked`,
    done: ({ login }) => dropLogin(cache, login.loginId),
  });
}

/** Ends the login of this browser. */
export const useLogout = () =>
  useCommand({
    run: () => call('/api/logout', { method: 'POST', reply: Nothing }),
    failed: 'You are still logged in',
    done: () => void forgetKey().finally(() => window.location.assign('/')),
  });
