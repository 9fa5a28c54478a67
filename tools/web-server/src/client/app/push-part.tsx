import type { AlertSettings, PushDevice } from '@callboard/contract';
import { Button, Switch } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';
import { ErrorNote } from '../ui/error-note.tsx';
import { FailureNote, Note } from '../ui/note.tsx';
import { TimeSince } from '../ui/time-since.tsx';
import css from './notifications.module.css';
import { noPushReason, pushQuery, refreshPush, turnOffPush, turnOnPush } from './push.ts';

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
        className={css.switch}
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
        className={css.switch}
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
    <div className={css.test}>
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
        <span className={css.hint}>
          Last sent <TimeSince at={sentAt} ago />
        </span>
      )}
      {test.isError && <ErrorNote error={test.error} />}
      {problem !== null && !test.isError && (
        <FailureNote>
          The last notification was not sent (<TimeSince at={problem.at} ago />
          ). {problem.text}
        </FailureNote>
      )}
    </div>
  );
}
