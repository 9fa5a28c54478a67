import { isWorking, type StageId } from '@callboard/contract';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import { type ExecutionParts, executeForeign } from '../gateway/execute-command.ts';
import type { Bell } from '../lib/bell.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Store } from '../store/store.ts';
import type { Membership } from './join-machines.ts';
import type { StartContext } from './start-context.ts';

interface BeginParts {
  own: Store;
  execution: ExecutionParts;
  sessions: Pick<Sessions, 'executors'>;
  scheduler: Pick<Scheduler, 'nudge'>;
  mayStart: () => boolean;
  claude: Pick<ClaudeWatch, 'program'>;
  outboxBell: Bell<StageId>;
}

/** Lets this machine work for the others: it reports its room, executes their commands, and goes on whenever it has its lease again. */
export function beginMembership(
  { config, life }: StartContext,
  membership: Membership | null,
  parts: BeginParts,
): void {
  if (membership === null) return;
  const { lease, relay, machines, reportWith } = membership;
  const { own, execution, sessions, scheduler, mayStart, claude, outboxBell } = parts;
  reportWith(async () => {
    const working = (await own.read.sessions.list()).filter(({ state }) => isWorking(state)).length;
    const freeSlots = mayStart() ? Math.max(0, config.maxParallel - working) : 0;
    const program = await claude.program().catch(() => null);
    return { claudeVersion: program?.version ?? null, sessions: sessions.executors().length, freeSlots };
  });
  const unlisten = [
    lease.onRegained(() => {
      for (const { launch } of sessions.executors()) outboxBell.ring(launch.stageId);
      scheduler.nudge();
    }),
    own.onEvent(({ type }) => {
      if (type === 'machine-updated') scheduler.nudge();
    }),
  ];
  life.onStop('membership', () => {
    for (const stop of unlisten) stop();
  });
  relay.serve((command) => executeForeign(execution, command));
  void lease.renew().then(() => own.transact((tx) => machines.tell(tx, machines.here)).catch(() => undefined)); // with its room
}
