import type { AgentEvent } from '../agent/agent-event.ts';
import { MAX_RESULT_LENGTH, truncate } from '../lib/truncate.ts';
import { deferredAgain, forgetCall } from './denials.ts';
import type { EventContext } from './event-context.ts';
import { recordRuleUse } from './permission-rules.ts';
import { callEnded } from './running-calls.ts';
import { sandboxResult } from './sandbox-results.ts';
import { addEntry } from './session-change.ts';
import { closeStaleNetwork } from './stale-network.ts';
import { foreignHook } from './take-requests.ts';
import { settleByResult } from './unconfirmed-answers.ts';
import { takeWakeUpPlan } from './wake-ups.ts';

/** What is shown of a call that an interrupt ended. The CLI tells Claude that the user refused it, which nobody did. */
const STOPPED = {
  before: 'Stopped before it ran. Nothing was done.',
  running: 'Stopped while it ran. What it had done by then stands.',
} as const;

const isDenied = async ({ tx, change }: EventContext, toolUseId: string): Promise<boolean> =>
  (await tx.requests.outcomesOf(change.record.stageId, toolUseId)).some(
    (outcome) => outcome === 'denied' || outcome === 'timed-out',
  );

/** Adds the result of a call to the transcript, with all that follows from it. */
export async function toolResult(
  context: EventContext,
  event: Extract<AgentEvent, { type: 'tool-result' }>,
): Promise<void> {
  const { tx, change } = context;
  const { type: kind, text, underRule: _rule, leftSandbox: _left, unruled: _unruled, wasReported, ...reported } = event;
  const { stopped, ...result } = reported;
  const sandboxFailure = context.sandbox.isOn ? event.sandboxFailure : null;
  const shown = { kind, ...result, sandboxFailure, text: truncate(text, MAX_RESULT_LENGTH) };
  const isStopped = stopped !== undefined && !(await isDenied(context, event.toolUseId));
  addEntry(change, tx.now, isStopped ? { ...shown, stopped, text: STOPPED[stopped] } : shown);
  callEnded(change, event.toolUseId);
  deferredAgain(change, event.toolUseId);
  await sandboxResult(context, event);
  await recordRuleUse(context, event);
  if (event.allowedBy === 'hook' && !context.mayHooksAllow) await foreignHook(context);
  await closeStaleNetwork(context, false);
  await takeWakeUpPlan(context, event);
  if (wasReported === true || !event.isError) forgetCall(change, event.toolUseId);
  await settleByResult(tx, change.record.stageId, context.launchId, event);
}
