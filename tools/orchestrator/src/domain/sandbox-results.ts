import { CLAUDE_CODE, type Decision, type PendingRequest, RequestId } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import { ownProperty } from '../lib/own-property.ts';
import type { SessionRecord } from '../store/records.ts';
import type { EventContext } from './event-context.ts';
import { commandLeft } from './isolation.ts';

type Result = Extract<AgentEvent, { type: 'tool-result' }>;
type Call = SessionRecord['calls'][string];

/** Records whether a command ran outside the sandbox, or inside it without asking, as its result says. */
export async function sandboxResult(context: EventContext, result: Result): Promise<void> {
  const { tx, change, sandbox } = context;
  const call = ownProperty(change.record.calls, result.toolUseId);
  if (call?.toolName !== 'Bash') return;
  // It does not matter who allowed it: a person, or something unforeseen.
  if (sandbox.isOn && result.leftSandbox === true) commandLeft(change, tx.now, call.asked);
  if (sandbox.autoAllows && result.unruled === true) await allowedBySandbox(context, result.toolUseId, call);
}

/** Adds a call that nobody was asked about to the decision log, and counts it. */
async function allowedBySandbox({ tx, change, launchId }: EventContext, toolUseId: string, call: Call): Promise<void> {
  const { stageId } = change.record;
  const { toolName, asked } = call;
  const requestId = RequestId.parse(`sandboxed:${toolUseId}`.slice(0, 200));
  const of = { stageId, requestId, kind: 'approval', toolName, toolUseId } as const;
  const decision: Decision = {
    ...of,
    asked,
    outcome: 'allowed',
    by: CLAUDE_CODE,
    at: tx.now,
    waitedMs: 0,
    reason: IN_SANDBOX,
    answers: null,
    updatedInput: null,
    delivery: 'none',
    lost: null,
    settlement: null,
    denial: null,
  };
  const request: PendingRequest = {
    ...of,
    displayName: toolName,
    input: {},
    description: asked,
    reason: null,
    blockedPath: null,
    suggestions: [],
    suppressAlwaysAllow: true,
    leavesSandbox: null,
    commands: [],
    stakes: [],
    createdAt: tx.now,
    expiresAt: null,
    agent: null,
    parentAgent: null,
  };
  if (!(await tx.requests.addDecided(request, decision, launchId))) return;
  await tx.emit({ type: 'decision-updated', data: decision });
  change.record = { ...change.record, sandboxAllowed: change.record.sandboxAllowed + 1 };
}

const IN_SANDBOX = 'It ran in the sandbox, where this project lets commands run without asking.';
