import { execFile, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { messageOf } from '@callboard/runtime/errors';
import { z } from 'zod';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { createPartner, type Launch, message } from './baselines.ts';
import type { Partner } from './partner.ts';

/** What the bench uses of the SDK. */
interface Query extends AsyncIterable<{ type: string }> {
  close(): void;
}
type QueryFunction = (call: {
  prompt: AsyncIterable<object>;
  options: {
    cwd: string;
    env: Record<string, string>;
    pathToClaudeCodeExecutable: string;
    spawnClaudeCodeProcess: () => object;
    canUseTool: (tool: string, input: object) => Promise<{ behavior: 'allow'; updatedInput: object }>;
  };
}) => Query;

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
const Module = z.object({ query: z.custom<QueryFunction>((value) => typeof value === 'function') });
const Manifest = z.object({ devDependencies: z.object({ '@anthropic-ai/claude-code': z.string() }) });
const SdkManifest = z.object({ claudeCodeVersion: z.string() });

/**
 * Installs the release of the Agent SDK that belongs to the pinned CLI into a temporary folder, without the CLI that it brings (its
 * optional dependencies): as a dependency of the repository it would cost every developer a second CLI of 200 MB.
 * @returns its `query`, or why there is none
 */
export async function fetchAgentSdk(): Promise<QueryFunction | string> {
  const manifest = Manifest.parse(
    JSON.parse(await readFile(new URL('../../../../package.json', import.meta.url), 'utf8')),
  );
  const cli = manifest.devDependencies['@anthropic-ai/claude-code'];
  const version = `0.3.${cli.split('.')[2]}`;
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'package.json'), '{}');
  const flags = ['--omit=optional', '--omit=peer', '--no-save', '--no-audit', '--no-fund'];
  try {
    await promisify(execFile)('npm', ['install', ...flags, `${PACKAGE}@${version}`], { cwd: folder });
  } catch (error) {
    return messageOf(error);
  }
  const installed = join(folder, 'node_modules', PACKAGE);
  const { claudeCodeVersion } = SdkManifest.parse(JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')));
  if (claudeCodeVersion !== cli) return `${PACKAGE} ${version} belongs to Claude Code ${claudeCodeVersion}, not ${cli}`;
  const url = pathToFileURL(join(installed, 'sdk.mjs')).href;
  return Module.parse(await import(/* @vite-ignore */ url)).query;
}

/**
 * The Agent SDK with streaming input, in the process of the client: the least between `claude` and a program of Anthropic's own
 * making. Its `claude` is started with the command line and environment of Callboard's.
 */
export function startAgentSdk(
  query: QueryFunction,
  { command, args, env, cwd }: Launch,
): Partner & { end(): Promise<void> } {
  const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const texts: string[] = [];
  let wake = Promise.withResolvers<void>();
  let isOver = false;
  async function* messages() {
    while (!isOver) {
      for (const text of texts.splice(0)) yield { ...message(text), parent_tool_use_id: null };
      await wake.promise;
      wake = Promise.withResolvers();
    }
  }
  const open = new Map<string, () => void>();
  const partner: Partner = {
    ...createPartner(child.pid ?? -1, async () => null),
    async send(text) {
      texts.push(text);
      wake.resolve();
      return null;
    },
    async allow(requestId) {
      open.get(requestId)?.();
      return null;
    },
  };
  const running = query({
    prompt: messages(),
    options: {
      cwd,
      env,
      pathToClaudeCodeExecutable: command,
      spawnClaudeCodeProcess: () => child,
      async canUseTool(_tool, input) {
        const requestId = String(open.size);
        const answered = Promise.withResolvers<void>();
        open.set(requestId, answered.resolve);
        partner.onAsk?.(requestId);
        await answered.promise;
        return { behavior: 'allow', updatedInput: input };
      },
    },
  });
  const reading = (async () => {
    for await (const { type } of running) if (type === 'result') partner.onEnd?.();
  })().catch((error: unknown) => {
    if (!isOver) throw error;
  });
  return Object.assign(partner, {
    async end() {
      isOver = true;
      wake.resolve();
      child.kill('SIGKILL');
      running.close();
      await reading;
    },
  });
}
