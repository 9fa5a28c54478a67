import type { Phase, Stage } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { SessionRecord } from '../store/records.ts';

/**
 * Checks that a change of the phases leaves those that have begun as they are: Claude was told of them. What decides at the end of the
 * current one may still change; a check that is running keeps its command.
 * @throws Rejection `stage_running`
 */
export function requireStartedPhasesUnchanged(
  stage: Stage,
  session: SessionRecord | null,
  wanted: readonly Phase[],
): void {
  if (session === null) return;
  if (stage.pipeline.length === 0 && wanted.length > 0)
    throw new Rejection('stage_running', `${stage.id} was started without phases. Send it a message instead.`);
  const changed = stage.pipeline.slice(0, session.phaseIndex + 1).find((begun, index) => {
    const now = wanted[index];
    const saved = index === session.phaseIndex && now !== undefined ? { ...begun, gate: now.gate } : begun;
    return JSON.stringify(inOrder(saved)) !== JSON.stringify(now === undefined ? null : inOrder(now));
  });
  if (changed === undefined) return;
  const advice = 'Only what decides at its end can change, and the phases after it.';
  throw new Rejection('stage_running', `The phase "${changed.name}" of ${stage.id} has begun. ${advice}`);
}

const inOrder = ({ name, prompt, permissionMode, gate, kind = 'work', conversation, ...rest }: Phase) => {
  rest satisfies Record<string, never>;
  return { name, prompt, permissionMode, gate, kind, conversation };
};
