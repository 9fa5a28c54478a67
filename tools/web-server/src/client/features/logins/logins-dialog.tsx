import { type CommandReply, type Login, type Pairing, shellQuote } from '@callboard/contract';
import { Button, Flex, Stack } from '@mantine/core';
import { IconChartLine, IconDevices } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { loginsDialog } from '../../data/dialogs.ts';
import { loginsQuery } from '../../data/queries.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CopyLine, ErrorNote, Note } from '../../ui/notes.tsx';
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
        <NewLink {...add.data} />
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

/** The link leads to the public URL; without one, to where this page is. */
function NewLink({ code, publicUrl, pairing }: CommandReply<'create_login_code'>) {
  const link = `${publicUrl ?? window.location.origin}/login?code=${encodeURIComponent(code)}`;
  const { host, hostname } = new URL(link);
  const isHereOnly = LOOPBACK.includes(hostname);
  return (
    <>
      <Stack w="100%" role="status">
        {isHereOnly && (
          <Note>
            A phone cannot open this link: on every device, <code>{host}</code> is that device itself.
          </Note>
        )}
        <CopyLine text={link} label="login link" />
        {!isHereOnly && (
          <Suspense fallback={null}>
            <QrCode text={link} label="QR code of the login link" />
          </Suspense>
        )}
        <Hint>
          {!isHereOnly && 'Scan the code with the other device, or open the link there. '}
          Single use, valid for one hour. Anyone who has it can log in as you; a new login shows on every open board.
        </Hint>
      </Stack>
      {isHereOnly && pairing !== null && <PairingWays {...pairing} />}
    </>
  );
}

/** What leads other devices to a Callboard on this page's port of its machine. */
function PairingWays({ sshTarget, startCommand, tailscale }: Pairing) {
  const { hostname, protocol, port: given } = window.location;
  const port = given || (protocol === 'https:' ? '443' : '80');
  const start = startCommand === null ? null : `${startCommand}${port === '3100' ? '' : ` --port ${port}`}`;
  const ipv4 = hostname === '[::1]' ? null : '127.0.0.1';
  return (
    <Stack w="100%" gap="lg" my="sm">
      {start !== null && tailscale !== null && ipv4 !== null && protocol === 'http:' && (
        <TailscaleWay {...tailscale} port={port} start={start} />
      )}
      <Way
        name="SSH tunnel"
        what="For a computer, or a phone with an SSH app. Run this there, then open the link above there:"
      >
        <CopyLine text={`ssh -L ${port}:${ipv4 ?? hostname}:${port} ${shellQuote(sshTarget)}`} label="SSH command" />
      </Way>
      {start !== null && (
        <Way
          name="A certificate"
          what="Callboard speaks HTTPS itself. Start it again, with your name and files in place of these:"
        >
          <CopyLine
            text={`${start} --host 0.0.0.0 --public-url https://callboard.example.com:${port} --tls-cert cert.pem --tls-key key.pem`}
            label="start command with a certificate"
          />
        </Way>
      )}
    </Stack>
  );
}

/** Where Tailscale is asked to serve: the first port needs no number in the address. */
const SERVE_PORTS = [443, 8443, 10_000];

type TailscaleWayProps = NonNullable<Pairing['tailscale']> & { port: string; start: string };

function TailscaleWay({ name, serves, port, start }: TailscaleWayProps) {
  const served = serves.find(({ target }) => [`http://127.0.0.1:${port}`, `http://localhost:${port}`].includes(target));
  const isFree = (one: number) => serves.every((other) => other.port !== one);
  const httpsPort = served?.port ?? SERVE_PORTS.find(isFree);
  if (httpsPort === undefined) return null;
  const [url, option] =
    httpsPort === 443 ? [`https://${name}`, ''] : [`https://${name}:${httpsPort}`, ` --https=${httpsPort}`];
  return (
    <Way
      name="Tailscale"
      what={
        served === undefined
          ? 'For every device of your tailnet. On this machine, run the first line, then start Callboard again with the second:'
          : 'For every device of your tailnet. Tailscale serves Callboard already; start it again with:'
      }
    >
      {served === undefined && <CopyLine text={`tailscale serve --bg${option} ${port}`} label="Tailscale command" />}
      <CopyLine text={`${start} --behind-proxy 127.0.0.1 --public-url ${url}`} label="start command for Tailscale" />
      <Hint>
        The address is then <code>{url}</code>, and links have a QR code.
      </Hint>
    </Way>
  );
}

const Way = ({ name, what, children }: { name: string; what: string; children: ReactNode }) => (
  <Stack component="section" aria-label={name}>
    <h3>{name}</h3>
    <Hint>{what}</Hint>
    {children}
  </Stack>
);

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
