import { join } from 'node:path';
import { shellQuote } from '@callboard/contract';
import { describeDiskError } from '@callboard/runtime/disk-errors';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { dataDir, dataDirFlag, dataDirSuffix, option, parseGiven } from '../command-line/flags.ts';
import { databaseUrlFlags, databaseUrlSchemas } from '../command-line/start-options.ts';
import { CliError, UsageError } from '../errors.ts';
import type { Platform } from '../platform.ts';
import { createProgress } from '../progress.ts';
import { findSharedStore, type SharedStore } from '../shared-store.ts';
import { findSupervisor } from '../supervisor/control-socket.ts';
import type { Command } from './command.ts';

const STORES = ['postgres', 'sqlite'] as const;
type To = (typeof STORES)[number];

/** `callboard migrate-store`: moves the store of a data directory to PostgreSQL, or back. */
export const migrateStore: Command = {
  name: 'migrate-store',
  summary: 'Moves the store to a PostgreSQL database (--to postgres), or back into a file (--to sqlite).',
  flags: [option('to', 'STORE', 'postgres or sqlite.'), dataDirFlag, ...databaseUrlFlags],
  run: async ({ given, platform }) => {
    const to = z.enum(STORES, { error: 'is either postgres or sqlite' }).optional();
    const options = parseGiven(z.object({ to, 'data-dir': dataDir(platform), ...databaseUrlSchemas }), given);
    if (options.to === undefined)
      throw new UsageError('migrate-store needs to know where: --to postgres or --to sqlite');
    const folder = options['data-dir'];
    const where = { url: options['database-url'], isPiped: options['database-url-stdin'] };
    const shared = await findSharedStore(where, folder, platform);
    if (shared === null)
      throw new UsageError(
        'the URL of the database is missing. Put it into CALLBOARD_DATABASE_URL, into the file ' +
          `${join(folder, 'database-url')} (chmod 600), or pipe it in (--database-url-stdin).`,
      );
    await requireStopped(folder);
    await move({ folder, shared, to: options.to }, platform);
    return 0;
  },
};

interface Move {
  readonly folder: string;
  readonly shared: SharedStore;
  readonly to: To;
}

async function move({ folder, shared, to }: Move, platform: Platform): Promise<void> {
  const { migrateStore: moveStore } = await import('@callboard/store-postgres/commands'); // no other command needs it
  const progress = createProgress(platform);
  try {
    progress.say('copying the store');
    const onTable = ({ name, rows }: { name: string; rows: number }) => progress.say(`copied ${name}: ${rows} rows`);
    const { tables, rows, wasCopied } = await moveStore({ dataDir: folder, databaseUrl: shared.url, to, onTable });
    progress.clear();
    const target = to === 'postgres' ? shared.name : join(folder, 'store.sqlite');
    if (wasCopied) platform.out(`Everything was in ${target} already: an earlier move was interrupted after its copy.`);
    else
      platform.out(
        `Moved the store of ${folder} to ${target}: ${rows} rows of ${tables} tables, each read back and compared.`,
      );
  } catch (error) {
    progress.clear();
    throw explain(error, folder);
  }
  for (const line of to === 'postgres' ? afterPostgres(folder, platform) : afterSqlite(folder, shared, platform))
    platform.out(line);
}

function afterPostgres(folder: string, { home }: Platform): string[] {
  return [
    `Start with the same URL: CALLBOARD_DATABASE_URL=... npx callboard start${dataDirSuffix(folder, home)}`,
    `A start without it is refused. ${join(folder, 'store.sqlite')} is as it was; keep it until you trust the move, or delete it.`,
    'Keep the rest of the data directory: worktrees and running sessions stay there.',
  ];
}

function afterSqlite(folder: string, { name }: SharedStore, { home }: Platform): string[] {
  return [
    `Start without the URL: npx callboard start${dataDirSuffix(folder, home)}`,
    `A start with it is refused (remove ${join(folder, 'database-url')} if it is there). ${name} is as it was.`,
  ];
}

async function requireStopped(folder: string): Promise<void> {
  const supervisor = await findSupervisor(folder);
  if (supervisor === null) return;
  throw new CliError(
    `Callboard runs on ${folder} (process ${supervisor.pid}); nothing was changed. ` +
      `Stop it first: kill ${supervisor.pid} (or Ctrl-C in its terminal). Sessions that run go on, and are found again.`,
  );
}

/** Says why the store was not moved; an unknown error as it is. */
function explain(error: unknown, folder: string): unknown {
  const message = messageOf(error);
  switch (systemCode(error)) {
    case 'no_data':
      return new CliError(
        `nothing was moved: ${message} Name another data directory with --data-dir (${shellQuote(folder)}).`,
      );
    case 'data_dir_in_use':
    case 'target_not_empty':
    case 'copy_failed':
    case 'storage_failed':
    case 'store_elsewhere':
    case 'database_in_use':
    case 'database_newer':
    case 'database_damaged':
      return new CliError(message);
  }
  const cause = describeDiskError(error);
  return cause === null ? error : new CliError(`${cause}; nothing was changed: ${message}`);
}
