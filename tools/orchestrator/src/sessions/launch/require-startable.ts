import { isChecking, type Stage } from '@callboard/contract';
import { requireNotRewinding } from '../../domain/going-back.ts';
import { requireNoAlarm } from '../../domain/session-alarm.ts';
import { requireNotInTerminal } from '../../domain/terminal.ts';
import { Rejection } from '../../lib/errors.ts';
import type { SessionRecord } from '../../store/records.ts';
import type { Tables, Tx } from '../../store/store.ts';

/**
 * Checks that a launch of the stage may begin now.
 * @param session null for a stage that was never started; only such a stage waits for its dependencies
 * @throws Rejection `already_done`, `session_alarm`, `in_terminal`, `already_running`, `waits_for_dependency`, `disk_low`
 */
export async function requireStartable(tx: Tx, stage: Stage, session: SessionRecord | null): Promise<void> {
  if (stage.completedAt !== null)
    throw new Rejection('already_done', `${stage.id} is done. Reopen it, or send it a message.`);
  requireNoAlarm(session);
  requireNotInTerminal(session);
  requireNotRewinding(session);
  if (session !== null && isChecking(session))
    throw new Rejection('already_running', `A check of ${stage.id} is running. Stop it, or wait for its result.`);
  if (session !== null && session.launchId !== null)
    throw new Rejection('already_running', notAgainReason(stage, session));
  if (session === null) await requireDependenciesDone(tx, stage);
  const diskPauseReason = tx.diskPauseReason();
  if (diskPauseReason !== null) throw new Rejection('disk_low', diskPauseReason);
}

function notAgainReason({ id, pipeline }: Stage, { atGate, phaseIndex, state }: SessionRecord): string {
  if (!atGate) return `${id} is already running (${state}).`;
  const finished = pipeline[phaseIndex];
  const next = pipeline[phaseIndex + 1];
  const phases =
    finished && next ? `: "${finished.name}" is finished, and "${next.name}" begins when you start it` : '';
  return `${id} is already running, and its next phase waits for you${phases}. Start that phase instead.`;
}

/** How many open dependencies are named. */
const NAMED = 3;

/** Fails closed: a stage that does not exist is not done. */
async function requireDependenciesDone(tx: Tables, { id, dependsOn }: Stage): Promise<void> {
  const found = await Promise.all(dependsOn.map(async (other) => ({ other, stage: await tx.stages.find(other) })));
  const open = found.filter(({ stage }) => stage === null || stage.completedAt === null);
  if (open.length === 0) return;
  const named = open
    .slice(0, NAMED)
    .map(({ other, stage }) => (stage === null ? `${other} (which does not exist)` : `${other} (${stage.title})`));
  const more = open.length > NAMED ? [`${open.length - NAMED} more`] : [];
  const list = new Intl.ListFormat('en', { type: 'conjunction' }).format([...named, ...more]);
  const advice =
    open.length === 1
      ? 'Complete that one first, or remove it from "Depends on".'
      : 'Complete those first, or remove them from "Depends on".';
  throw new Rejection('waits_for_dependency', `${id} waits for ${list}, not done yet. ${advice}`);
}
