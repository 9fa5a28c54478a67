import { prompt } from '@callboard/scripted-model';
import { expect } from 'vitest';
import { createKit, type Kit } from './kit.ts';
import { createMachine, type Machine } from './power-cut.ts';

export const bash = { name: 'Bash', input: { command: 'touch made.txt', description: 'Make it' } };

/**
 * @param wrap what else happens at the edge of the orchestrator
 * @param syncMs the default keeps the background sync out of the way: a write without its own sync waits for the next synced commit
 */
export async function createMachineAndKit({
  wrap = ({ platform }: Machine) => platform,
  syncMs = 3_600_000,
  isEmulated = false,
} = {}): Promise<{ kit: Kit; machine: Machine }> {
  const machine = await createMachine();
  const { dataDir } = machine;
  return { machine, kit: await createKit({ dataDir, platform: wrap(machine), limits: { syncMs }, isEmulated }) };
}

export const texts = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));

export const notices = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) =>
    entry.kind === 'notice' ? `${entry.code}: ${entry.text}` : [],
  );

export const queue = async ({ client }: Kit, stageId: string) =>
  (await client.command('get_queue', { stageId })).queue.map(({ text }) => text);

/** How often the newest request to the model contains the text. */
export const notifyCount = ({ model }: Kit, text: string): number =>
  JSON.stringify(model.requests.findLast(({ kind }) => kind === 'script')?.messages).split(text).length - 1;

/** Resumes the session with a message that Claude answers, so that the model receives everything it should know. */
export async function resume(kit: Kit, stageId: string): Promise<void> {
  const answered = prompt({ steps: [{ text: 'Here again.' }] }, '<go on>');
  await kit.client.command('send_message', { stageId, message: answered, mode: 'now' });
  await expect.poll(() => texts(kit, stageId)).toContain('Here again.');
  await kit.client.state(stageId, 'idle');
}
