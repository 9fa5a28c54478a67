import type { Health } from '@callboard/contract';
import { percentile } from '../measure.ts';
import type { Figure } from '../results.ts';
import type { CpuUse } from './cpu.ts';
import type { Turn, Written } from './partner.ts';
import type { Mark } from './steps.ts';

/** `postgres`: Callboard with its store on PostgreSQL. */
export type Turns = Record<'raw' | 'files' | 'relay' | 'callboard' | 'postgres', Turn[]>;

const figure = (name: string, value: number, unit: string, more: Partial<Figure> = {}): Figure => ({
  name,
  value,
  unit,
  ...more,
});
const wholeOf = (turns: readonly Turn[], share: number): number =>
  percentile(
    turns.map(({ sentAt, endedAt }) => endedAt - sentAt),
    share,
  );

/** How long a turn takes, beside the baselines. */
export function turnFigures({ raw, files, relay, callboard, postgres }: Turns): Figure[] {
  const shares = [0.5, 0.95];
  const all = { callboard, relay, files, raw, ...(postgres.length > 0 && { postgres }) };
  const times = Object.entries(all).flatMap(([name, turns]) =>
    shares.map((share) => figure(`permission turn, p${share * 100}, ${name}`, wholeOf(turns, share), 'ms')),
  );
  const ratio = (name: string, turns: readonly Turn[], share: number, atMost?: number) =>
    figure(
      `permission turn, p${share * 100}, Callboard / ${name}`,
      wholeOf(callboard, share) / wholeOf(turns, share),
      'x',
      { baseline: `${name} ${wholeOf(turns, share).toFixed(1)} ms`, ...(atMost !== undefined && { atMost }) },
    );
  return [
    ratio('relay', relay, 0.5, 1.05),
    ratio('relay', relay, 0.95, 1.1),
    ratio('raw pipe', raw, 0.5, 1.15),
    ratio('raw pipe', raw, 0.95),
    ratio('files', files, 0.5),
    ...times,
    ...claudeFigures(all),
  ];
}

/** What each `claude` used: more CPU beside Callboard would be extra work in `claude`, more waiting a CPU that others occupy. */
const claudeFigures = (turns: Readonly<Record<string, readonly Turn[]>>): Figure[] =>
  Object.entries(turns).flatMap(([name, of]) => [
    figure(
      `CPU of claude in a turn, p50, ${name}`,
      middle(of, ({ claude }) => claude.cpuMs),
      'ms',
    ),
    figure(
      `claude waits for a CPU in a turn, p50, ${name}`,
      middle(of, ({ claude }) => claude.waitedMs),
      'ms',
    ),
  ]);

/** What the store on PostgreSQL costs a turn: time beside the store in a file, and round trips. */
export function sharedFigures({ callboard, postgres }: Turns, marks: readonly Mark[]): Figure[] {
  const above = (share: number) => wholeOf(postgres, share) - wholeOf(callboard, share);
  const beside = (share: number) => ({ baseline: `SQLite ${wholeOf(callboard, share).toFixed(1)} ms` });
  const count = (name: string, step: string, within: (turn: Turn) => [from: number, until: number | undefined]) => {
    const counts = postgres.flatMap((turn) => countIn(marks, step, within(turn)));
    return figure(`${name}, p50, PostgreSQL`, percentile(counts, 0.5), 'a turn');
  };
  const wholeTurn = ({ sentAt, endedAt }: Turn): [number, number] => [sentAt, endedAt];
  return [
    figure('permission turn, p50, PostgreSQL above SQLite', above(0.5), 'ms', { atMost: 10, ...beside(0.5) }),
    figure('permission turn, p95, PostgreSQL above SQLite', above(0.95), 'ms', beside(0.95)),
    count('round trips, message -> line in the FIFO', ASKED, ({ sentAt }) => [sentAt, lineAfter(marks, sentAt)]),
    count('round trips, allow -> line in the FIFO', ASKED, ({ askedAt }) => [askedAt, lineAfter(marks, askedAt)]),
    count('round trips from message to end', ASKED, wholeTurn),
    count('commits from message to end', 'committed', wholeTurn),
  ];
}

const lineAfter = (marks: readonly Mark[], from: number): number | undefined =>
  marks.find(({ step, at }) => step === 'line written' && at >= from)?.at;

