import { PageKey } from '@callboard/contract';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { LoginPage, LoginRecord, LoginTerminal } from '../../login-records.ts';
import type { LoginsTable } from '../../ports/log-tables.ts';
import type { Database } from '../database.ts';
import type { Schema } from '../schema.ts';
import { mapRow } from './map-row.ts';

const Kind = z.enum(['code', 'session', 'token', 'metrics']);

const toLogin = (row: Selectable<Schema['logins']>): LoginRecord => ({
  secretHash: row.secret_hash,
  kind: Kind.parse(row.kind),
  name: row.name,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  page: toPage(row),
  terminal: toTerminal(row),
});

function toPage({ login_id, page_key, origin, browser }: Selectable<Schema['logins']>): LoginPage | null {
  if (login_id === null || page_key === null || origin === null) return null;
  return { loginId: login_id, key: PageKey.parse(JSON.parse(page_key)), origin, browser: browser ?? '' };
}

const toTerminal = ({ kind, login_id, browser }: Selectable<Schema['logins']>): LoginTerminal | null =>
  (kind === 'token' || kind === 'metrics') && login_id !== null ? { loginId: login_id, name: browser ?? '' } : null;

/** Who may use Callboard, by the hash of their secret. */
export function loginsTable(db: Database): LoginsTable {
  return {
    async find(secretHash: string): Promise<LoginRecord | null> {
      const row = await db.selectFrom('logins').selectAll().where('secret_hash', '=', secretHash).executeTakeFirst();
      return mapRow(row, toLogin);
    },
    async findById(loginId: string): Promise<LoginRecord | null> {
      const row = await db.selectFrom('logins').selectAll().where('login_id', '=', loginId).executeTakeFirst();
      return mapRow(row, toLogin);
    },
    async list(): Promise<LoginRecord[]> {
      const rows = await db
        .selectFrom('logins')
        .selectAll()
        .where('kind', 'in', ['session', 'token', 'metrics'])
        .orderBy('created_at', 'desc')
        .execute();
      return rows.map(toLogin);
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
          login_id: login.page?.loginId ?? login.terminal?.loginId ?? null,
          page_key: login.page === null ? null : JSON.stringify(login.page.key),
          origin: login.page?.origin ?? null,
          browser: login.page?.browser ?? login.terminal?.name ?? null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async remove(secretHash: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom('logins')
        .where('secret_hash', '=', secretHash)
        .executeTakeFirstOrThrow();
      return numDeletedRows === 1n;
    },
    async removeExpired(instant: string): Promise<void> {
      await db.deleteFrom('logins').where('expires_at', '<=', instant).execute();
    },
  };
}
