import { findMarkedProcesses } from '../../src/claude/launch/marked-processes.ts';
import { identify, type ProcessIdentity } from '../../src/lib/process-identity.ts';
import type { Kit } from './kit.ts';

/** The `claude` of a stage that runs. */
export async function livingProcess({ client }: Kit, stageId: string): Promise<ProcessIdentity> {
  const { session } = await client.command('get_session', { stageId });
  const [pid] = (await findMarkedProcesses()).get(session.launchId ?? '') ?? [];
  const identity = pid === undefined ? null : await identify(pid);
  if (identity === null) throw new Error(`${stageId} has no process`);
  return identity;
}
