import { isDeepStrictEqual } from 'node:util';
import { type LaunchId, type PendingRequest, RequestId } from '@callboard/contract';
import { z } from 'zod';
import { truncate } from '../../lib/text.ts';
import type { OutboxRow } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import { type AgentEvent, withLeaving } from '../agent-event.ts';
import { requestKinds } from '../kinds/registry.ts';
import { agentsWork } from './change-session.ts';
import { repeatHosts } from './host-grants.ts';
import { alarmOf, closeRequest, openRequest, raiseAlarm, setDelivery } from './requests.ts';
import {
  addEntry,
  addNotice,
  addRaw,
  backgroundCommands,
  type EventContext,
  newestEntries,
  type SessionChange,
} from './session-change.ts';
import { changeOfAsked, deferredAgain, hookDecided } from './tool-calls.ts';

/** The longest message that is kept in full, in characters: more than one session needs to say to another. */
const MAX_MESSAGE_LENGTH = 20_000;
/** How many messages may wait until the CLI reports their senders. */
const MAX_UNATTRIBUTED = 100;

/**
 * Handles a message that did not come from Callboard. If other sessions may write, the message is kept until the CLI
 * reports its sender, right after it; if a deferred call is due, until the CLI takes it up. Otherwise raises an alarm.
 */
export async function acceptUnattributed(
  context: EventContext,
  messageId: string,
  progress: 'consumed' | 'finished' | 'cancelled',
): Promise<void> {
  const { change, mayPeersWrite, launchId } = context;
  const { deferred } = change.record;
  const mayBeOwn = deferred !== null && deferred.launchId !== launchId;
  if (!mayPeersWrite && !mayBeOwn) return checkMessages(context, [messageId]);
  if (progress !== 'consumed') return; // the sender was reported by then, or `checkUnattributed` raises the alarm
  const strangers = [...new Set([...change.record.strangers, messageId])].slice(-MAX_UNATTRIBUTED);
  change.record = { ...change.record, strangers };
}

/** Shows a message of another session in the transcript, with its sender. Raises an alarm if other sessions may not write. */
export async function peerMessage(
  context: EventContext,
  { messageId, from, text }: { messageId: string; from: string; text: string },
): Promise<void> {
  const { tx, change, mayPeersWrite } = context;
  if (!mayPeersWrite) return checkMessages(context, [messageId]);
  change.record = { ...change.record, strangers: change.record.strangers.filter((id) => id !== messageId) };
  const message = `Another Claude Code session (${from}) wrote to Claude: ${truncate(text, MAX_MESSAGE_LENGTH)}`;
  addNotice(change, tx.now, { level: 'info', code: 'session-message', text: message });
}

/** Raises an alarm if the ended turn had a message that came from neither Callboard nor another session. */
export async function checkUnattributed(context: EventContext): Promise<void> {
  const { change, knowsAll } = context;
  if (change.record.strangers.length === 0) return;
  change.record = { ...change.record, strangers: [] };
  if (knowsAll) await raiseAlarm(context, alarmOf('foreign-message'));
}

/** Whether Callboard gave this message to the process, or it is the process's own. */
async function isFromCallboard({ tx, launchId, change }: EventContext, messageId: string | null): Promise<boolean> {
  if (messageId === null) return false;
  const { ownMessage, wakeUpMessages } = change.record;
  if (messageId === ownMessage || wakeUpMessages.includes(messageId)) return true; // Claude Code's own: Claude had planned it
  return (await tx.outbox.findByWireId(launchId, messageId))?.body.kind === 'message';
}

/** Raises an alarm if one of the messages that the process received did not come from Callboard. */
async function checkMessages(context: EventContext, messageIds: readonly (string | null)[]): Promise<void> {
  if (!context.knowsAll) return;
  for (const messageId of messageIds) {
    if (!(await isFromCallboard(context, messageId))) return raiseAlarm(context, alarmOf('foreign-message'));
  }
}

/**
 * Checks the text that the process echoes under the id of a message. Raises an alarm if the message is not from Callboard,
 * or if text was added: the CLI joins messages that arrive together and echoes them under the last id (tried).
 */
export async function checkEcho(context: EventContext, messageId: string | null, text: string | null): Promise<void> {
  const { tx, launchId, change } = context;
  await checkMessages(context, [messageId]);
  if (!context.knowsAll || messageId === null || text === null) return;
  const { joinedMessages } = change.record;
  const joined = joinedMessages.includes(messageId) ? joinedMessages : [messageId];
  const rows = await Promise.all(joined.map((id) => tx.outbox.findByWireId(launchId, id)));
  const given = rows.map((row) => (row?.body.kind === 'message' && !row.body.isCommand ? row.body.text : null));
  if (given.includes(null)) return; // commands are echoed in another form
  const expected = given.join('\n').trim();
  if (expected !== '' && text.trim() !== expected && text.includes(expected))
    await raiseAlarm(context, alarmOf('foreign-message'));
}

/**
 * Checks the output of a `/` command. Raises an alarm unless the running turn has a command, or Callboard is setting the
 * model: the CLI reports a new model as such output, before its reply.
 */
export async function checkCommandOutput(context: EventContext): Promise<void> {
  const { tx, launchId, change } = context;
  if (!context.knowsAll) return;
  const turn = await Promise.all(change.record.turnMessages.map((id) => tx.outbox.find(id)));
  if (turn.some((row) => row !== null && isCommand(row))) return;
  const waiting = await tx.outbox.listOf(launchId, ['accepted', 'written']);
  if (waiting.some(({ body }) => body.kind === 'control' && body.request.subtype === 'set_model')) return;
  await raiseAlarm(context, alarmOf('foreign-message'));
}

