import type { AgreedScope, AgreedTable } from '../../ports/project-tables.ts';
import { AgreedSettings } from '../../records.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const scopeOf = (scope: AgreedScope) => (scope === 'user' ? 'user' : `project:${scope}`);

/** See `AgreedTable`. */
export function agreedTable(db: Database): AgreedTable {
  return {
    async find(scope: AgreedScope): Promise<AgreedSettings | null> {
      const row = await db
        .selectFrom('agreed')
        .select('document')
        .where('scope', '=', scopeOf(scope))
        .executeTakeFirst();
      return mapRow(row, documentOf(AgreedSettings));
    },
    async save(scope: AgreedScope, agreed: AgreedSettings): Promise<void> {
      const document = JSON.stringify(agreed);
      await db
        .insertInto('agreed')
        .values({ scope: scopeOf(scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope: AgreedScope): Promise<void> {
      await db.deleteFrom('agreed').where('scope', '=', scopeOf(scope)).execute();
    },
  };
}
