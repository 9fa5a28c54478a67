import { shortDuration } from '@callboard/contract';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { withApiClient } from './desk-command.ts';
import { findStage, shortIds } from './find.ts';
import { requestLine, risksOf } from './request-text.ts';
import { styleOf } from './style.ts';
import { cut, displayWidth, padded, safeJson } from './text.ts';

const options = { stage: z.string().optional(), ids: z.boolean().default(false) };

/** `callboard pending`. */
export const listPending = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, options, async ({ api, options: { json, ids, stage }, platform, hint }) => {
    const wanted =
      stage === undefined ? {} : { stageId: findStage(await api.command('get_board', {}), stage, hint).id };
    const reply = await api.command('get_pending', wanted);
    const requestIds = reply.pending.map(({ requestId }) => requestId);
    if (json) {
      platform.out(safeJson(ids ? requestIds : reply, 2));
      return;
    }
    if (ids) {
      for (const id of requestIds) platform.out(id);
      return;
    }
    if (reply.pending.length === 0) platform.out('No request is open.');
    const style = styleOf(platform);
    for (const [request, id] of shortIds(reply.pending)) {
      const age = shortDuration(platform.now().getTime() - Date.parse(request.createdAt)).padStart(6);
      const risks = risksOf(request);
      const start = `${style.bold(id)}  ${padded(request.stageId, 9)} ${style.dim(age)}  `;
      const end = risks === '' ? '' : `  (${risks})`;
      const room = Math.max(20, platform.columns() - displayWidth(start) - displayWidth(end));
      platform.out(`${start}${cut(requestLine(request), room)}${style.call(end)}`);
    }
  });
