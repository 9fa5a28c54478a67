import { LIMIT_DEFAULTS, LimitSettings, type MachineId, UsageLimits } from '@callboard/contract';
import type { LimitsTable } from '../../ports/limits-table.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const toLimits = documentOf(UsageLimits);
const toSettings = documentOf(LimitSettings);

const reportedOf = (machine?: MachineId) => (machine === undefined ? 'reported' : `reported:${machine}`);

/** See `LimitsTable`. One row each. */
export function limitsTable(db: Database): LimitsTable {
  const find = (name: string) =>
    db.selectFrom('usage_limits').select('document').where('name', '=', name).executeTakeFirst();

  async function save(name: string, value: UsageLimits | LimitSettings): Promise<void> {
    const document = JSON.stringify(value);
    await db
      .insertInto('usage_limits')
      .values({ name, document })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ document }))
      .execute();
  }

  return {
    async view(of) {
      const limits = mapRow(await find(reportedOf(of)), toLimits);
      return { limits, settings: mapRow(await find('settings'), toSettings) ?? LIMIT_DEFAULTS };
    },
    saveReported: (limits, of) => save(reportedOf(of), limits),
    saveSettings: (settings) => save('settings', settings),
  };
}
