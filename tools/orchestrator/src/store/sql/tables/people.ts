import {
  AlertSettings,
  DEFAULT_ALERTS,
  Later,
  type Me,
  Presentation,
  type RequestId,
  type StageId,
} from '@callboard/contract';
import type { PeopleTable } from '../../ports/people-table.ts';
import type { Database } from '../database.ts';

/** See `PeopleTable`. */
export function peopleTable(db: Database): PeopleTable {
  const open = () =>
    db
      .selectFrom('later')
      .innerJoin('requests', (join) =>
        join
          .onRef('requests.stage_id', '=', 'later.stage_id')
          .onRef('requests.request_id', '=', 'later.request_id')
          .on('requests.state', '=', 'open'),
      )
      .select(['later.person', 'later.stage_id', 'later.request_id', 'later.until']);
  return {
    async find(name: string): Promise<Me> {
      const row = db.selectFrom('people').select(['presentation', 'alerts']).where('name', '=', name);
      const saved = await row.executeTakeFirst();
      const rows = await open().where('person', '=', name).orderBy('requests.ordinal').execute();
      const presentation = Presentation.parse(saved?.presentation ?? 'overlay');
      return { name, presentation, later: rows.map(toLater), alerts: alertsOf(saved?.alerts ?? null) };
    },
    async saveSettings(name: string, settings: { presentation: Presentation; alerts: AlertSettings }): Promise<void> {
      const fields = { presentation: settings.presentation, alerts: JSON.stringify(settings.alerts) };
      await db
        .insertInto('people')
        .values({ name, ...fields })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(fields))
        .execute();
    },
    async listReturning() {
      const rows = await open().where('until', 'is not', null).orderBy('until').execute();
      return rows.flatMap((row) =>
        row.until === null ? [] : [{ ...toLater(row), person: row.person, until: row.until }],
      );
    },
    async saveLater(person: string, { stageId, requestId, until }: Later): Promise<void> {
      await db
        .deleteFrom('later')
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom('requests')
              .select('requests.request_id')
              .where('state', '!=', 'open')
              .whereRef('requests.stage_id', '=', 'later.stage_id')
              .whereRef('requests.request_id', '=', 'later.request_id'),
          ),
        )
        .execute();
      await db
        .insertInto('later')
        .values({ person, stage_id: stageId, request_id: requestId, until })
        .onConflict((conflict) => conflict.columns(['person', 'stage_id', 'request_id']).doUpdateSet({ until }))
        .execute();
    },
    async removeLater(person: string, stageId: StageId, requestId: RequestId): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom('later')
        .where('person', '=', person)
        .where('stage_id', '=', stageId)
        .where('request_id', '=', requestId)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

const toLater = (row: { stage_id: string; request_id: string; until: string | null }): Later =>
  Later.parse({ stageId: row.stage_id, requestId: row.request_id, until: row.until });

const alertsOf = (document: string | null): AlertSettings =>
  document === null ? DEFAULT_ALERTS : AlertSettings.parse(JSON.parse(document));
