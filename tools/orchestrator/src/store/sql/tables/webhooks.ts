import { WebhookRecord } from '../../announcement-records.ts';
import type { WebhooksTable } from '../../ports/announcement-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const toWebhook = documentOf(WebhookRecord);

/** See `WebhooksTable`. */
export function webhooksTable(db: Database): WebhooksTable {
  return {
    async list(): Promise<WebhookRecord[]> {
      return (await db.selectFrom('webhooks').select('document').orderBy('ordinal').execute()).map(toWebhook);
    },
    async find(webhookId: string): Promise<WebhookRecord | null> {
      const row = await db.selectFrom('webhooks').select('document').where('id', '=', webhookId).executeTakeFirst();
      return mapRow(row, toWebhook);
    },
    async save(webhook: WebhookRecord): Promise<void> {
      const document = JSON.stringify(webhook);
      await db
        .insertInto('webhooks')
        .values({ id: webhook.webhookId, document })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ document }))
        .execute();
    },
    async remove(webhookId: string): Promise<void> {
      await db.deleteFrom('webhooks').where('id', '=', webhookId).execute();
    },
  };
}
