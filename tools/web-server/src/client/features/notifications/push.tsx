import { type AlertSettings, type CommandReply, type PushDevice, PushSubscriptionBody } from '@callboard/contract';
import { Button, Group, Switch } from '@mantine/core';
import { type QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { client } from '../../lib/api-client.ts';
import { pushedRegistration, registerWorker } from '../../lib/register-worker.ts';
import { ErrorNote, FailureNote, Note } from '../../ui/notes.tsx';
import { Hint } from '../../ui/primitives.tsx';
import { TimeSince } from '../../ui/text.tsx';
import css from './notifications.module.css';

interface PushState extends CommandReply<'get_push_devices'> {
  /** Whether this browser is subscribed; what it has not been told yet arrives only if the server knows it as well. */
  isSubscribed: boolean;
}

/** The devices that notifications are pushed to, and whether this is one of them. */
const pushQuery = queryOptions({
  queryKey: ['push-devices'],
  queryFn: async ({ signal }): Promise<PushState> => {
    const known = await client.command('get_push_devices', {}, { signal });
    return { ...known, isSubscribed: (await pushedRegistration()) !== null };
  },
});

const refreshPush = (cache: QueryClient): Promise<void> => cache.invalidateQueries({ queryKey: pushQuery.queryKey });

/** Why notifications cannot be pushed to this browser, and what to do about it; null if they can. */
function noPushReason(): string | null {
  if (!window.isSecureContext)
    return 'Browsers take pushed notifications only over HTTPS, or on the machine of Callboard itself. Open Callboard at an address that begins with https.';
  if ('Notification' in window && Notification.permission === 'denied')
    return 'This browser does not allow Callboard to notify you. Allow notifications for this address in its settings, then reload the page.';
  if ('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window) return null;
  return /iPhone|iPad/.test(navigator.userAgent)
    ? 'On this device notifications are pushed to installed apps only. In the Share menu choose Add to Home Screen, then open Callboard from there.'
    : 'This browser has no pushed notifications, or not in a private window. Use another browser or window.';
}

/**
 * Asks for permission, and has notifications pushed to this browser from now on.
 * @throws Error with what to do if the person or the browser refuses; TransportError if Callboard does
 */
async function turnOnPush(publicKey: string): Promise<PushDevice> {
  if ((await Notification.requestPermission()) !== 'granted')
    throw new Error('The browser was not allowed to notify you. Turn it on again and choose Allow.');
  const registration = await registerWorker();
  if (registration === null) throw new Error('This browser has no service workers here.');
  await untilActive(registration);
  // One that was made with another key, or for an earlier login, is of no use.
  await (await registration.pushManager.getSubscription())?.unsubscribe();
  const subscription = await registration.pushManager
    .subscribe({ userVisibleOnly: true, applicationServerKey: publicKey })
    .catch((cause: unknown) => {
      const text = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`The browser’s push service did not take it: ${text}`, { cause });
    });
  try {
    const body = PushSubscriptionBody.parse(subscription.toJSON());
    return (await client.command('add_push_device', body)).device;
  } catch (error) {
    await subscription.unsubscribe(); // the switch stays off, and so does the browser
    throw error;
  }
}

/** Ends it on both sides. The server is told first: from then on nothing is sent. */
async function turnOffPush(deviceId: string | null): Promise<void> {
  if (deviceId !== null) await client.command('remove_push_device', { deviceId });
  await (await (await pushedRegistration())?.pushManager.getSubscription())?.unsubscribe();
}

const ACTIVE_MS = 10_000;

/** A worker that has just been registered takes a moment to start. */
async function untilActive({ active, installing, waiting }: ServiceWorkerRegistration): Promise<void> {
  const coming = installing ?? waiting;
  if (active !== null || coming === null) return;
  const isActive = new Promise<void>((resolve) =>
    coming.addEventListener('statechange', () => coming.state === 'activated' && resolve()),
  );
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('The service worker did not start. Reload the page.')), ACTIVE_MS);
  });
  await Promise.race([isActive, late]).finally(() => clearTimeout(timer));
}

interface PushPartProps {
  alerts: AlertSettings;
  isOff: boolean;
  change: (changed: Partial<AlertSettings>) => void;
}

/** Notifications with no page open: whether this device has them, a test of them, and what went wrong with the last. */
export function PushPart({ alerts, isOff, change }: PushPartProps) {
  return (
    <section className={css.part} aria-labelledby="push">
      <h2 id="push">While Callboard is closed</h2>
      <ThisDevice isOff={isOff} />
      <Switch
        mt="md"
        label="Allow from a notification"
        description="On all your devices. Only where the notification shows the whole command; otherwise it has Open and Deny."
        checked={alerts.allowFromNotification}
        disabled={isOff}
        onChange={({ currentTarget: { checked } }) => change({ allowFromNotification: checked })}
      />
    </section>
  );
}

function ThisDevice({ isOff }: { isOff: boolean }) {
  const cache = useQueryClient();
  const reason = noPushReason();
  const { data, error, refetch } = useQuery({ ...pushQuery, enabled: reason === null });
  const own = data?.isSubscribed === true ? data.devices.find(({ deviceId }) => deviceId === data.current) : undefined;
  const set = useMutation({
    mutationFn: async (isOn: boolean) => {
      if (isOn) await turnOnPush(data?.publicKey ?? '');
      else await turnOffPush(data?.current ?? null);
    },
    onSettled: () => refreshPush(cache),
  });
  if (reason !== null) return <Note>{reason}</Note>;
  return (
    <>
      <Switch
        mt="md"
        label="Push to this device"
        description="Through the push service of this browser, encrypted: that service cannot read it"
        checked={own !== undefined}
        disabled={isOff || data === undefined || set.isPending}
        onChange={({ currentTarget: { checked } }) => set.mutate(checked)}
      />
      {error !== null && <ErrorNote lead="Whether it is on is not known." error={error} retry={() => void refetch()} />}
      {set.isError && (
        <ErrorNote lead={set.variables ? 'It was not turned on.' : 'It was not turned off.'} error={set.error} />
      )}
      {own !== undefined && <Test device={own} isOff={isOff} />}
    </>
  );
}

/** Sends a test, and says what became of it, or of the last notification. */
function Test({ device: { deviceId, sentAt, problem }, isOff }: { device: PushDevice; isOff: boolean }) {
  const cache = useQueryClient();
  const test = useMutation({
    mutationFn: () => client.command('test_push_device', { deviceId }),
    onSettled: () => refreshPush(cache),
  });
  return (
    <Group mt="sm" gap="8px 12px">
      <Button
        variant="default"
        size="xs"
        disabled={isOff}
        loading={test.isPending}
        onClick={() => test.mutate(undefined)}
      >
        Send a test
      </Button>
      {test.isSuccess && <span role="status">Sent. It appears in a moment.</span>}
      {test.isIdle && problem === null && sentAt !== null && (
        <Hint span>
          Last sent <TimeSince at={sentAt} ago />
        </Hint>
      )}
      {test.isError && <ErrorNote error={test.error} />}
      {problem !== null && !test.isError && (
        <FailureNote>
          The last notification was not sent (<TimeSince at={problem.at} ago />
          ). {problem.text}
        </FailureNote>
      )}
    </Group>
  );
}
