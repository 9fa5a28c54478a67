import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { messagesInConversation } from './conversation-file.ts';

const IDS = ['opening', 'folded', 'quoted', 'torn', 'queued'];
const LINES = [
  { type: 'queue-operation', operation: 'remove', commandUuid: 'queued' },
  { type: 'user', uuid: 'opening', message: { role: 'user', content: 'of "uuid":"quoted"' } },
  { type: 'attachment', uuid: 'a1', attachment: { type: 'queued_command', prompt: 'x', source_uuid: 'folded' } },
  { type: 'assistant', uuid: 'quoted', message: { content: [] } },
];

async function conversation(under: string, ...folders: string[]): Promise<void> {
  for (const folder of folders) await mkdir(join(under, 'projects', folder), { recursive: true });
  const text = LINES.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(join(under, 'projects', folders[0] ?? '', 'c1.jsonl'), `${text}{"type":"user","uuid":"torn","mess`);
}

it('finds the messages that began a turn and those folded into one, but no mere mention', async () => {
  const home = await temporaryFolder();
  await conversation(join(home, '.claude'), '-w', '-other');
  expect(await messagesInConversation({ HOME: home }, 'c1', IDS)).toEqual(new Set(['opening', 'folded']));
  expect(await messagesInConversation({ HOME: home }, 'c1', ['folded'])).toEqual(new Set(['folded']));
});

it('looks in the folder that Claude Code is configured to use', async () => {
  const folder = await temporaryFolder();
  await conversation(folder, '-w');
  const env = { HOME: '/nowhere', CLAUDE_CONFIG_DIR: folder };
  expect(await messagesInConversation(env, 'c1', ['opening'])).toEqual(new Set(['opening']));
});

it('returns null for a conversation that does not exist', async () => {
  const home = await temporaryFolder();
  expect(await messagesInConversation({ HOME: home }, 'c1', IDS)).toBeNull();
  await conversation(join(home, '.claude'), '-w');
  expect(await messagesInConversation({ HOME: home }, 'c2', IDS)).toBeNull();
});
