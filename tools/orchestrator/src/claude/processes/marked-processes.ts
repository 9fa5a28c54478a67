import { shareRuns } from '../../lib/shared-runs.ts';
import { eachEnvironment } from './process-table.ts';

/** The variable that marks a launch's process and everything it starts, including Bash commands in their own process groups. */
export const LAUNCH_MARKER = 'CB_LAUNCH';

/**
 * Living processes by the launch whose marker they carry, as far as we may read them. Needs `/proc`; without it none are
 * found. Concurrent callers share one run, since all of `/proc` is read for it.
 */
export const findMarkedProcesses: () => Promise<ReadonlyMap<string, readonly number[]>> = shareRuns(() =>
  readAll(LAUNCH_MARKER),
);

/** The variable that marks what the project runs in a worktree, by the id of the run. */
export const COMMAND_MARKER = 'CB_COMMAND';

/** As `findMarkedProcesses`, by the run of a command in a worktree. */
export const findCommandProcesses: () => Promise<ReadonlyMap<string, readonly number[]>> = shareRuns(() =>
  readAll(COMMAND_MARKER),
);

async function readAll(name: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, readonly number[]>();
  for await (const { pid, variables } of eachEnvironment()) {
    const marker = variables.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
    if (marker !== undefined) found.set(marker, [...(found.get(marker) ?? []), pid]);
  }
  return found;
}

/** Whether a living process has this variable, as `NAME=value`, as far as we may read them. Needs `/proc`; without it none has. */
export async function hasProcessWith(variable: string): Promise<boolean> {
  for await (const { variables } of eachEnvironment()) if (variables.includes(variable)) return true;
  return false;
}
