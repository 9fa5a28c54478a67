import type { QuietHours } from '@callboard/contract';
import { Chip, Switch, TextInput } from '@mantine/core';
import { useState } from 'react';
import css from './notifications.module.css';

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
export function QuietHoursFields({ quiet, isOff, change }: QuietHoursFieldsProps) {
  const set = (changed: Partial<QuietHours>) => quiet && change({ ...quiet, timeZone: here(), ...changed });
  const pick = (days: number[]) => {
    if (days.length > 0) set({ days });
  };
  return (
    <>
      <Switch
        className={css.switch}
        label="Quiet hours"
        description="No sounds and no notifications. The tab’s title and icon stay."
        checked={quiet !== null}
        disabled={isOff}
        onChange={({ currentTarget: { checked } }) => change(checked ? usual() : null)}
      />
      {quiet !== null && (
        <>
          <div className={css.times}>
            <TimeField label="From" value={quiet.from} isOff={isOff} change={(from) => set({ from })} />
            <TimeField label="To" value={quiet.to} isOff={isOff} change={(to) => set({ to })} />
            <span className={css.hint}>{quiet.timeZone}</span>
          </div>
          <fieldset className={css.days}>
            <legend className={css.hint}>On the nights and days that begin on</legend>
            <Chip.Group multiple value={quiet.days.map(String)} onChange={(days) => pick(days.map(Number))}>
              {DAYS.map((day) => (
                <Chip key={day} value={String(day)} size="sm" disabled={isOff} aria-label={NAMES[day]}>
                  {NAMES[day]?.slice(0, 2)}
                </Chip>
              ))}
            </Chip.Group>
          </fieldset>
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
