import { z } from 'zod';
import type { OutboxRow } from '../store/records.ts';
import type { EventContext } from './event-context.ts';
import { alarmOf, raiseAlarm } from './session-alarm.ts';

/** Whether Callboard gave this message to the process, or it is the process's own. */
async function isFromCallboard({ tx, launchId, change }: EventContext, messageId: string | null): Promise<boolean> {
  if (messageId === null) return false;
  const { ownMessage, wakeUpMessages } = change.record;
  if (messageId === ownMessage || wakeUpMessages.includes(messageId)) return true; // Claude Code's own: Claude had planned it
  return (await tx.outbox.findByWireId(launchId, messageId))?.body.kind === 'message';
}

/** Raises an alarm if one of the messages that the process received did not come from Callboard. */
export async function checkMessages(context: EventContext, messageIds: readonly (string | null)[]): Promise<void> {
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
