import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RepositoryHook } from '@callboard/contract';
import { z } from 'zod';
import { systemCode } from '../lib/errors.ts';

/** What the settings files of a repository bring along, read as Claude Code reads them. */

const SHARED = join('.claude', 'settings.json');
const LOCAL = join('.claude', 'settings.local.json');

const WithRules = z.object({ permissions: z.object({ allow: z.array(z.string()) }) });
const WithHooks = z.object({
  hooks: z
    .record(z.string(), z.array(z.object({ matcher: z.string().optional(), hooks: z.array(z.unknown()) })))
    .optional(),
});
const CommandHook = z.object({ command: z.string() });

/** The allow rules of the committed settings. None, if the file is missing or cannot be read. */
export async function allowRulesOf(repository: string): Promise<string[]> {
  const parsed = WithRules.safeParse(parseJson((await textOf(join(repository, SHARED))) ?? ''));
  return parsed.success ? parsed.data.permissions.allow : [];
}

/**
 * The hooks of the committed and the local settings of the worktree, and of the main checkout's local ones, which hold
 * in every worktree (docs/protocol.md). A file that cannot be understood is listed as one hook, since it may hold some.
 * @param worktree null: as if one were made now
 */
export async function hooksOf(repository: string, worktree: string | null): Promise<RepositoryHook[]> {
  const files =
    worktree === null
      ? [join(repository, SHARED), join(repository, LOCAL)]
      : [join(worktree, SHARED), join(worktree, LOCAL), join(repository, LOCAL)];
  const found = await Promise.all(
    files.map(async (file) => {
      const text = await textOf(file);
      return text === null ? [] : hooksIn(text, file.endsWith(LOCAL) ? LOCAL : SHARED);
    }),
  );
  return found.flat();
}

function hooksIn(text: string, file: string): RepositoryHook[] {
  const parsed = WithHooks.safeParse(parseJson(text));
  if (!parsed.success) return [{ event: 'unknown', matcher: null, command: 'The file could not be understood.', file }];
  return Object.entries(parsed.data.hooks ?? {}).flatMap(([event, groups]) =>
    groups.flatMap(({ matcher, hooks }) =>
      hooks.map((hook) => {
        const command = CommandHook.safeParse(hook);
        return {
          event,
          matcher: matcher === undefined || matcher === '' || matcher === '*' ? null : matcher,
          command: command.success ? command.data.command : JSON.stringify(hook),
          file,
        };
      }),
    ),
  );
}

async function textOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    // A folder above it that is a file, or a folder in its place: Claude Code finds no settings there either.
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(systemCode(error) ?? '')) return null;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
