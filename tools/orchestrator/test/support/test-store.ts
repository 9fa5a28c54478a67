import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BoardEvent, StageId } from '@callboard/contract';
import { AT, sampleProject, sampleStage } from '@callboard/contract/samples';
import { type DatabaseAddress, nameOfDatabase } from '@callboard/runtime/database-url';
import { Kysely } from 'kysely';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { openPostgresStore } from '../../../store-postgres/src/postgres-store.ts';
import { dataDirLayout } from '../../src/platform/data-dir.ts';
import { nodePlatform, type Platform } from '../../src/platform/runtime.ts';
import type { Schema } from '../../src/store/sql/schema.ts';
import { migrate, openSqliteFile } from '../../src/store/sqlite/node-sqlite.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { noteSharedStore } from '../../src/store/store-location.ts';
import { createStoreDatabase, isTestedOnPostgres } from './test-postgres.ts';

export const silent = pino({ level: 'silent' });

export { sampleProject, sampleStage };

const START = Date.parse(AT);

/** Edges whose clock advances by a millisecond at each reading. */
export function tickingPlatform(): Platform {
  let ticks = 0;
  return { ...nodePlatform, now: () => new Date(START + ticks++) };
}

export interface TestStore {
  readonly store: Store;
  readonly platform: Platform;
  /** The database file; empty on PostgreSQL. */
  readonly file: string;
  /** The data directory: it holds the file, or says that the store is a database. */
  readonly dataDir: string;
  /** Null on SQLite. */
  readonly address: DatabaseAddress | null;
  /** Opens the same store once more, as another process would. The caller closes it. */
  openAgain(): Promise<Store>;
  /** All events published since the store was opened. */
  readonly events: BoardEvent[];
  /** Adds a new stage. */
  addStage(fields?: Record<string, unknown>): Promise<StageId>;
}

let migrated: Promise<Buffer> | undefined;

/** An empty database with all migrations, which take ten times as long as all else that opens a store. */
async function createMigrated(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-test-'));
  const file = join(folder, 'store.sqlite');
  const db = new Kysely<Schema>({ dialect: openSqliteFile(file).dialect });
  await migrate(db);
  await db.destroy();
  const content = await readFile(file);
  await rm(folder, { recursive: true });
  return content;
}

/** The databases that a store can be in. */
export type StoreKind = 'SQLite' | 'PostgreSQL';

const usualKind: StoreKind = isTestedOnPostgres ? 'PostgreSQL' : 'SQLite';

/** Opens a store in its own file or database, with one project; closes and removes it when the test is over. */
export async function openTestStore(platform = tickingPlatform(), kind: StoreKind = usualKind): Promise<TestStore> {
  const place = await (kind === 'SQLite' ? createFile(platform) : createDatabaseOf(platform));
  const store = await place.open();
  onTestFinished(store.close);
  const events: BoardEvent[] = [];
  store.onEvent((event) => events.push(event));
  const project = sampleProject();
  await store.transact((tx) => tx.projects.save(project));
  let stages = 0;
  return {
    store,
    platform,
    file: place.file,
    dataDir: place.dataDir,
    address: place.address,
    openAgain: place.open,
    events,
    async addStage(fields = {}) {
      const stage = sampleStage({ id: `S${++stages}`, ...fields });
      await store.transact((tx) => tx.stages.insert(stage));
      return stage.id;
    },
  };
}

interface Location {
  file: string;
  address: DatabaseAddress | null;
  dataDir: string;
  open: () => Promise<Store>;
}

async function createFile(platform: Platform): Promise<Location> {
  const dataDir = await temporaryFolder();
  const { database: file } = dataDirLayout(dataDir);
  migrated ??= createMigrated();
  await writeFile(file, await migrated);
  return { file, address: null, dataDir, open: () => openSqliteStore(file, platform, silent) };
}

async function createDatabaseOf(platform: Platform): Promise<Location> {
  const address = await createStoreDatabase();
  const dataDir = await temporaryFolder();
  await noteSharedStore(dataDirLayout(dataDir).storeLocation, nameOfDatabase(address), platform.now());
  return { file: '', address, dataDir, open: () => openPostgresStore({ address, platform, log: silent }) };
}

export const stageId = (id: string): StageId => StageId.parse(id);

/** Returns a copy of `base`, which may be a class instance, with some of its fields replaced. */
export const withFields = <T extends object>(base: T, fields: Partial<T>): T =>
  Object.create(base, Object.getOwnPropertyDescriptors(fields));

/** For a trash that holds files only. */
export const NO_REPOSITORY = {
  putBack: () => Promise.reject(new Error('there is no repository')),
  dropSaved: () => Promise.resolve(),
};
