import type { Login } from '@callboard/contract';
import { Button, Flex, Stack } from '@mantine/core';
import { IconChartLine, IconDevices } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { loginsDialog } from '../../data/dialogs.ts';
import { loginsQuery } from '../../data/queries.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CopyLine, ErrorNote } from '../../ui/notes.tsx';
import { Entry, Hint, Tag } from '../../ui/primitives.tsx';
import { TimeSince } from '../../ui/text.tsx';
import { useAddDevice, useLogout, useMetricsToken, useRevoke } from './new-logins.tsx';

/** The logged-in browsers and terminals, each with a button that ends its login. */
export default function LoginsDialog() {
  const opened = loginsDialog.useIsOpen();
  const { data, error, refetch } = useQuery({ ...loginsQuery, enabled: opened });
  return (
    <Dialog opened={opened} close={loginsDialog.close} title="Logins" size={560} closeOnClickOutside>
      {error !== null && <ErrorNote lead="The logins could not be read." error={error} retry={() => void refetch()} />}
      <ul aria-label="Browsers and terminals that are logged in">
        {data?.logins.map((login) => (
          <Row key={login.loginId} login={login} isOwn={login.loginId === data.current} />
        ))}
      </ul>
      {opened && <AddDevice />}
      {opened && <MetricsToken />}
      <Hint>
        A revoked login ends at once. A link can also be made in Callboard’s terminal: press <kbd>l</kbd>, or run{' '}
        <code>npx callboard link</code>.
      </Hint>
    </Dialog>
  );
}

function Row({ login, isOwn }: { login: Login; isOwn: boolean }) {
  const canCommand = useCanCommand();
  const revoke = useRevoke();
  const logout = useLogout();
  const { name, browser, createdAt } = login;
  return (
    <Entry>
      <div>
        <div>
          {browser} {isOwn && <Tag>this browser</Tag>}
        </div>
        <Hint>
          {name}, logged in <TimeSince at={createdAt} ago />
        </Hint>
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
    </Entry>
  );
}

const QrCode = lazy(() => import('./qr-code.tsx'));

/** Makes a login link for one more browser, and shows it until the dialog is closed. */
function AddDevice() {
  const add = useAddDevice();
  const canCommand = useCanCommand();
  return (
    <Flex component="section" direction="column" gap="sm" align="flex-start" my="lg" aria-label="Add a device">
      {add.data === undefined ? (
        <Hint>Another browser that can reach this address logs in with a link.</Hint>
      ) : (
        <NewLink code={add.data.code} publicUrl={add.data.publicUrl} />
      )}
      {add.isError && <ErrorNote lead="No link was made." error={add.error} />}
      <Button
        variant={add.data === undefined ? 'filled' : 'default'}
        leftSection={<IconDevices size={16} />}
        disabled={!canCommand}
        loading={add.isPending}
        onClick={() => add.mutate(undefined)}
      >
        {add.data === undefined ? 'Add a device' : 'Make another link'}
      </Button>
    </Flex>
  );
}

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** The link leads to the public URL; without one, to where this page is, which a phone may not reach: hence no QR code. */
function NewLink({ code, publicUrl }: { code: string; publicUrl: string | null }) {
  const link = `${publicUrl ?? window.location.origin}/login?code=${encodeURIComponent(code)}`;
  return (
    <Stack w="100%" role="status">
      <CopyLine text={link} label="login link" />
      {publicUrl !== null && (
        <Suspense fallback={null}>
          <QrCode text={link} label="QR code of the login link" />
        </Suspense>
      )}
      <Hint>
        {publicUrl !== null && 'Scan the code with the other device, or open the link there. '}
        {publicUrl === null &&
          LOOPBACK.includes(window.location.hostname) &&
          'This link works on this machine only; for other devices, start Callboard with --public-url. '}
        Single use, valid for one hour. Anyone who has it can log in as you; a new login shows on every open board.
      </Hint>
    </Stack>
  );
}

/** Makes a token with which Prometheus reads the metrics, and shows it until the dialog is closed. */
function MetricsToken() {
  const make = useMetricsToken();
  const canCommand = useCanCommand();
  return (
    <Flex component="section" direction="column" gap="sm" align="flex-start" my="lg" aria-label="Metrics">
      {make.data === undefined ? (
        <Hint>
          Prometheus reads <code>/metrics</code> with a token that can do nothing else.
        </Hint>
      ) : (
        <Stack w="100%" role="status">
          <CopyLine text={make.data.token} label="token for metrics" />
          <Hint>Copy it now: it is not shown again. Revoke it above.</Hint>
        </Stack>
      )}
      {make.isError && <ErrorNote lead="No token was made." error={make.error} />}
      <Button
        variant="default"
        leftSection={<IconChartLine size={16} />}
        disabled={!canCommand}
        loading={make.isPending}
        onClick={() => make.mutate(undefined)}
      >
        {make.data === undefined ? 'Make a token for metrics' : 'Make another token'}
      </Button>
    </Flex>
  );
}
