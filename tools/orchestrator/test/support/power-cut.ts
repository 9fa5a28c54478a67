import { copyFileSync, existsSync, statSync } from 'node:fs';
import { copyFile, glob, readFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { systemCode } from '@callboard/runtime/errors';
import { identify } from '@callboard/runtime/process-identity';
import { onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { findMarkedProcesses } from '../../src/platform/process-table.ts';
import { nodePlatform, type Platform } from '../../src/platform/runtime.ts';
import type { Kit } from './kit.ts';

/** Returns how many bytes of a spool are left, given its content and its synced length in bytes. */
export type SpoolLeft = (content: Buffer, synced: number) => number;

export const whole: SpoolLeft = (content) => content.length;
export const asSynced: SpoolLeft = (_, synced) => synced;
/** Everything up to the end of the first line that contains the text. */
export const upTo =
  (text: string): SpoolLeft =>
  (content) => {
    const found = content.indexOf(text);
    if (found === -1) throw new Error(`nothing was printed with ${text}`);
    return content.indexOf('\n', found) + 1;
  };
/** Everything printed until the first turn was over. */
export const firstTurn: SpoolLeft = upTo('"type":"result"');

/** A machine that knows exactly what is on its disk, for an orchestrator in the test's own process. */
export interface Machine {
  readonly dataDir: string;
  readonly platform: Platform;
  /** How many commits SQLite has synced. */
  syncedCommits(): number;
  /** Once this is on disk nothing else gets there: the test cuts the power right after it. Resolves when that has happened. */
  loseAllAfter(isLast: (store: DatabaseSync) => boolean): Promise<void>;
  /**
   * Cuts the power, and starts Callboard on the store as of its last sync and on the rest of the spools, under another boot id.
   * @param alsoLost removes what else the disk lacks; runs before the start
   */
  cutPower(kit: Kit, left: SpoolLeft, alsoLost?: () => Promise<void>): Promise<void>;
}

const isWrite = (sql: string): boolean => /^(insert|update|delete)/i.test(sql);

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error; // it ended in between
  }
}

/** Calls `then` right after each commit that SQLite syncs itself, detected by spying on the statements that Node passes to it. */
function onSyncedCommit(then: () => void): void {
  let isFull = true;
  let hasWritten = false;
  onTestFinished(() => void vi.restoreAllMocks());
  const { exec } = DatabaseSync.prototype;
  const { run, all } = StatementSync.prototype;
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    exec.call(this, sql);
    if (sql.includes('synchronous')) isFull = sql.includes('synchronous = full');
  });
  vi.spyOn(StatementSync.prototype, 'run').mockImplementation(function (this: StatementSync, ...values) {
    const result = run.apply(this, values);
    const { sourceSQL } = this;
    if (sourceSQL === 'commit' && isFull && hasWritten) then();
    hasWritten = sourceSQL !== 'commit' && sourceSQL !== 'rollback' && (hasWritten || isWrite(sourceSQL));
    return result;
  });
  vi.spyOn(StatementSync.prototype, 'all').mockImplementation(function (this: StatementSync, ...values) {
    hasWritten ||= isWrite(this.sourceSQL); // with `returning`
    return all.apply(this, values);
  });
}

/** Ends all processes of these launches. The last output of `claude` and its commands is in no file, or in one that is put back. */
async function endAll(launches: ReadonlySet<string>): Promise<void> {
  const killed = new Set<number>();
  await until('all processes are gone', async () => {
    const pids = [...(await findMarkedProcesses())].flatMap(([id, marked]) => (launches.has(id) ? marked : []));
    for (const pid of pids) {
      killed.add(pid);
      kill(pid);
    }
    // A dying process loses its marker a moment before it is gone. Found alive by the next start, it would be re-attached.
    return pids.length === 0 && (await Promise.all([...killed].map(identify))).every((found) => found === null);
  });
}

const FILES = ['store.sqlite', 'store.sqlite-wal'];

export async function createMachine(): Promise<Machine> {
  const dataDir = join(await temporaryFolder(), 'data');
  const disk = await temporaryFolder();
  const synced = new Map<string, number>();
  let boots = 1;
  let isOn = true;
  let syncedCommits = 0;
  let isLast: ((store: DatabaseSync) => boolean) | undefined;
  let onLast = Promise.withResolvers<void>();

  /** Called when everything in the store reaches the disk; synchronous, so that nothing is written meanwhile. */
  function retainStore(): void {
    if (!isOn) return;
    for (const name of FILES) if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(disk, name));
    if (isLast === undefined || !check(isLast)) return;
    isOn = false;
    onLast.resolve();
  }

  function check(at: (store: DatabaseSync) => boolean): boolean {
    using store = new DatabaseSync(join(dataDir, 'store.sqlite'), { readOnly: true });
    return at(store);
  }

  onSyncedCommit(() => {
    syncedCommits++;
    retainStore();
  });

  return {
    dataDir,
    syncedCommits: () => syncedCommits,
    platform: {
      ...nodePlatform,
      bootId: async () => `boot ${boots}`,
      async syncFile(path) {
        if (path.endsWith('-wal')) retainStore();
        else if (isOn) synced.set(path, statSync(path).size);
        await nodePlatform.syncFile(path);
      },
    },
    loseAllAfter: (last) => {
      isLast = last;
      onLast = Promise.withResolvers();
      return onLast.promise;
    },
    async cutPower(kit, left, alsoLost) {
      isOn = false;
      isLast = undefined;
      const { stages } = await kit.client.command('get_board');
      await kit.stop(); // first, so that it does not see them end
      await endAll(new Set(stages.flatMap(({ session }) => session?.launchId ?? [])));
      await rm(join(dataDir, 'store.sqlite-shm'), { force: true });
      for (const name of FILES) {
        await rm(join(dataDir, name), { force: true });
        if (existsSync(join(disk, name))) await copyFile(join(disk, name), join(dataDir, name));
      }
      for await (const spool of glob(join(dataDir, 'sessions/*/*/out.jsonl')))
        await truncate(spool, left(await readFile(spool), synced.get(spool) ?? 0));
      await alsoLost?.();
      boots++;
      isOn = true;
      await kit.start();
    },
  };
}
