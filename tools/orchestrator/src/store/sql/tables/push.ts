import { PushDeviceRecord, type PushKeys } from '../../announcement-records.ts';
import type { PushTable } from '../../ports/announcement-tables.ts';
import type { Database } from '../database.ts';
import { documentOf, mapRow } from './map-row.ts';

const toDevice = documentOf(PushDeviceRecord);

/** See `PushTable`. */
export function pushTable(db: Database): PushTable {
  return {
    async keys(): Promise<PushKeys | null> {
      const row = await db.selectFrom('push_keys').selectAll().executeTakeFirst();
      return mapRow(row, ({ public_key, private_key }) => ({ publicKey: public_key, privateKey: private_key }));
    },
    async saveKeys({ publicKey, privateKey }: PushKeys): Promise<void> {
      await db.insertInto('push_keys').values({ id: 1, public_key: publicKey, private_key: privateKey }).execute();
    },
    async listDevices(): Promise<PushDeviceRecord[]> {
      return (await db.selectFrom('push_devices').select('document').orderBy('ordinal').execute()).map(toDevice);
    },
    async findDevice(deviceId: string): Promise<PushDeviceRecord | null> {
      const row = await db.selectFrom('push_devices').select('document').where('id', '=', deviceId).executeTakeFirst();
      return mapRow(row, toDevice);
    },
    async saveDevice(device: PushDeviceRecord): Promise<void> {
      const { deviceId: id, subscription } = device;
      const fields = { id, document: JSON.stringify(device) };
      await db
        .insertInto('push_devices')
        .values({ ...fields, endpoint: subscription.endpoint })
        .onConflict((conflict) => conflict.column('endpoint').doUpdateSet(fields))
        .execute();
    },
    async removeDevice(deviceId: string): Promise<void> {
      await db.deleteFrom('push_devices').where('id', '=', deviceId).execute();
    },
  };
}