/** Raises an alarm: the process followed an instruction that did not come from Callboard. */
export async function foreignControl(context: EventContext): Promise<void> {
  if (context.knowsAll) await raiseAlarm(context, alarmOf('foreign-control'));
}

/** Modes that allow nothing without asking. The CLI may enter them on its own. */
const ASKING = new Set(['default', 'manual', 'plan', 'dontAsk']);

/** Stores the mode that the process reports. Raises an alarm if it allows more and nothing from Callboard explains it. */
export async function takeMode(context: EventContext, mode: string): Promise<void> {
  const { change } = context;
  if (mode === change.record.mode) return;
  change.record = { ...change.record, mode };
  if (ASKING.has(mode) || !context.knowsAll || (await wasAskedFor(context, mode))) return;
  await raiseAlarm(context, alarmOf('foreign-mode', `It is now "${mode}".`));
}

/** Whether a control request, an answer with a new mode, or possibly a `/` command of the running turn set the mode. */
async function wasAskedFor({ tx, launchId, change }: EventContext, mode: string): Promise<boolean> {
  const rows = await tx.outbox.listOf(launchId, ['accepted', 'written', 'confirmed']);
  const { turnMessages } = change.record;
  return rows.some((row) => setsMode(row, mode) || (turnMessages.includes(row.id) && isCommand(row)));
}

const isCommand = ({ body }: OutboxRow): boolean => body.kind === 'message' && body.isCommand;

const Updates = z.object({
  response: z.object({ updatedPermissions: z.array(z.object({ type: z.string(), mode: z.string().optional() })) }),
});

function setsMode({ body }: OutboxRow, mode: string): boolean {
  switch (body.kind) {
    case 'control':
      return body.request.subtype === 'set_permission_mode' && body.request.mode === mode;
    case 'answer':
      return (Updates.safeParse(body.response).data?.response.updatedPermissions ?? []).some(
        (update) => update.type === 'setMode' && update.mode === mode,
      );
    case 'message':
      return false;
    default:
      return body satisfies never;
  }
}

const ENDED = 'The command finished before you answered.';

/**
 * Closes network requests whose command has ended, and denies them to the CLI. The CLI would leave them open forever, and
 * every later connection to that host would wait for them in silence (seen with 2.1.330). After the denial, the next
 * connection asks again.
 * @param isTurnOver true if only background work can still cause requests
 */
export async function closeStaleNetwork(context: EventContext, isTurnOver: boolean): Promise<void> {
  const { tx, change, launchId } = context;
  const open = (await tx.requests.listOpenOf(change.record.stageId)).filter(
    ({ kind }) => requestKinds[kind].isAskedByCommand,
  );
  if (open.length === 0 || backgroundCommands(change).length > 0) return;
  const entries = await newestEntries(tx, change);
  const ended = new Set(entries.flatMap((entry) => (entry.kind === 'tool-result' ? [entry.toolUseId] : [])));
  const isOver = isTurnOver && !agentsWork(change.record);
  for (const request of open) {
    const { commands, requestId, kind } = request;
    const haveEnded = commands.length > 0 && commands.every(({ id, isBackground }) => isBackground || ended.has(id));
    if (!isOver && !haveEnded) continue;
    const response = { subtype: 'success', response: requestKinds[kind].decline(ENDED) };
    const row = { id: tx.newId(), stageId: request.stageId, launchId, wireId: requestId, actor: null };
    await tx.outbox.insert({ ...row, body: { kind: 'answer', response }, createdAt: tx.now });
    await closeRequest(tx, change, request, ENDED);
  }
}

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
  if (!isFirst) await repeatHosts(tx, change);
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

/** The fields of an answer that have an effect. Other fields, which a future CLI may add to its echo, are ignored. */
const Answer = z.object({
  subtype: z.string(),
  error: z.string().nullish(),
  response: z
    .object({
      behavior: z.unknown(),
      message: z.unknown(),
      interrupt: z.unknown(),
      updatedInput: z.unknown(),
      updatedPermissions: z.unknown(),
      action: z.unknown(),
      content: z.unknown(),
    })
    .partial()
    .nullish(),
});

/**
 * Whether an echo has the same effect as Callboard's answer.
 * @param input the input of the request: the CLI may echo an answer that does not change the input with it
 */
export function isSameAnswer(
  ours: Readonly<Record<string, unknown>>,
  echoed: Readonly<Record<string, unknown>>,
  input: unknown,
): boolean {
  const [given, reported] = [Answer.safeParse(ours), Answer.safeParse(echoed)];
  if (!given.success || !reported.success) return isDeepStrictEqual(ours, echoed);
  return isDeepStrictEqual(effectOf(given.data, input), effectOf(reported.data, input));
}

/** Returns the answer without the keys that mean the same as their absence. */
function effectOf({ subtype, error, response }: z.infer<typeof Answer>, input: unknown): unknown {
  const entries = Object.entries(response ?? {}).filter(([key, value]) => {
    if (value === null || value === undefined || (key === 'interrupt' && value === false)) return false;
    if (key === 'updatedPermissions') return !isDeepStrictEqual(value, []);
    return key !== 'updatedInput' || !isDeepStrictEqual(value, input);
  });
  return { subtype, error: error ?? null, response: Object.fromEntries(entries) };
}
