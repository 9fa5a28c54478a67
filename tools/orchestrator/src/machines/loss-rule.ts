import type { Project } from '@callboard/contract';
import type { MachineRecord } from '../store/ports/machine-tables.ts';

/** When a machine is declared lost without a person. */
export interface LossRule {
  /** How long it must not have been seen. */
  silentMs: number;
  /** Who declares it lost, in words. */
  by: string;
}

/**
 * What the projects with unfinished stages on a machine agree on: all of them have a rule, the longest time counts, and the machine
 * ends its own sessions in half of it. Null: only a person declares it lost.
 */
export function lossRule(
  { endsSessionsAfterMs }: Pick<MachineRecord, 'endsSessionsAfterMs'>,
  projects: readonly Pick<Project, 'name' | 'settings'>[],
): LossRule | null {
  const [slowest] = projects.toSorted((a, b) => timeOf(b) - timeOf(a));
  if (slowest === undefined || endsSessionsAfterMs === null) return null;
  const silentMs = timeOf(slowest);
  if (silentMs === Number.POSITIVE_INFINITY || endsSessionsAfterMs > silentMs / 2) return null;
  return { silentMs, by: `the rule of ${slowest.name}` };
}

const timeOf = ({ settings }: Pick<Project, 'settings'>): number =>
  settings.declareLostAfterMs ?? Number.POSITIVE_INFINITY;
