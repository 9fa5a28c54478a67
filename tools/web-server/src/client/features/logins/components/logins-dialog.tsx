import type { Login } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { loginsQuery } from '../../../data/login-queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useLogout, useRevoke } from '../api/login-commands.ts';
import { AddDevice } from './add-device.tsx';
import css from './logins-dialog.module.css';
import { MetricsToken } from './metrics-token.tsx';

/** The logged-in browsers and terminals, each with a button that ends its login. */
export default function LoginsDialog({ opened, close }: { opened: boolean; close: () => void }) {
  const { data, error, refetch } = useQuery({ ...loginsQuery, enabled: opened });
  return (
    <Dialog opened={opened} close={close} title="Logins" size={560} closeOnClickOutside>
      {error !== null && <ErrorNote lead="The logins could not be read." error={error} retry={() => void refetch()} />}
      <ul className={css.list} aria-label="Browsers and terminals that are logged in">
        {data?.logins.map((login) => (
          <Row key={login.loginId} login={login} isOwn={login.loginId === data.current} />
        ))}
      </ul>
      {opened && <AddDevice />}
      {opened && <MetricsToken />}
      <p className={css.hint}>
        A revoked login ends at once. A link can also be made in Callboard’s terminal: press <kbd>l</kbd>, or run{' '}
        <code>npx callboard link</code>.
      </p>
    </Dialog>
  );
}

function Row({ login, isOwn }: { login: Login; isOwn: boolean }) {
  const canCommand = useCanCommand();
  const revoke = useRevoke();
  const logout = useLogout();
  const { name, browser, createdAt } = login;
  return (
    <li>
      <div>
        <div>
          {browser}
          {isOwn && <span className={css.own}>this browser</span>}
        </div>
        <div className={css.hint}>
          {name}, logged in <TimeSince at={createdAt} ago />
        </div>
      </div>
      {isOwn ? (
        <Button
          variant="default"
          size="compact-md"
          disabled={!canCommand}
          loading={logout.isPending}
          onClick={() => logout.mutate(undefined)}
        >
          Log out
        </Button>
      ) : (
        <Button
          variant="default"
          size="compact-md"
          aria-label={`Revoke the login of ${browser}`}
          disabled={!canCommand}
          loading={revoke.isPending}
          onClick={() => revoke.mutate(login)}
        >
          Revoke
        </Button>
      )}
    </li>
  );
}
