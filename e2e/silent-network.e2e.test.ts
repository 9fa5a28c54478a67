/** A network between a machine and PostgreSQL that drops everything and tells nobody, as a firewall on the way may do. */
import { join } from 'node:path';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDatabaseOn, postgresLack, startPostgres } from '../test-support/postgres.ts';
import { until } from '../test-support/until.ts';
import { canMakeNamespaces, makeNamespace } from '../tools/lab/chaos/namespaces.ts';
import { createConnect } from '../tools/store-postgres/src/pg-link.ts';

const lack = postgresLack || (canMakeNamespaces() ? '' : 'needs root and network namespaces');

/** A connection to the database is idle for 5 s, then asked ten times in as many seconds. */
const NOTICED = { withinMs: 25_000 };
const PORT = 5432;

describe.skipIf(lack !== '')(`a network that drops everything and tells nobody${lack && ` (${lack})`}`, () => {
  it('is noticed at a connection on which nothing is asked, such as the one that listens for news', async () => {
    const server = await startPostgres();
    const { port, socketFolder } = server.address;
    const url = await createDatabaseOn(server.address);
    const namespace = makeNamespace(onTestFinished);
    await namespace.open(PORT, join(socketFolder, `.s.PGSQL.${port}`));
    const connect = createConnect(parseDatabaseUrl(url.replace(`@127.0.0.1:${port}/`, `@${namespace.own}:${PORT}/`)));
    const link = await connect();
    namespace.setDropping(true);
    await until('the connection is lost', link.isBroken, NOTICED);
    await expect(connect()).rejects.toThrow(); // a connection is not waited for longer than 3 s
    namespace.setDropping(false);
    const again = await connect();
    expect((await again.query({ text: 'select 1 as one' })).rows).toEqual([{ one: 1 }]);
    await again.end();
  });
});
