import { setTimeout as sleep } from 'node:timers/promises';
import { RequestId, StageId } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { z } from 'zod';
import { openRawStream } from '../load/raw-stream.ts';

/** What the session says after the last click. */
export const LAST_CLICK = 'That was the last one.';

const Asked = z.object({ stageId: StageId, requestId: RequestId });

/**
 * Has an idle session ask so often, and allows each request as soon as it arrives. Returns how long each click took until it was
 * acknowledged, which means that it is on the disk, in ms.
 * @param since the newest event
 */
export async function timeClicks(
  { origin, token, transport, since }: { origin: string; token: string; transport: Transport; since: number },
  clicked: StageId,
  count: number,
): Promise<number[]> {
  const asked: RequestId[] = [];
  let wake = Promise.withResolvers<void>();
  const close = await openRawStream(origin, token, since, ({ event, data }) => {
    if (event !== 'approval-requested') return;
    const { stageId, requestId } = Asked.parse(JSON.parse(data));
    if (stageId !== clicked) return;
    asked.push(requestId);
    wake.resolve();
  });
  const steps = Array.from({ length: count }, (_, n) => ({
    tools: [{ name: 'Bash', input: { command: `true ${n}`, description: 'Nothing' } }],
  }));
  await transport.command('send_message', {
    stageId: clicked,
    message: prompt({ steps: [...steps, { text: LAST_CLICK }] }),
  });
  const times: number[] = [];
  for (;;) {
    for (const requestId of asked.splice(0)) {
      const begun = performance.now();
      await transport.command('approve_tool', { stageId: clicked, requestId, decision: 'allow' });
      times.push(performance.now() - begun);
    }
    if (times.length === count) break;
    await wake.promise;
    wake = Promise.withResolvers();
  }
  await untilIdle(transport, clicked);
  close();
  return times;
}

/** Resolves when the session of a stage is idle. */
export async function untilIdle(transport: Transport, stageId: StageId): Promise<void> {
  while ((await transport.command('get_session', { stageId })).session.state !== 'idle') await sleep(50);
}
