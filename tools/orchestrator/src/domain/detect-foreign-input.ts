import { z } from 'zod';
import type { OutboxRow } from '../store/records.ts';
import type { EventContext } from './event-context.ts';
import { alarmOf, raiseAlarm } from './session-alarm.ts';

/** Whether a message was given to this process from here. */
async function isOurs({ tx, launchId }: EventContext, messageId: string | null): Promise<boolean> {
  if (messageId === null) return false;
  return (await tx.outbox.findByWireId(launchId, messageId))?.body.kind === 'message';
}

/** The process was given these messages: an alarm where one of them was not given from here. */
export async function checkMessages(context: EventContext, messageIds: readonly (string | null)[]): Promise<void> {
  if (!context.knowsAll) return;
  for (const messageId of messageIds) {
    if (!(await isOurs(context, messageId))) return raiseAlarm(context, alarmOf('foreign-message'));
  }
}

/**
 * The process tells which text it was given under the id of a message. An alarm where the message is not ours, or where
 * something was added: the CLI joins what it is given at the same time, and tells of it under the last id (tried).
 */
export async function checkEcho(context: EventContext, messageId: string | null, text: string | null): Promise<void> {
  const { tx, launchId, change } = context;
  await checkMessages(context, [messageId]);
  if (!context.knowsAll || messageId === null || text === null) return;
  const { joinedMessages } = change.record;
  const joined = joinedMessages.includes(messageId) ? joinedMessages : [messageId];
  const rows = await Promise.all(joined.map((id) => tx.outbox.findByWireId(launchId, id)));
  const given = rows.map((row) => (row?.body.kind === 'message' && !row.body.isCommand ? row.body.text : null));
  if (given.includes(null)) return; // a command is told in a form of its own
  const ours = given.join('\n').trim();
  if (ours !== '' && text.trim() !== ours && text.includes(ours)) await raiseAlarm(context, alarmOf('foreign-message'));
}

/** A command printed something: of those that a person or Callboard gave, a new model is told of before its reply. */
export async function checkCommandOutput(context: EventContext): Promise<void> {
  const { tx, launchId, change } = context;
  if (!context.knowsAll) return;
  const turn = await Promise.all(change.record.turnMessages.map((id) => tx.outbox.find(id)));
  if (turn.some((row) => row !== null && isCommand(row))) return;
  const waiting = await tx.outbox.listOf(launchId, ['accepted', 'written']);
  if (waiting.some(({ body }) => body.kind === 'control' && body.request.subtype === 'set_model')) return;
  await raiseAlarm(context, alarmOf('foreign-message'));
}

/** The process has followed an instruction that was not given from here. */
export async function foreignControl(context: EventContext): Promise<void> {
  if (context.knowsAll) await raiseAlarm(context, alarmOf('foreign-control'));
}

/** They let nothing run that would not be asked for otherwise, and the CLI goes into them by itself. */
const ASKING = new Set(['default', 'manual', 'plan', 'dontAsk']);

/** Takes the mode that the process says it is in; an alarm where it lets more run and nothing from here explains it. */
export async function takeMode(context: EventContext, mode: string): Promise<void> {
  const { change } = context;
  if (mode === change.record.mode) return;
  change.record = { ...change.record, mode };
  if (ASKING.has(mode) || !context.knowsAll || (await wasAskedFor(context, mode))) return;
  await raiseAlarm(context, alarmOf('foreign-mode', `It is now "${mode}".`));
}

/** By a command, by an answer with a new mode, or by what a `/` command of the running turn may do. */
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
