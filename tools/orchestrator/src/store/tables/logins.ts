import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Database } from '../database.ts';
import type { LoginRecord } from '../records.ts';
import type { Schema } from '../schema.ts';

const Kind = z.enum(['code', 'session', 'token']);

const toLogin = (row: Selectable<Schema['logins']>): LoginRecord => ({
  secretHash: row.secret_hash,
  kind: Kind.parse(row.kind),
  name: row.name,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});

/** Who may use Callboard, by the hash of their secret. */
export function loginsTable(db: Database) {
  return {
    async find(secretHash: string): Promise<LoginRecord | null> {
      const row = await db.selectFrom('logins').selectAll().where('secret_hash', '=', secretHash).executeTakeFirst();
      return row === undefined ? null : toLogin(row);
    },
    async save(login: LoginRecord): Promise<void> {
      await db
        .insertInto('logins')
        .values({
          secret_hash: login.secretHash,
          kind: login.kind,
          name: login.name,
          created_at: login.createdAt,
          expires_at: login.expiresAt,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    /** True for exactly one caller. */
    async remove(secretHash: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom('logins')
        .where('secret_hash', '=', secretHash)
        .executeTakeFirstOrThrow();
      return numDeletedRows === 1n;
    },
    async removeKind(kind: LoginRecord['kind']): Promise<void> {
      await db.deleteFrom('logins').where('kind', '=', kind).execute();
    },
    async removeExpired(instant: string): Promise<void> {
      await db.deleteFrom('logins').where('expires_at', '<=', instant).execute();
    },
  };
}
