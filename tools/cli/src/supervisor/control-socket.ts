import { chmod, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { OperationalError } from '../errors.ts';

/** What the address of a Unix socket may have; macOS takes the least. */
const MAX_ADDRESS = 100;
const NAME = 'control.sock';
const PATIENCE_MS = 40_000;
const MAX_LINE = 10_000;

const Question = z.object({ type: z.literal('create-link') });
const Answer = z.union([z.object({ link: z.string() }), z.object({ error: z.string() })]);

/** What lies here is kept from Claude's file tools and from commands in its sandbox. */
export const runFolder = (dataDir: string): string => join(dataDir, 'run');

/**
 * Opens the control socket of a data directory, on which the commands of the same account ask the supervisor. It lies in
 * a folder that nobody else may enter and is 0600 itself; the agent's file tools are kept from it by a deny rule.
 * @throws the error of the system where it cannot be opened
 */
export async function serveControl(dataDir: string, createLink: () => Promise<string>): Promise<() => Promise<void>> {
  const folder = runFolder(dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    void answer(socket, createLink);
  });
  await withShortPath(folder, async (path) => {
    await rm(path, { force: true }); // of a supervisor that was killed: we hold the lock
    const umask = process.umask(0o177);
    try {
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
    } finally {
      process.umask(umask);
    }
    await chmod(path, 0o600);
  });
  return async () => {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(join(folder, NAME), { force: true });
  };
}

async function answer(socket: Socket, createLink: () => Promise<string>): Promise<void> {
  try {
    Question.parse(JSON.parse(await readLine(socket)));
    const link = await createLink();
    socket.end(`${JSON.stringify({ link } satisfies z.infer<typeof Answer>)}\n`);
  } catch (error) {
    socket.end(`${JSON.stringify({ error: messageOf(error) } satisfies z.infer<typeof Answer>)}\n`);
  }
}

/**
 * A new login link from the supervisor of a data directory.
 * @throws OperationalError where none answers, or none could be made
 */
export async function askForLink(dataDir: string): Promise<string> {
  const text = await withShortPath(runFolder(dataDir), async (path) => {
    const socket = connect(path);
    const late = setTimeout(() => socket.destroy(new Error('it did not answer')), PATIENCE_MS);
    try {
      socket.write(`${JSON.stringify({ type: 'create-link' } satisfies z.infer<typeof Question>)}\n`);
      return await readLine(socket);
    } finally {
      clearTimeout(late);
      socket.destroy();
    }
  }).catch((error: unknown) => {
    const isAway = ['ENOENT', 'ECONNREFUSED'].includes(systemCode(error) ?? '');
    const why = isAway ? 'it is still starting, or ending' : messageOf(error);
    throw new OperationalError(`the Callboard on ${dataDir} gives no link: ${why}. Try again in a moment.`);
  });
  const answer = Answer.parse(JSON.parse(text));
  if ('error' in answer) throw new OperationalError(answer.error);
  return answer.link;
}

/** The first line that comes; rejects when none does. */
async function readLine(socket: Socket): Promise<string> {
  let text = '';
  for await (const part of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += String(part);
    if (text.includes('\n') || text.length > MAX_LINE) break;
  }
  const [line = ''] = text.split('\n', 1);
  if (line === '') throw new Error('the connection ended');
  return line;
}

/** The address of a socket has to be short; a data directory need not be: then a link in a folder of its own leads there. */
async function withShortPath<T>(folder: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, NAME);
  if (Buffer.byteLength(path) <= MAX_ADDRESS) return use(path);
  const place = await mkdtemp(join(tmpdir(), 'cb-'));
  try {
    await symlink(folder, join(place, 'run'));
    return await use(join(place, 'run', NAME));
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}
