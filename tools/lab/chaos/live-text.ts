import { setTimeout as sleep } from 'node:timers/promises';
import type { StageId } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import type { Onlooker } from './onlooker.ts';
import { insist, say } from './people.ts';
import type { Talkers } from './run-chaos.ts';

/** A machine notices a silent connection to another one in twice ten seconds, and connects again within fifteen. */
const ATTEMPTS = 20;
/** How long a text is waited for before another one is asked for. */
const PATIENCE_MS = 4_000;
const CHECK_INTERVAL_MS = 100;

/**
 * Has a stage of each machine say something until it has been heard live by all onlookers. Returns what was not heard, in words.
 * @param watched the stages whose live text the onlookers get
 */
export async function waitForEachMachine(
  { transport, ledger, signal }: Omit<Talkers, 'random'>,
  onlookers: readonly Onlooker[],
  watched: readonly StageId[],
): Promise<string[]> {
  const { stages, machines } = await insist(signal, () => transport.command('get_board', {}));
  const unheard: string[] = [];
  for (const { id, name } of machines) {
    const stageId = stages.find((stage) => stage.machineId === id && watched.includes(stage.id))?.id;
    if (stageId === undefined) continue; // nothing runs there
    const deaf = await untilReported(stageId);
    if (deaf > 0) unheard.push(`${deaf} of ${onlookers.length} onlookers hear nothing of ${stageId} on ${name}`);
  }
  return unheard;

  async function untilReported(stageId: StageId): Promise<number> {
    const before = onlookers.map(({ pieces }) => pieces(stageId));
    const deaf = () => onlookers.filter(({ pieces }, index) => pieces(stageId) === before[index]).length;
    for (let n = 0; n < ATTEMPTS && deaf() > 0; n++) {
      const text = prompt({ steps: [{ text: 'Said live. '.repeat(20), chunkChars: 20 }] }, `<${stageId}-live${n}>`);
      await say(transport, ledger, { stageId, text, mode: 'append', hasRun: false }, signal);
      for (let waited = 0; waited < PATIENCE_MS && deaf() > 0; waited += CHECK_INTERVAL_MS)
        await sleep(CHECK_INTERVAL_MS, undefined, { signal });
    }
    return deaf();
  }
}
