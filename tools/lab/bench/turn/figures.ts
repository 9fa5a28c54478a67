import type { Health } from '@callboard/contract';
import { percentile } from '../measure.ts';
import { noiseOf } from '../noise.ts';
import type { Figure } from '../results.ts';
import type { CpuUse } from './cpu.ts';
import type { Turn, Written } from './partner.ts';
import { type Mark, ownStepsMs } from './steps.ts';

/** `postgres`: Callboard with its store on PostgreSQL. `agentSdk`: Anthropic's Agent SDK. */
export type Turns = Record<'raw' | 'files' | 'agentSdk' | 'relay' | 'callboard' | 'postgres', Turn[]>;
/** What each of these turns used until all was at rest again, beyond what is used at rest. */
export type Cpu = Record<keyof Turns, CpuUse[]>;

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

/** Of each round, what the partners measured in it. */
const pick = <T>(values: readonly T[], rounds: readonly number[]): T[] => rounds.flatMap((at) => values[at] ?? []);

/** How long a turn takes, beside the baselines. */
export function turnFigures({ raw, files, agentSdk, relay, callboard, postgres }: Turns): Figure[] {
  const shares = [0.5, 0.95];
  const all = {
    callboard,
    relay,
    ...(agentSdk.length > 0 && { 'Agent SDK': agentSdk }),
    files,
    raw,
    ...(postgres.length > 0 && { postgres }),
  };
  const times = Object.entries(all).flatMap(([name, turns]) =>
    shares.map((share) => figure(`permission turn, p${share * 100}, ${name}`, wholeOf(turns, share), 'ms')),
  );
  const ratio = (name: string, turns: readonly Turn[], share: number, more: Partial<Figure> = {}) =>
    figure(
      `permission turn, p${share * 100}, Callboard / ${name}`,
      wholeOf(callboard, share) / wholeOf(turns, share),
      'x',
      { baseline: `${name} ${wholeOf(turns, share).toFixed(1)} ms`, ...more },
    );
  const beside = (turns: readonly Turn[], share: number) => ({
    noise: noiseOf(
      turns.length,
      (rounds) => wholeOf(pick(callboard, rounds), share) / wholeOf(pick(turns, rounds), share),
    ),
  });
  return [
    ratio('relay', relay, 0.5, { atMost: 1.05, ...beside(relay, 0.5) }),
    ratio('relay', relay, 0.95, { atMost: 1.1, ...beside(relay, 0.95) }),
    ratio('raw pipe', raw, 0.5, { atMost: 1.15, ...beside(raw, 0.5) }),
    ratio('raw pipe', raw, 0.95, beside(raw, 0.95)),
    ...(agentSdk.length > 0 ? shares.map((share) => ratio('Agent SDK', agentSdk, share)) : []),
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

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;

/** The names of what all partners run alike. */
const CLAUDE = ['claude', 'its tools'];

/** What a turn cost besides `claude` and its tools. The client belongs to it: a baseline without a process works there. */
const besideClaude = ({ clientMs }: Turn, use: CpuUse): number =>
  clientMs + sum([...use].map(([name, ms]) => (CLAUDE.includes(name) ? 0 : ms)));

/** The CPU of all processes in a turn until they are at rest, by name, for each partner (means). */
export function cpuTable(turns: Turns, cpu: Cpu): Record<string, Record<string, string>> {
  const table: Record<string, Record<string, string>> = {};
  for (const name of ['callboard', 'postgres', 'relay', 'agentSdk', 'files', 'raw'] as const) {
    if (turns[name].length === 0) continue;
    const put = (row: string, values: readonly number[]) => {
      table[row] = { ...table[row], [name]: mean(values).toFixed(1) };
    };
    for (const process of new Set(cpu[name].flatMap((use) => [...use.keys()])))
      put(
        process,
        cpu[name].map((use) => use.get(process) ?? 0),
      );
    put(
      'client (the bench), during the turn',
      turns[name].map(({ clientMs }) => clientMs),
    );
    put('all but claude and its tools', costsOf(turns[name], cpu[name]));
  }
  return table;
}

const costsOf = (turns: readonly Turn[], cpu: readonly CpuUse[]): number[] =>
  turns.map((turn, at) => besideClaude(turn, cpu[at] ?? new Map()));

/** The programs that Callboard starts in a turn and until it is at rest, by the marks of their ends. */
export function childrenTable(marks: readonly Mark[], windows: readonly { from: number; until: number }[]) {
  const table: Record<string, { count: number; ms: number }> = {};
  for (const { step, of, at, cpuMs = 0 } of marks) {
    if (step !== 'child ended' || !windows.some(({ from, until }) => at >= from && at <= until)) continue;
    const { count, ms } = table[of] ?? { count: 0, ms: 0 };
    table[of] = { count: count + 1, ms: ms + cpuMs };
  }
  return Object.fromEntries(
    Object.entries(table).map(([name, { count, ms }]) => [
      name,
      { 'a turn': (count / windows.length).toFixed(2), 'CPU a turn, ms': (ms / windows.length).toFixed(1) },
    ]),
  );
}

/**
 * What a turn costs: CPU of all processes until they are at rest again, beyond what they use at rest; Callboard's own steps;
 * transactions, events at the client, and the delay of the event loops. What a change of the machine would change as well is
 * measured in what the raw pipe needs.
 */
export function costFigures(
  turns: Turns,
  cpu: Cpu,
  rest: CpuUse,
  marks: readonly Mark[],
  { loopDelay }: Health,
): Figure[] {
  const { callboard, relay, raw } = turns;
  const goals = { orchestrator: 15, 'web server': 4 };
  const within = marks.filter(({ at }) => callboard.some(({ sentAt, endedAt }) => at >= sentAt && at <= endedAt));
  const each = (step: string) => within.filter((mark) => mark.step === step).length / callboard.length;
  const own = costsOf(callboard, cpu.callboard);
  const ofClaude = cpu.raw.map((use) => use.get('claude') ?? 0);
  const steps = callboard.map((turn) => ownStepsMs(marks, turn));
  const guarded = (name: string, statistic: (rounds: readonly number[]) => number, baseline: string) =>
    figure(name, statistic([...callboard.keys()]), 'x', { baseline, noise: noiseOf(callboard.length, statistic) });
  return [
    ...Object.entries(goals).map(([server, atMost]) =>
      figure(`CPU a turn, ${server}`, mean(cpu.callboard.map((use) => use.get(server) ?? 0)), 'ms', {
        atMost,
        baseline: `at rest ${(rest.get(server) ?? 0).toFixed(1)} ms a second, left out`,
      }),
    ),
    figure('CPU a turn, all but claude and its tools', mean(own), 'ms', {
      baseline: `relay ${mean(costsOf(relay, cpu.relay)).toFixed(1)} ms, raw pipe ${mean(costsOf(raw, cpu.raw)).toFixed(1)} ms`,
    }),
    guarded(
      'CPU a turn, all but claude and its tools / claude on the raw pipe',
      (rounds) => mean(pick(own, rounds)) / mean(pick(ofClaude, rounds)),
      `claude ${mean(ofClaude).toFixed(1)} ms`,
    ),
    figure("Callboard's own steps of a turn, p50", percentile(steps, 0.5), 'ms'),
    guarded(
      "Callboard's own steps of a turn / turn on the raw pipe, p50",
      (rounds) => percentile(pick(steps, rounds), 0.5) / wholeOf(pick(raw, rounds), 0.5),
      `raw pipe ${wholeOf(raw, 0.5).toFixed(1)} ms`,
    ),
    figure('transactions from message to end', each('committed'), 'a turn'),
    figure('events from message to end', each('event sent'), 'a turn'),
    figure('in commits from message to end', commitMs(within) / callboard.length, 'ms a turn'),
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
