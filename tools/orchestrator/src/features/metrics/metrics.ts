import { type BoardView, boardCounts, Column, type LoopDelay, RequestKind, SessionState } from '@callboard/contract';
import { addProcessMetrics } from '@callboard/runtime/process-metrics';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { Logins } from '../../core/commands/logins.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import type { Platform } from '../../platform/runtime.ts';
import { onEvents, type Store } from '../../store/store.ts';

/** What happened to the process of a launch: it is attached again after a restart, or it ended. */
type LaunchUpdate = 're-attached' | 'stopped' | 'died' | 'not-started';

/** The figures of the orchestrator, for monitoring. Counters begin at zero with each start, as Prometheus expects. */
export interface Metrics {
  /** Counts what happened to the process of a launch. */
  countLaunch(updates: LaunchUpdate): void;
  /** Returns the same store; how long its transactions take from here on is measured, their waiting for each other included. */
  timed(store: Store): Store;
  /** Counts how long answers took, from now on. Returns how to stop. */
  watch(store: Pick<Store, 'onEvent'>): () => void;
  /** Returns all figures in Prometheus' text format. */
  text(board: BoardView): Promise<string>;
}

export interface MetricsDeps {
  platform: Pick<Platform, 'now'>;
  loopDelay: () => LoopDelay;
  version: string;
}

const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
/** A person takes seconds, or comes back after a night. */
const ANSWER_SECONDS = [1, 2, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400];

export function createMetrics({ platform, loopDelay, version }: MetricsDeps): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const commits = new Histogram({
    name: 'callboard_store_transaction_seconds',
    help: 'Time of a transaction of the store, with its wait for those before it.',
    buckets: COMMIT_SECONDS,
    registers,
  });
  const answers = new Histogram({
    name: 'callboard_answer_latency_seconds',
    help: 'How long Claude waited for an answer of a person, by kind of request.',
    labelNames: ['kind'],
    buckets: ANSWER_SECONDS,
    registers,
  });
  for (const kind of RequestKind.options) answers.zero({ kind });
  const counted = launchCounters(registers);
  const setBoard = boardGauges(registers, platform);
  addProcessMetrics('orchestrator', loopDelay, registry);
  const info = { name: 'callboard_build_info', help: 'The version of Callboard.', labelNames: ['version'], registers };
  new Gauge(info).set({ version }, 1);

  async function time<T>(work: () => Promise<T>): Promise<T> {
    const end = commits.startTimer();
    try {
      return await work();
    } finally {
      end();
    }
  }

  return {
    countLaunch: counted,
    timed: (store) => ({ ...store, transact: (work, options) => time(() => store.transact(work, options)) }),
    watch: (store) =>
      onEvents(store, ['approval-resolved'], ({ data }) => {
        if (data.by !== null) answers.observe({ kind: data.kind }, data.waitedMs / 1_000);
      }),
    text(board) {
      setBoard(board);
      return registry.metrics();
    },
  };
}

type Registers = Registry[];

function launchCounters(registers: Registers): (updates: LaunchUpdate) => void {
  const reAttached = new Counter({
    name: 'callboard_launches_reattached_total',
    help: 'Processes of Claude Code that a restarted orchestrator took up again.',
    registers,
  });
  const ended = new Counter({
    name: 'callboard_launches_ended_total',
    help: 'Processes of Claude Code that have ended: stopped by Callboard, died by themselves or killed, or never up.',
    labelNames: ['how'],
    registers,
  });
  for (const how of ['stopped', 'died', 'not-started']) ended.inc({ how }, 0);
  return (updates) => (updates === 're-attached' ? reAttached.inc() : ended.inc({ how: updates }));
}

/** Returns a function that sets the figures of a board. */
function boardGauges(registers: Registers, platform: Pick<Platform, 'now'>): (board: BoardView) => void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `callboard_${name}`, help, labelNames, registers });
  const sessions = gauge('sessions', 'Sessions, by state.', ['state']);
  const stages = gauge('stages', 'Stages, by column.', ['column']);
  const pending = gauge('pending_requests', 'Requests that wait for an answer, by kind.', ['kind']);
  const oldest = gauge(
    'oldest_pending_request_age_seconds',
    'How long the request that waits longest has waited; 0 if none waits.',
  );
  return (board) => {
    const counts = boardCounts(board);
    for (const state of SessionState.options) sessions.set({ state }, counts.sessions[state] ?? 0);
    for (const column of Column.options) stages.set({ column }, counts.stages[column] ?? 0);
    for (const kind of RequestKind.options) {
      pending.set({ kind }, board.pending.filter((request) => request.kind === kind).length);
    }
    const since = Math.min(...board.pending.map(({ createdAt }) => Date.parse(createdAt)));
    oldest.set(Number.isFinite(since) ? Math.max(0, platform.now().getTime() - since) / 1_000 : 0);
  };
}

export interface MetricsCommandDeps {
  logins: Pick<Logins, 'requireMetricsToken'>;
  metrics: Pick<Metrics, 'text'>;
  views: Pick<BoardViews, 'board'>;
}

export const metricsCommands = ({
  logins,
  metrics,
  views,
}: MetricsCommandDeps): Pick<CommandHandlers, 'get_metrics'> => ({
  async get_metrics({ token }) {
    await logins.requireMetricsToken(token);
    return { text: await metrics.text(await views.board()) };
  },
});