/** The mark of a round trip to the database, whoever waits for it: reads and looks for news are among them. */
const ASKED = 'database asked';

/** How many marks there are in between; nothing if the end is not known. */
function countIn(marks: readonly Mark[], step: string, [from, until]: [number, number | undefined]): number[] {
  if (until === undefined) return [];
  return [marks.filter((mark) => mark.step === step && mark.at >= from && mark.at <= until).length];
}

const middle = (turns: readonly Turn[], of: (turn: Turn) => number): number => percentile(turns.map(of), 0.5);

/** How long a click takes until its line is in the pipe of `claude`, and how much of that is the commit. */
export function clickFigures({ relay, callboard }: Turns): Figure[] {
  return [
    ...clicksOf('message', callboard, relay, (turn) => [turn.sentAt, turn.message]),
    ...clicksOf('allow', callboard, relay, (turn) => [turn.askedAt, turn.answer]),
  ];
}

function clicksOf(
  name: string,
  callboard: readonly Turn[],
  relay: readonly Turn[],
  click: (turn: Turn) => [at: number, written: Written | null],
): Figure[] {
  const middleOf = (turns: readonly Turn[], of: (at: number, written: Written) => number) =>
    percentile(
      turns.flatMap((turn) => {
        const [at, written] = click(turn);
        return written === null ? [] : [of(at, written)];
      }),
      0.5,
    );
  const toLine = (turns: readonly Turn[]) => middleOf(turns, (at, { writtenAt }) => writtenAt - at);
  const sync = (turns: readonly Turn[]) => middleOf(turns, (_, { syncMs }) => syncMs);
  const beside = `relay ${toLine(relay).toFixed(2)} ms, sync ${sync(relay).toFixed(2)} ms`;
  return [
    figure(`${name} -> line in the FIFO, p50, above the relay`, toLine(callboard) - toLine(relay), 'ms', {
      atMost: 1.5,
      baseline: beside,
    }),
    figure(`${name} -> line in the FIFO, p50`, toLine(callboard), 'ms'),
    figure(`${name}: the commit before it, p50`, sync(callboard), 'ms', { baseline: beside }),
  ];
}

/**
 * What a turn costs: CPU of both servers until they are at rest again, beyond what they use at rest; transactions, events
 * at the client, and the delay of the event loops.
 */
export function costFigures(
  turns: readonly Turn[],
  marks: readonly Mark[],
  cpu: readonly CpuUse[],
  { loopDelay }: Health,
): Figure[] {
  const goals = [
    { server: 'orchestrator', atMost: 15 },
    { server: 'web server', atMost: 4 },
  ];
  const within = marks.filter(({ at }) => turns.some(({ sentAt, endedAt }) => at >= sentAt && at <= endedAt));
  const each = (step: string) => within.filter((mark) => mark.step === step).length / turns.length;
  return [
    ...cpu.map(({ msPerWork, msPerSecondAtRest }, index) =>
      figure(`CPU a turn, ${goals[index]?.server}`, msPerWork, 'ms', {
        ...(goals[index] !== undefined && { atMost: goals[index].atMost }),
        baseline: `at rest ${msPerSecondAtRest.toFixed(1)} ms a second, left out`,
      }),
    ),
    figure('transactions from message to end', each('committed'), 'a turn'),
    figure('events from message to end', each('event sent'), 'a turn'),
    figure('in commits from message to end', commitMs(within) / turns.length, 'ms a turn'),
    ...Object.entries(loopDelay ?? {}).flatMap(([server, { p50Ms, p99Ms, maxMs }]) =>
      p99Ms === undefined
        ? []
        : [figure(`event loop late, p99, ${server}`, p99Ms, 'ms', { baseline: `p50 ${p50Ms} ms, most ${maxMs} ms` })],
    ),
  ];
}

/** The total time from the start of each commit to its report. */
function commitMs(marks: readonly Mark[]): number {
  let begun: number | null = null;
  let sum = 0;
  for (const { step, at } of marks) {
    if (step === 'commit begun') begun = at;
    if (step !== 'committed' || begun === null) continue;
    sum += at - begun;
    begun = null;
  }
  return sum;
}
