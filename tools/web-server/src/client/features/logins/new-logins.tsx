import type { Login } from '@callboard/contract';
import { serviceRoutes } from '@callboard/contract/client';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useRef } from 'react';
import { newLoginsQuery, removeLogin } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { withBase } from '../../lib/base-path.ts';
import { exactTime } from '../../lib/format.ts';
import { forgetKey, ownLoginId } from '../../lib/page-fetch.ts';

const noticeOf = (loginId: string): string => `login-${loginId}`;

/** Shows each new login while the board is open, so that a person can revoke one they did not make. */
export function useNewLoginNotices(): void {
  const { data: logins } = useQuery(newLoginsQuery);
  const { mutate } = useRevoke();
  const reported = useRef(new Set<string>());
  const notify = useEffectEvent((those: readonly Login[]) => {
    const ids = those.map(({ loginId }) => loginId);
    // The login was revoked, here or elsewhere.
    for (const loginId of reported.current) if (!ids.includes(loginId)) notifications.hide(noticeOf(loginId));
    for (const login of those) {
      if (login.loginId === ownLoginId() || reported.current.has(login.loginId)) continue;
      notifications.show({
        id: noticeOf(login.loginId),
        title: `New login: ${login.browser}`,
        message: <NewLogin login={login} revoke={() => mutate(login)} />,
        autoClose: false,
      });
    }
    reported.current = new Set(ids);
  });
  useEffect(() => notify(logins ?? []), [logins]);
}

function NewLogin({ login: { name, browser, createdAt }, revoke }: { login: Login; revoke: () => void }) {
  return (
    <>
      <p style={{ margin: '0 0 8px' }}>
        Logged in as {name}, {exactTime(createdAt)}. Not you? Revoke it.
      </p>
      <Button size="compact-sm" variant="default" aria-label={`Revoke the login of ${browser}`} onClick={revoke}>
        Revoke
      </Button>
    </>
  );
}

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
    done: () => void forgetKey().finally(() => window.location.assign(withBase('/'))),
  });
