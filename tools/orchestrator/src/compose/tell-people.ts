import { startAnnouncer } from '../announcements/announcer.ts';
import { createAttendance } from '../announcements/attendance.ts';
import { startDeliverer } from '../announcements/deliverer.ts';
import { createPushChannel } from '../push/push-channel.ts';
import { createPushDevices, forgetLoggedOut, loadPushKeys } from '../push/push-devices.ts';
import { createPushSender } from '../push/push-sender.ts';
import type { Store } from '../store/store.ts';
import type { StartContext } from './start-context.ts';

/** What tells people of requests, failures and finished stages outside of the page. */
export async function tellPeople({ log, edges, limits, life }: StartContext, { store }: { store: Store }) {
  const attendance = createAttendance(edges);
  const keys = await loadPushKeys(store);
  await forgetLoggedOut(store);
  const sender = createPushSender({ keys });
  const channels = [createPushChannel({ store, edges, attendance, sender })];
  const pushDevices = createPushDevices({ store, edges, sender, publicKey: keys.publicKey });
  life.onStop('push devices', pushDevices.stop);
  const deliverer = startDeliverer({ store, edges, log, channels });
  life.onStop('deliverer', deliverer.stop);
  const announcer = startAnnouncer({
    ...{ store, log, channels, onQueued: deliverer.nudge, lagMs: limits.announceLagMs },
  });
  life.onStop('announcer', announcer.stop);
  return { attendance, pushDevices };
}
