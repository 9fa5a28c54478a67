import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { mcpServer } from '../../../../test-support/mcp-server.ts';
import { createKit, type Kit } from '../support/kit.ts';

/** Registers the server with the user's own Claude Code, as `claude mcp add --scope user` does. */
async function withServer({ env }: Kit): Promise<void> {
  const mcpServers = { asker: mcpServer({ tools: ['ask_name'] }) };
  await mkdir(env.HOME ?? '', { recursive: true });
  await writeFile(join(env.HOME ?? '', '.claude.json'), JSON.stringify({ mcpServers }));
}

async function ask(kit: Kit) {
  await withServer(kit);
  const steps = [{ tools: [{ name: 'mcp__asker__ask_name', input: {} }] }, { text: 'Thanks.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  const tool = await kit.client.event('approval-requested');
  await kit.client.command('approve_tool', { stageId, requestId: tool.requestId, decision: 'allow' });
  const form = await kit.client.event('elicitation-requested');
  expect(form).toMatchObject({ kind: 'elicitation', displayName: 'asker', input: { message: 'Your name?' } });
  return { stageId, requestId: form.requestId };
}

const result = async (kit: Kit, stageId: string) =>
  (await kit.client.transcript(stageId)).flatMap((entry) => (entry.kind === 'tool-result' ? entry.text : [])).at(-1);

it('shows an MCP server’s question to a person with its form, and checks the answer', async () => {
  const kit = await createKit();
  const { stageId, requestId } = await ask(kit);
  const fill = (updatedInput: object) =>
    kit.client.command('approve_tool', { stageId, requestId, decision: 'allow', updatedInput });
  await expect(fill({})).rejects.toMatchObject({ code: 'bad_request' });
  await expect(fill({ name: 'Ada', age: 'old' })).rejects.toMatchObject({ code: 'bad_request' });
  const reply = await fill({ name: 'Ada', age: 36 });
  expect(reply).toMatchObject({ decision: { outcome: 'answered', kind: 'elicitation' } });
  await kit.client.state(stageId, 'idle');
  expect(await result(kit, stageId)).toContain('"content":{"name":"Ada","age":36}');
});

itAll('lets a person decline', async () => {
  const kit = await createKit();
  const { stageId, requestId } = await ask(kit);
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'deny' });
  await kit.client.state(stageId, 'idle');
  expect(await result(kit, stageId)).toContain('"action":"decline"');
});
