import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ToolInput } from '@callboard/contract';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import type { Ask } from '../agent-event.ts';
import { inspectFiles } from './output-handler.ts';

const ask = (toolName: string, input: ToolInput): Ask => ({
  toolName,
  displayName: toolName,
  input,
  description: null,
  toolUseId: 'u1',
  agentId: null,
  reason: null,
  blockedPath: null,
  suggestions: [],
  suppressAlwaysAllow: false,
  leavesSandbox: null,
});

async function check(asked: Ask, worktree: string | null): Promise<boolean | undefined> {
  const event = { type: 'asked', requestId: 'r1', kind: 'approval', ask: asked } as const;
  const [line] = await inspectFiles([{ events: [event], end: 7 }], worktree);
  expect(line?.end).toBe(7);
  const [seen] = line?.events ?? [];
  return seen?.type === 'asked' ? seen.ask.fileExists : undefined;
}

it('tells a new file from one that is replaced, and says nothing of what it cannot know', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'old.txt'), 'old');
  await mkdir(join(folder, 'src'));
  const write = (path: unknown) => ask('Write', { file_path: path, content: 'new' });
  expect(await check(write(join(folder, 'old.txt')), null)).toBe(true);
  expect(await check(write(join(folder, 'src', 'new.txt')), null)).toBe(false);
  expect(await check(write(join(folder, 'none', 'new.txt')), null)).toBe(false);
  expect(await check(write('old.txt'), folder)).toBe(true);
  expect(await check(write('old.txt'), null)).toBeUndefined();
  expect(await check(write(join(folder, 'old.txt', 'below.txt')), null)).toBeUndefined();
  expect(await check(write(`${folder}/with\0null`), null)).toBeUndefined();
  expect(await check(write(7), folder)).toBeUndefined();
  expect(await check(ask('Edit', { file_path: join(folder, 'old.txt') }), folder)).toBeUndefined();
});
