import {
  type Compilable,
  DummyDriver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Database } from './database.ts';
import type { Schema } from './schema.ts';

/** Builds queries, and runs none. */
export const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Stands in a prepared query for a value that each run gives by this name. */
export const param = <T = string>(name: string) => sql<T>`${new Placeholder(name)}`;

/**
 * A query that is built and compiled once. For the few that run for each line of each session: building one costs more
 * than running it.
 */
export function prepare<Row>(query: Compilable<Row>) {
  const compiled = query.compile();
  return (db: Database, values: Readonly<Record<string, unknown>>): Promise<QueryResult<Row>> => {
    const parameters = compiled.parameters.map((value) => (value instanceof Placeholder ? values[value.name] : value));
    return db.executeQuery<Row>({ ...compiled, parameters });
  };
}
