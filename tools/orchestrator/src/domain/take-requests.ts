import { type LaunchId, type PendingRequest, RequestId } from '@callboard/contract';
import { z } from 'zod';
import type { AgentEvent } from '../agent/agent-event.ts';
import { withLeaving } from '../agent/leaves-sandbox.ts';
import { requestKinds } from '../kinds/registry.ts';
import type { Tx } from '../store/store.ts';
import { deferredAgain } from './denials.ts';
import { foreignControl, takeMode } from './detect-foreign-input.ts';
import type { EventContext } from './event-context.ts';
import { changeOfAsked, hookDecided } from './hook-inputs.ts';
import { closeRequest, openRequest, setDelivery } from './requests.ts';
import { isSameAnswer } from './same-answer.ts';
import { alarmOf, raiseAlarm } from './session-alarm.ts';
import { addEntry, addRaw, type SessionChange } from './session-change.ts';

const MIB = 1024 * 1024;
/** The largest request that is shown: more JSON than a person can read, and a burden for every board and frame. */
const MAX_ASK_LENGTH = 4 * MIB;
/** The limit for all open requests together: one frame carries them to the web server, and every board shows them. */
const ALL_ASKS = 32 * MIB;
/** A request up to this size is always shown, however many others wait. */
const SMALL_ASK = MIB / 16;

type Asked = Pick<Extract<AgentEvent, { type: 'asked' }>, 'requestId' | 'kind' | 'ask'>;

/**
 * Opens a request. Denies it at once, with a message that the model reads, if it is too large to be shown: nobody should
 * allow what they cannot read.
 */
export async function asked(context: EventContext, { requestId, kind, ask: reported }: Asked): Promise<void> {
  const { tx, change, launchId, sandbox } = context;
  deferredAgain(change, reported.toolUseId);
  const inputChange = await changeOfAsked(context, reported);
  const ask = { ...withLeaving(reported, sandbox.isOn), ...(inputChange !== undefined && { inputChange }) };
  const id = RequestId.parse(requestId);
  const bytes = Buffer.byteLength(JSON.stringify(ask));
  if (bytes <= SMALL_ASK) return openRequest(tx, change, { requestId: id, kind, ask });
  const isRefused = (await tx.outbox.findByWireId(launchId, requestId)) !== null;
  if (isRefused || (await tx.requests.find(change.record.stageId, id)) !== null) return; // handled when it was first printed
  const refusal = notShownReason(bytes, await tx.requests.bytesOpen());
  if (refusal === null) return openRequest(tx, change, { requestId: id, kind, ask });
  const message = `${refusal.toClaude}, so nobody was asked and it was not run. This is not a decision of the user: ${refusal.instead}.`;
  const response = requestKinds[kind].decline(message);
  await answer(context, requestId, { subtype: 'success', response });
  const text = `Claude asked to use ${ask.displayName} with ${sizeOf(bytes)} of input. ${refusal.toPerson}, so nobody was asked: it was denied, and Claude was told to ${refusal.instead}.`;
  addEntry(change, tx.now, { kind: 'notice', parentToolUseId: null, level: 'warning', code: 'too-large', text });
}

