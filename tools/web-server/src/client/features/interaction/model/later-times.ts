/** A time until which a request can be set aside. */
interface LaterTime {
  label: string;
  /** Null: for good. */
  until: Date | null;
}

const MINUTE_MS = 60_000;
const MORNING_HOUR = 9;

/** Returns the times to choose from, with the one for good last. */
export function laterTimes(now: Date): LaterTime[] {
  const after = (minutes: number) => new Date(now.getTime() + minutes * MINUTE_MS);
  const morning = new Date(now);
  morning.setDate(morning.getDate() + 1);
  morning.setHours(MORNING_HOUR, 0, 0, 0);
  const nine = morning.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
  return [
    { label: 'Remind me in 15 minutes', until: after(15) },
    { label: 'Remind me in 1 hour', until: after(60) },
    { label: `Remind me tomorrow, ${nine}`, until: morning },
    { label: 'Keep in the inbox, no reminder', until: null },
  ];
}
