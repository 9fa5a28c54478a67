import { readFile } from 'node:fs/promises';
import { ProjectId } from '@callboard/contract';
import { createHttpTransport } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { z } from 'zod';
import type { Installation, Running } from '../../../../e2e/support/callboard.ts';
import { childrenOf, claudePidOf } from '../../../../e2e/support/processes.ts';
import { openRawStream } from '../../load/raw-stream.ts';
import type { Launch } from './baselines.ts';
import { claudeFamily, type Partner } from './partner.ts';
import { post } from './post.ts';

/** The variables that mark a process as one of Callboard's. */
const OURS = new Set(['CB_LAUNCH']);
/** The fields that the bench reads from an event of the stream. */
const Data = z.looseObject({ requestId: z.string().optional(), state: z.string().optional() });

export interface CallboardPartner extends Partner {
  /** How its `claude` was started. */
  launch: Omit<Launch, 'cwd'>;
  /** The headers that authorize each request. */
  headers: Record<string, string>;
  end(): void;
}

/** A stage of a running installation, with a client that has its page open. */
export async function startCallboardPartner(
  { folder }: Installation,
  { origin, supervisor }: Running,
  token: string,
): Promise<CallboardPartner> {
  const transport = createHttpTransport({ origin, token });
  const projectId = ProjectId.parse('shop');
  await transport.command('update_project', { projectId, settings: { sandbox: false } });
  const first = prompt({ steps: [{ text: 'Ready.' }] });
  const { stage } = await transport.command('create_stage', { projectId, title: 'Bench', prompt: first });
  const headers = { authorization: `Bearer ${token}` };
  const say = async (path: string, body: object) => {
    await post(`${origin}/api/sessions/${stage.id}/${path}`, body, headers);
    return null;
  };
  const partner: Partner = {
    families: [],
    claude: -1,
    send: (text) => say('message', { message: text }),
    allow: (requestId) => say('approve', { requestId, decision: 'allow' }),
    onAsk: null,
    onEnd: null,
  };
  const watch = async (streamId: string) => {
    const body = JSON.stringify({ stageIds: [stage.id] });
    const type = { ...headers, 'content-type': 'application/json' };
    await fetch(`${origin}/api/events/${streamId}/watch`, { method: 'PUT', headers: type, body });
  };
  const { seq } = await transport.command('get_board', {});
  const end = await openRawStream(origin, token, seq, ({ event, data }) => {
    if (event === 'approval-requested') partner.onAsk?.(Data.parse(JSON.parse(data)).requestId ?? '');
    if (event === 'session-updated' && Data.parse(JSON.parse(data)).state === 'idle') partner.onEnd?.();
    if (event === 'stream') void watch(z.looseObject({ streamId: z.string() }).parse(JSON.parse(data)).streamId);
  });
  const ended = new Promise<void>((resolve) => {
    partner.onEnd = resolve;
  });
  await transport.command('start_stage', { stageId: stage.id });
  await ended;

  const claude = await claudePidOf(folder, stage.id);
  const launch = await launchOf(claude);
  return Object.assign(partner, {
    families: [{ processes: () => partsOf(supervisor.pid ?? -1), children: CHILDREN }, claudeFamily(claude)],
    claude,
    launch,
    headers,
    end,
  });
}

const PARTS = new Map([
  ['orchestrator/dist/main.js', 'orchestrator'],
  ['web-server/dist/', 'web server'],
]);

const CHILDREN = 'git and other children';

/**
 * Returns the living processes of a Callboard by pid, git among them, but no `claude` and what that has started.
 */
export async function partsOf(supervisor: number): Promise<Map<number, string>> {
  const parts = new Map([[supervisor, 'supervisor']]);
  const addChildren = async (parent: number): Promise<void> => {
    for (const pid of await childrenOf(parent)) {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      const name = [...PARTS].find(([path]) => line.includes(path))?.[1];
      if (name === undefined && line.includes('--permission-prompt-tool=stdio')) continue;
      parts.set(pid, name ?? CHILDREN);
      await addChildren(pid);
    }
  };
  await addChildren(supervisor);
  return parts;
}

/**
 * Returns the command line and environment of a process for another one of its kind: with its own conversation, and not
 * part of Callboard.
 */
export async function launchOf(pid: number): Promise<Omit<Launch, 'cwd'>> {
  const entries = async (name: string) => (await readFile(`/proc/${pid}/${name}`, 'utf8')).split('\0').slice(0, -1);
  const [command = '', ...args] = await entries('cmdline');
  const conversation = args.indexOf('--session-id');
  const env = (await entries('environ')).map((entry) => entry.split(/=(.*)/s));
  return {
    command,
    args: args.toSpliced(conversation, conversation < 0 ? 0 : 2),
    env: Object.fromEntries(env.filter(([name = '']) => !OURS.has(name)).map(([name, value]) => [name, value ?? ''])),
  };
}
