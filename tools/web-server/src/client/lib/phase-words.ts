import { checkAtGate, type StageView } from '@callboard/contract';

type Phased = Pick<StageView, 'pipeline' | 'session' | 'completedAt'>;

/** "Build, phase 2 of 3"; null for a stage without phases. */
export function phaseText({ pipeline, session }: Phased): string | null {
  const index = session?.phaseIndex ?? 0;
  const phase = pipeline[index];
  return phase === undefined ? null : `${phase.name}, phase ${index + 1} of ${pipeline.length}`;
}

/** The phase that waits at the gate; null if none does. */
export const phaseAtGate = ({ pipeline, session }: Phased): string | null =>
  session?.atGate === true && checkAtGate({ session }) === null
    ? (pipeline[session.phaseIndex + 1]?.name ?? null)
    : null;

export type PhaseState = 'done' | 'current' | 'to come';

/** The state of each phase. */
export function phaseStates({ pipeline, session, completedAt }: Phased): PhaseState[] {
  const reached = session?.phaseIndex ?? -1;
  return pipeline.map((_, index) => {
    if (
      completedAt !== null ||
      index < reached ||
      (index === reached && session?.atGate === true && checkAtGate({ session }) === null)
    )
      return 'done';
    return index === reached ? 'current' : 'to come';
  });
}
