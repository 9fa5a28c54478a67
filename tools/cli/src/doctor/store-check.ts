import { inspectStore } from '@callboard/orchestrator/doctor';
import type { SharedStoreOptions } from '../command-line/shared-store.ts';
import type { Platform } from '../edges.ts';
import { UsageError } from '../errors.ts';
import { findSharedStore } from '../shared-store.ts';
import { type Finding, ok, problem } from './report.ts';

const ADVICE = 'Fix that, or start with the URL that belongs to this data directory, or without any';

/** Checks that the store is where a start looks for it, and that a shared one answers. Shows no secret. */
export async function checkStore(
  given: Pick<SharedStoreOptions, 'url' | 'isPiped'>,
  dataDir: string,
  platform: Pick<Platform, 'input'>,
): Promise<Finding> {
  try {
    const shared = await findSharedStore(given, dataDir, platform);
    const { storageError, server } = await inspectStore(dataDir, shared?.url ?? null);
    if (shared === null)
      return storageError === null ? ok('a file in the data directory') : problem(storageError, ADVICE);
    return storageError === null
      ? ok(`${shared.name}, PostgreSQL ${server}`)
      : problem(`${shared.name}: ${storageError}`, ADVICE);
  } catch (error) {
    if (error instanceof UsageError) return problem(error.message, ADVICE);
    throw error;
  }
}
