import { type DatabaseAddress, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { createDatabase } from '../../../../test-support/postgres.ts';
import { migrate } from '../../../store-postgres/src/migrate.ts';
import { createConnect } from '../../../store-postgres/src/pg-link.ts';

/** `CALLBOARD_TEST_STORE=PostgreSQL` runs the tests that open a store on PostgreSQL. */
export const isTestedOnPostgres = /^postgres(ql)?$/i.test(process.env.CALLBOARD_TEST_STORE ?? '');

let migrated: Promise<string> | undefined;

/** Creates a database with all migrations, for one test. The server removes it when the test is over. */
export async function createStoreDatabase(): Promise<DatabaseAddress> {
  migrated ??= createMigrated();
  return parseDatabaseUrl(await createDatabase(undefined, await migrated));
}

/** Returns the name of an empty store, to be copied. It stays as long as the server of the run. */
async function createMigrated(): Promise<string> {
  const address = parseDatabaseUrl(await createDatabase(() => undefined));
  const link = await createConnect(address)();
  await migrate(link);
  await link.end();
  return address.database;
}
