import { LIMIT_DEFAULTS, LimitSettings, UsageLimits } from '@callboard/contract';
import type { LimitsTable } from '../../ports/limits-table.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const toLimits = documentOf(UsageLimits);
const toSettings = documentOf(LimitSettings);

/** See `LimitsTable`. One row each. */
export function limitsTable(db: Database): LimitsTable {
  const find = (name: 'reported' | 'settings') =>
    db.selectFrom('usage_limits').select('document').where('name', '=', name).executeTakeFirst();

  async function save(name: 'reported' | 'settings', value: UsageLimits | LimitSettings): Promise<void> {
    const document = JSON.stringify(value);
    await db
      .insertInto('usage_limits')
      .values({ name, document })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ document }))
      .execute();
  }

  return {
    async view() {
      const limits = mapRow(await find('reported'), toLimits);
      return { limits, settings: mapRow(await find('settings'), toSettings) ?? LIMIT_DEFAULTS };
    },
    saveReported: (limits) => save('reported', limits),
    saveSettings: (settings) => save('settings', settings),
  };
}