const sizeOf = (bytes: number) =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${Math.ceil(bytes / 1_000_000)} MB`;

/** Returns why a request is not shown; null if there is room for it. @param waiting the bytes of all open requests */
function notShownReason(bytes: number, waiting: number) {
  if (bytes > MAX_ASK_LENGTH)
    return {
      toClaude: `This is too large to show to a person (${sizeOf(bytes)})`,
      toPerson: 'That is too large to show',
      instead: 'split it into smaller calls',
    };
  if (bytes + waiting > ALL_ASKS)
    return {
      toClaude: `Open requests already take ${sizeOf(waiting)}, and there is no room to show this one (${sizeOf(bytes)})`,
      toPerson: `Open requests already take ${sizeOf(waiting)}, and there is no room for another`,
      instead: 'try again once they are answered, or split it into smaller calls',
    };
  return null;
}

/** Sends an answer without asking anybody. */
async function answer(
  { tx, change, launchId }: EventContext,
  requestId: string,
  response: Record<string, unknown>,
): Promise<void> {
  const row = { id: tx.newId(), stageId: change.record.stageId, launchId, wireId: requestId };
  await tx.outbox.insert({ ...row, body: { kind: 'answer', response }, actor: null, createdAt: tx.now });
}

/** Handles the reply to `initialize`, the first or a later one: compares the open requests with those that the agent waits for. */
export async function initialized(
  context: EventContext,
  event: Extract<AgentEvent, { type: 'initialized' }>,
): Promise<void> {
  const { tx, change, launchId } = context;
  const isFirst = change.record.launchState === 'starting';
  change.record = { ...change.record, launchState: 'live' };
  if (event.mode !== null && isFirst) change.record = { ...change.record, mode: event.mode };
  else if (event.mode !== null) await takeMode(context, event.mode);
  const theirs = new Set(event.open.map((open) => open.requestId));
  for (const request of await tx.requests.listOpenOf(change.record.stageId)) {
    if (!requestKinds[request.kind].isListedOnInitialize) continue;
    if (!theirs.has(request.requestId)) await closeRequest(tx, change, request, 'Claude Code no longer waits for it.');
  }
  for (const open of event.open) await asked(context, open);
  for (const { requestId, subtype, raw } of event.unclear) {
    const isAnswered = requestId !== null && (await tx.outbox.findByWireId(launchId, requestId)) !== null;
    if (isAnswered) continue; // handled when it was first printed
    addRaw(change, tx.now, raw);
    if (requestId !== null) await refuse(context, { requestId, subtype, permissionFor: null });
  }
}

/** Refuses an unknown request at once, so that the CLI cannot hang on it. */
export async function refuse(
  context: EventContext,
  {
    requestId,
    subtype,
    permissionFor,
  }: Pick<Extract<AgentEvent, { type: 'asked-unknown' }>, 'requestId' | 'subtype' | 'permissionFor'>,
): Promise<void> {
  const { tx, change, launchId } = context;
  if ((await tx.outbox.findByWireId(launchId, requestId)) !== null) return; // handled when it was first printed
  await answer(context, requestId, { subtype: 'error', error: `Callboard does not answer "${subtype}" requests` });
  const notice = { kind: 'notice', parentToolUseId: null } as const;
  if (permissionFor === null) {
    const text = `Claude Code asked for "${subtype}", which Callboard does not know. It was told so.`;
    addEntry(change, tx.now, { ...notice, level: 'warning', code: 'unknown-request', text });
    return;
  }
  const text = `Claude Code asked permission for ${permissionFor} in a way that Callboard does not understand ("${subtype}"), so nobody was asked and it was denied. Update Callboard, or install an older Claude Code, and start the stage again.`;
  addEntry(change, tx.now, { ...notice, level: 'error', code: 'unknown-permission-request', text });
  const cliGaps = [...new Set([...change.record.cliGaps, UNASKED])];
  change.record = { ...change.record, cliGaps };
}

/** A gap that the session keeps, so that its card shows it. */
const UNASKED = 'it asks permission in a way that Callboard does not understand, so all of it is denied';

/** Handles a request that the CLI withdrew. An answer that the CLI has not confirmed did not count. */
export async function withdrawn({ tx, change, launchId }: EventContext, requestId: string): Promise<void> {
  const stored = await tx.requests.find(change.record.stageId, RequestId.parse(requestId));
  if (stored === null) return;
  hookDecided(change, stored.request);
  if (stored.decision === null) {
    await closeRequest(tx, change, stored.request, await withdrawnReason(tx, change, launchId, stored.request));
    return;
  }
  const row = await tx.outbox.findByWireId(launchId, requestId);
  if (row === null || row.state === 'confirmed' || row.state === 'void') return;
  await tx.outbox.setVoid(row.id, 'the request was withdrawn first');
  await setDelivery(tx, stored, 'not-applied');
}

const ENDS_TURN = new Set(['interrupt', 'end_session']);

/** Returns why a request was withdrawn. The CLI does not say; if Callboard is ending the turn, that is why, and it knows for whom. */
async function withdrawnReason(
  tx: Tx,
  { record }: SessionChange,
  launchId: LaunchId,
  { createdAt }: PendingRequest,
): Promise<string> {
  // An interrupt before the end of the last turn is over.
  const { lastTurn } = record;
  const since = lastTurn !== null && lastTurn.at > createdAt ? lastTurn.at : createdAt;
  const endings = (await tx.outbox.controlsSince(launchId, since)).flatMap(({ body }) =>
    body.kind === 'control' && ENDS_TURN.has(body.request.subtype) ? [body.reason ?? ''] : [],
  );
  if (endings.length === 0)
    return 'Claude Code withdrew the request: its turn was interrupted or something else decided.';
  // The first one ended the turn; a stop sends an interrupt and then `end_session`, for one reason.
  return `Claude Code withdrew the request, since its turn was ended. ${endings.at(-1)}`.trim();
}

/** Handles a reply of the CLI, or its echo of the answer that counted. */
export async function response(context: EventContext, event: Extract<AgentEvent, { type: 'response' }>): Promise<void> {
  const { tx, change, launchId } = context;
  const row = await tx.outbox.findByWireId(launchId, event.requestId);
  if (row?.body.kind === 'control') {
    if (row.state === 'confirmed') return foreignControl(context); // each request gets one reply
    await tx.outbox.setConfirmed(row.id, tx.now);
    // A process that answers `initialize` is up, even if the content of its reply is unexpected.
    const isUp = event.ok && row.body.request.subtype === 'initialize';
    if (isUp && change.record.launchState === 'starting') change.record = { ...change.record, launchState: 'live' };
    if (event.ok && row.body.request.subtype === 'set_permission_mode') modeConfirmed(change, event.response);
    return;
  }
  const { request_id: _id, ...echoed } = event.response;
  const stored = await tx.requests.find(change.record.stageId, RequestId.parse(event.requestId));
  if (row?.body.kind === 'answer' && isSameAnswer(row.body.response, echoed, stored?.request.input)) {
    await tx.outbox.setConfirmed(row.id, tx.now);
    if (stored !== null) await setDelivery(tx, stored, 'confirmed');
    return;
  }
  if (stored === null && row === null) return foreignControl(context);
  if (row !== null) await tx.outbox.setVoid(row.id, 'another answer counted');
  if (stored?.decision === null)
    await closeRequest(tx, change, stored.request, 'Something other than Callboard answered it.');
  else if (stored !== null && row !== null) await setDelivery(tx, stored, 'not-applied');
  await raiseAlarm(context, alarmOf('foreign-answer'));
}

/** The mode that the CLI is in, which may differ from the requested one. The status line after it names the same mode. */
const ModeReply = z.object({ response: z.object({ mode: z.string() }) });

function modeConfirmed(change: SessionChange, reply: Record<string, unknown>): void {
  const { data } = ModeReply.safeParse(reply);
  if (data !== undefined) change.record = { ...change.record, mode: data.response.mode };
}

/** Raises an alarm for a hook that nobody agreed to: hooks take effect as soon as their file is written, even within a session. */
export const foreignHook = (context: EventContext): Promise<void> =>
  raiseAlarm(context, alarmOf('foreign-hook', 'Look at the settings files of the worktree.'));
