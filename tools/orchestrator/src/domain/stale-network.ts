import { requestKinds } from '../kinds/registry.ts';
import { agentsWork } from './change-session.ts';
import { backgroundCommands, newestEntries } from './commands-of.ts';
import type { EventContext } from './event-context.ts';
import { closeRequest } from './requests.ts';

const ENDED = 'The command that asked has ended. Its next try asks again.';

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
