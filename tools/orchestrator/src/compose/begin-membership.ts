import { isWorking, type SessionSummary, type StageId } from '@callboard/contract';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import { type ExecutionDeps, executeForeign } from '../gateway/execute-command.ts';
import type { Signal } from '../lib/bell.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Store } from '../store/store.ts';
import type { Membership } from './join-machines.ts';
import type { StartContext } from './start-context.ts';

interface BeginDeps {
  own: Store;
  execution: ExecutionDeps;
  sessions: Pick<Sessions, 'executors'>;
  scheduler: Pick<Scheduler, 'schedule'>;
  mayStart: () => boolean;
  claude: Pick<ClaudeWatch, 'program'>;
  outboxSignal: Signal<StageId>;
}

/** How long a change of the workload waits for others before it is reported. */
const REPORT_MS = 200;

/** Notices when a session begins or stops to work. */
function createWorkload() {
  const working = new Set<StageId>();
  return {
    /** Whether this changes how many sessions work. */
    has({ stageId, state }: Pick<SessionSummary, 'stageId' | 'state'>): boolean {
      if (isWorking(state) === working.has(stageId)) return false;
      if (!working.delete(stageId)) working.add(stageId);
      return true;
    },
  };
}

/** Lets this machine work for the others: it reports its room, executes their commands, and goes on whenever it has its lease again. */
export function beginMembership({ config, life }: StartContext, membership: Membership | null, deps: BeginDeps): void {
  if (membership === null) return;
  const { lease, relay, machines, reportWith } = membership;
  const { own, execution, sessions, scheduler, mayStart, claude, outboxSignal } = deps;
  reportWith(async () => {
    const working = (await own.read.sessions.list()).filter(({ state }) => isWorking(state)).length;
    const freeSlots = mayStart() ? Math.max(0, config.maxParallel - working) : 0;
    const program = await claude.program().catch(() => null);
    return { claudeVersion: program?.version ?? null, sessions: sessions.executors().length, freeSlots };
  });
  let timer: NodeJS.Timeout | undefined;
  /** The others place stages by what this machine last reported. */
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void lease.renew();
    }, REPORT_MS).unref();
  };
  const workload = createWorkload();
  const unlisten = [
    () => clearTimeout(timer),
    lease.onRegained(() => {
      for (const { launch } of sessions.executors()) outboxSignal.ring(launch.stageId);
      scheduler.schedule();
    }),
    own.onEvent(({ type, data }) => {
      if (type === 'machine-updated') scheduler.schedule();
      if (type === 'session-updated' && workload.has(data)) soon();
    }),
  ];
  life.onStop('membership', () => {
    for (const stop of unlisten) stop();
  });
  relay.serve((command) => executeForeign(execution, command));
  void lease.renew().then(() => own.transact((tx) => machines.notify(tx, machines.here)).catch(() => undefined)); // with its room
}
