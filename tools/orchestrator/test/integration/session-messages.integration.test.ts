import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { itAll } from '../../../../test-support/it-all.ts';
import { until } from '../../../../test-support/until.ts';
import { createKit, type Kit } from '../support/kit.ts';

/** Where each process writes its record for the others of its account (2.1.330). */
const Registered = z.object({ cwd: z.string(), messagingSocketPath: z.string() });

/** Where other sessions can write to the session of a stage. */
async function addressOf({ env, client }: Kit, stageId: string): Promise<string> {
  const { stage } = await client.command('get_stage', { stageId });
  const folder = join(env.HOME ?? '', '.claude', 'sessions');
  let address: string | undefined;
  await until('it has told where it listens', async () => {
    const files = (await readdir(folder)).filter((name) => name.endsWith('.json'));
    const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
    const sessions = texts.flatMap((text) => parsed(text));
    address = sessions.find(({ cwd }) => cwd === stage.worktree?.path)?.messagingSocketPath;
    return address !== undefined;
  });
  return `uds:${address}`;
}

/** Returns nothing for a file that is still being written. */
function parsed(text: string): z.infer<typeof Registered>[] {
  try {
    return [Registered.parse(JSON.parse(text))];
  } catch {
    return [];
  }
}

const entriesOf = async ({ client }: Kit, stageId: string) =>
  (await client.command('get_transcript', { stageId, limit: 100 })).entries;
const noticesOf = async (kit: Kit, stageId: string) =>
  (await entriesOf(kit, stageId)).flatMap((entry) => (entry.kind === 'notice' ? [entry] : []));

const turnsOf = async (kit: Kit, stageId: string) =>
  (await entriesOf(kit, stageId)).filter(({ kind }) => kind === 'turn-end').length;

/** Creates an idle session, and another one that writes to it. */
async function writeToAnother(kit: Kit): Promise<{ reader: string; writer: string }> {
  const { client, startStage } = kit;
  const reader = await startStage(prompt({ steps: [{ text: 'Ready.' }] }));
  await client.state(reader, 'idle');
  const input = { to: await addressOf(kit, reader), message: 'Hello from a script', summary: 'greeting' };
  const writer = await startStage(prompt({ steps: [{ tools: [{ name: 'SendMessage', input }] }, { text: 'Sent.' }] }));
  await client.state(writer, 'idle');
  return { reader, writer };
}

it('refuses messages from another session, even if the user’s own settings accept them', async () => {
  const kit = await createKit();
  const settings = join(kit.env.HOME ?? '', '.claude', 'settings.json');
  await mkdir(dirname(settings), { recursive: true });
  await writeFile(settings, JSON.stringify({ crossSessionInbound: 'accept' }));
  const { reader, writer } = await writeToAnother(kit);
  await until('the writer is told so', async () =>
    (await noticesOf(kit, writer)).some(({ text }) => text.startsWith('Cross-session message refused')),
  );
  expect(await noticesOf(kit, reader)).toEqual([]);
  expect(await turnsOf(kit, reader)).toBe(1);
});

itAll(
  'shows the message with its sender, not as a person’s words and without an alarm, where the project allows it',
  async () => {
    const kit = await createKit();
    await kit.client.command('update_project', { projectId: kit.projectId, settings: { sessionMessages: true } });
    const { reader } = await writeToAnother(kit);
    await until('the turn that reads it is over', async () => (await turnsOf(kit, reader)) === 2);
    const [reported] = (await noticesOf(kit, reader)).filter(({ code }) => code === 'session-message');
    expect(reported?.text).toMatch(/^Another Claude Code session \(.+\) wrote to Claude: Hello from a script$/);
    expect((await entriesOf(kit, reader)).filter(({ kind }) => kind === 'user')).toHaveLength(1);
    const { session } = await kit.client.command('get_session', { stageId: reader });
    expect(session.alarm).toBeNull();
  },
);
