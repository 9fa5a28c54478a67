import { AlertChannel, type AlertSettings, type QuietHours, Signal } from '@callboard/contract';
import { ActionIcon, Checkbox, Chip, Flex, Group, Switch, TextInput } from '@mantine/core';
import { IconVolume } from '@tabler/icons-react';
import { useState } from 'react';
import { useMe, useSetAlerts } from '../features/approvals/presentation.tsx';
import { playSound, useAlertSwitches } from '../features/notifications/alerts.ts';
import css from '../features/notifications/notifications.module.css';
import { PushPart } from '../features/notifications/push.tsx';
import { signalTitles } from '../features/webhooks/webhook-data.ts';
import { OutgoingPart } from '../features/webhooks/webhooks.tsx';
import { useCanCommand } from '../stream/stream-context.tsx';
import { PlainPage } from '../ui/plain-page.tsx';
import { Hint } from '../ui/primitives.tsx';

const SIGNALS: Readonly<Record<Signal, { about: string; icon: string }>> = {
  waiting: { about: 'A request, a finished phase, a stage that stopped', icon: 'needs-you' },
  failed: { about: 'A turn, a check or a start that failed', icon: 'failed' },
  finished: { about: 'A stage that is ready for review, or that Callboard has merged', icon: 'finished' },
};

const CHANNELS: Readonly<Record<AlertChannel, string>> = {
  title: 'Tab title',
  icon: 'Tab icon',
  sound: 'Sound',
  notification: 'Notification',
};

/** What is signalled to a person, and how: kept by the server for all their devices, but for the switches of this browser. */
export default function NotificationsPage() {
  const { alerts } = useMe();
  const set = useSetAlerts();
  const isOff = !useCanCommand();
  const change = (changed: Partial<AlertSettings>) => set.mutate({ ...alerts, ...changed });
  return (
    <PlainPage title="Notifications">
      <ThisBrowser />
      <PushPart alerts={alerts} isOff={isOff} change={change} />
      <section className={css.part} aria-labelledby="signals">
        <h2 id="signals">Signals</h2>
        <Hint mt="xs" mb="sm">
          On all your devices. You get sounds and notifications only while you are not looking at that stage on any of
          them.
        </Hint>
        <SignalTable alerts={alerts} isOff={isOff} change={change} />
      </section>
      <section className={css.part} aria-labelledby="quiet">
        <h2 id="quiet">Quiet hours</h2>
        <QuietHoursFields quiet={alerts.quiet} isOff={isOff} change={(quiet) => change({ quiet })} />
      </section>
      <section className={css.part} aria-labelledby="outgoing">
        <h2 id="outgoing">Outgoing</h2>
        <OutgoingPart />
      </section>
    </PlainPage>
  );
}

function ThisBrowser() {
  const { notify, sound, toggleNotify, toggleSound } = useAlertSwitches();
  return (
    <section className={css.part} aria-labelledby="browser">
      <h2 id="browser">This browser</h2>
      <Switch
        mt="md"
        label="Show notifications"
        description="While a tab of Callboard is open"
        checked={notify}
        onChange={toggleNotify}
      />
      <Switch
        mt="md"
        label="Play sounds"
        description="A browser plays them only after a click into the page"
        checked={sound}
        onChange={toggleSound}
      />
    </section>
  );
}

interface SignalTableProps {
  alerts: AlertSettings;
  isOff: boolean;
  change: (changed: Partial<AlertSettings>) => void;
}

function SignalTable({ alerts, isOff, change }: SignalTableProps) {
  return (
    <table className={css.table}>
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">Signal</span>
          </th>
          {AlertChannel.options.map((channel) => (
            <th key={channel} scope="col">
              {CHANNELS[channel]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {Signal.options.map((signal) => (
          <tr key={signal}>
            <th scope="row">
              <Group wrap="nowrap">
                <img src={`/favicon-${SIGNALS[signal].icon}.svg`} alt="" width={20} height={20} />
                <div>
                  <div>{signalTitles[signal]}</div>
                  <Hint component="div" visibleFrom="sm">
                    {SIGNALS[signal].about}
                  </Hint>
                </div>
              </Group>
            </th>
            {AlertChannel.options.map((channel) => (
              <td key={channel}>
                <div className={css.cell}>
                  <Checkbox
                    aria-label={`${signalTitles[signal]}: ${CHANNELS[channel].toLowerCase()}`}
                    checked={alerts[signal][channel]}
                    disabled={isOff}
                    onChange={({ currentTarget: { checked } }) =>
                      change({ [signal]: { ...alerts[signal], [channel]: checked } })
                    }
                  />
                  {channel === 'sound' && (
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      visibleFrom="sm"
                      aria-label={`Play the sound of: ${signalTitles[signal]}`}
                      onClick={() => playSound(signal)}
                    >
                      <IconVolume size={16} stroke={1.75} />
                    </ActionIcon>
                  )}
                </div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Monday first; 0 is Sunday. */
const DAYS = [1, 2, 3, 4, 5, 6, 0];
const NAMES = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const here = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;
const usual = (): QuietHours => ({ from: '22:00', to: '07:00', days: [...DAYS], timeZone: here() });

interface QuietHoursFieldsProps {
  quiet: QuietHours | null;
  isOff: boolean;
  change: (quiet: QuietHours | null) => void;
}

/** When a person hears nothing. Times are those of the place where they were last set. */
function QuietHoursFields({ quiet, isOff, change }: QuietHoursFieldsProps) {
  const set = (changed: Partial<QuietHours>) => quiet && change({ ...quiet, timeZone: here(), ...changed });
  const pick = (days: number[]) => {
    if (days.length > 0) set({ days });
  };
  return (
    <>
      <Switch
        mt="md"
        label="Quiet hours"
        description="No sounds and no notifications. The tab’s title and icon stay."
        checked={quiet !== null}
        disabled={isOff}
        onChange={({ currentTarget: { checked } }) => change(checked ? usual() : null)}
      />
      {quiet !== null && (
        <>
          <Group gap="md" align="flex-end" mt="md">
            <TimeField label="From" value={quiet.from} isOff={isOff} change={(from) => set({ from })} />
            <TimeField label="To" value={quiet.to} isOff={isOff} change={(to) => set({ to })} />
            <Hint span>{quiet.timeZone}</Hint>
          </Group>
          <Flex component="fieldset" gap="sm" wrap="wrap" mt="md">
            <Hint component="legend" mb="xs">
              On the nights and days that begin on
            </Hint>
            <Chip.Group multiple value={quiet.days.map(String)} onChange={(days) => pick(days.map(Number))}>
              {DAYS.map((day) => (
                <Chip key={day} value={String(day)} size="sm" disabled={isOff} aria-label={NAMES[day]}>
                  {NAMES[day]?.slice(0, 2)}
                </Chip>
              ))}
            </Chip.Group>
          </Flex>
        </>
      )}
    </>
  );
}

interface TimeFieldProps {
  label: string;
  value: string;
  isOff: boolean;
  change: (time: string) => void;
}

/** Saves a whole time only: while somebody types, a browser reports none. */
function TimeField({ label, value, isOff, change }: TimeFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <TextInput
      type="time"
      label={label}
      value={typed ?? value}
      disabled={isOff}
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      onBlur={() => {
        if (typed !== null && typed !== '' && typed !== value) change(typed);
        setTyped(null);
      }}
    />
  );
}
