import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import type { Ask } from '../../agent/agent-event.ts';
import type { LastingLine } from './ingest-lines.ts';

/** How long a request waits at most for the file system, for example for a network drive that does not answer. */
const WAIT_MS = 100;

type Asked = LastingLine['events'][number];
const isWrite = (event: Asked): boolean => event.type === 'asked' && event.ask.toolName === 'Write';

/** Whether there is a file to look at. */
export const asksToWrite = (lines: readonly LastingLine[]): boolean => lines.some(({ events }) => events.some(isWrite));

/**
 * Looks whether the file of each `Write` that is asked for exists, before the request is stored: later nobody could tell what a
 * person was shown. A request whose file cannot be looked at in time says nothing about it.
 */
export async function inspectFiles(lines: readonly LastingLine[], worktree: string | null): Promise<LastingLine[]> {
  return Promise.all(
    lines.map(async (line) => {
      if (!line.events.some(isWrite)) return line;
      const events = line.events.map(async (event) =>
        event.type === 'asked' ? { ...event, ask: await withFile(event.ask, worktree) } : event,
      );
      return { ...line, events: await Promise.all(events) };
    }),
  );
}

async function withFile(ask: Ask, worktree: string | null): Promise<Ask> {
  const { file_path: path } = ask.input;
  if (ask.toolName !== 'Write' || typeof path !== 'string' || path === '') return ask;
  if (!isAbsolute(path) && worktree === null) return ask;
  const fileExists = await inTime(isThere(resolve(worktree ?? '/', path)));
  return fileExists === null ? ask : { ...ask, fileExists };
}

/** Null if that is unknown: a folder on the way may not be read. */
async function isThere(path: string): Promise<boolean | null> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ENOENT' ? false : null;
  }
}

async function inTime<T>(work: Promise<T>): Promise<T | null> {
  const { promise, resolve: give } = Promise.withResolvers<null>();
  const timer = setTimeout(() => give(null), WAIT_MS);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
