import { shortDuration } from '@callboard/contract';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { atDesk } from './desk-command.ts';
import { findStage, shortIds } from './find.ts';
import { requestLine, stakesOf } from './request-text.ts';
import { styleOf } from './style.ts';
import { cut, displayWidth, padded, safeJson } from './text.ts';

const options = { stage: z.string().optional(), ids: z.boolean().default(false) };

/** `callboard pending`. */
export const listPending = (invocation: Invocation): Promise<number> =>
  atDesk(invocation, options, async ({ desk, options: { json, ids, stage }, edges, hint }) => {
    const wanted =
      stage === undefined ? {} : { stageId: findStage(await desk.command('get_board', {}), stage, hint).id };
    const reply = await desk.command('get_pending', wanted);
    const requestIds = reply.pending.map(({ requestId }) => requestId);
    if (json) {
      edges.out(safeJson(ids ? requestIds : reply, 2));
      return;
    }
    if (ids) {
      for (const id of requestIds) edges.out(id);
      return;
    }
    if (reply.pending.length === 0) edges.out('No request is open.');
    const style = styleOf(edges);
    for (const [request, id] of shortIds(reply.pending)) {
      const age = shortDuration(edges.now().getTime() - Date.parse(request.createdAt)).padStart(6);
      const stakes = stakesOf(request);
      const start = `${style.bold(id)}  ${padded(request.stageId, 9)} ${style.dim(age)}  `;
      const end = stakes === '' ? '' : `  (${stakes})`;
      const room = Math.max(20, edges.columns() - displayWidth(start) - displayWidth(end));
      edges.out(`${start}${cut(requestLine(request), room)}${style.call(end)}`);
    }
  });
