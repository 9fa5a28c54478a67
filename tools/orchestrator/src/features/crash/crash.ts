import { randomUUID } from 'node:crypto';
import { type CommandHandlers, requirePage } from '../../core/commands/command-handler.ts';
import type { Sessions } from '../../core/launch/sessions.ts';
import { Rejection } from '../../lib/errors.ts';

export interface CrashDeps {
  sessions: Pick<Sessions, 'executors'>;
  /** Has the supervisor kill this process and the web server; undefined without a supervisor. */
  crash: (() => void) | undefined;
}

/** The reply is on its way by then. */
const AFTER_REPLY_MS = 50;

/** A person kills Callboard and sees that nothing is lost. */
export function crashCommands({ sessions, crash }: CrashDeps): Pick<CommandHandlers, 'get_processes' | 'crash'> {
  const own = randomUUID();
  return {
    get_processes: async () => ({
      instance: own,
      processes: sessions.executors().map(({ launch, process }) => ({
        stageId: launch.stageId,
        pid: process.identity.pid,
        startedAt: launch.createdAt,
      })),
    }),
    crash: async ({ instance }, { login }) => {
      requirePage(login, 'Kill Callboard');
      if (crash === undefined)
        throw new Rejection('bad_request', 'Nobody would start Callboard again: it has no supervisor.');
      if (instance === own) setTimeout(crash, AFTER_REPLY_MS);
      return {};
    },
  };
}
