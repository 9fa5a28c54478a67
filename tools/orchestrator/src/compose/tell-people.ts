import { startAnnouncer } from '../announcements/announcer.ts';
import { createPresence } from '../announcements/attendance.ts';
import { startDeliverer } from '../announcements/deliverer.ts';
import type { Machines } from '../machines/machines.ts';
import { createCaller } from '../outgoing/caller.ts';
import { createOutgoingCommands, endOutgoingLeft } from '../outgoing/run-outgoing-command.ts';
import { createWebhookChannel } from '../outgoing/webhook-channel.ts';
import { createWebhooks } from '../outgoing/webhooks.ts';
import { notificationOf, settledNotificationOf } from '../push/notification-words.ts';
import { createPushChannel } from '../push/push-channel.ts';
import { createPushDevices, forgetLoggedOut, loadPushKeys } from '../push/push-devices.ts';
import { createPushSender } from '../push/push-sender.ts';
import type { Store } from '../store/store.ts';
import { commandsFolder } from '../worktree-commands/command-output.ts';
import { endCommand } from '../worktree-commands/end-command.ts';
import { runWithInput } from '../worktree-commands/run-with-input.ts';
import type { StartContext } from './start-context.ts';

interface NotifyPeopleDeps {
  store: Store;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  /** Null: one machine has everything. */
  machines: Pick<Machines, 'leads'> | null;
}

/** What tells people of requests, failures and finished stages outside of the page. */
export async function notifyPeople(context: StartContext, { store, env, machines }: NotifyPeopleDeps) {
  const { config, log, platform, limits, life } = context;
  const presence = createPresence(platform);
  const keys = await loadPushKeys(store);
  await forgetLoggedOut(store);
  const sender = createPushSender({ keys });
  const caller = createCaller({ runCommand: await outgoingCommands(context, env) });
  const { publicUrl } = config;
  const text = { announced: notificationOf, settled: settledNotificationOf };
  const channels = [
    createPushChannel({ store, platform, presence, sender }),
    createWebhookChannel({ store, platform, caller, text, publicUrl }),
  ];
  const pushDevices = createPushDevices({ store, platform, sender, publicKey: keys.publicKey });
  life.onStop('push devices', pushDevices.stop);
  const deliverer = startDeliverer({ store, platform, log, channels, leads: machines?.leads });
  life.onStop('deliverer', deliverer.stop);
  const webhooks = createWebhooks({ store, platform, caller, publicUrl, onQueued: deliverer.schedule });
  life.onStop('webhooks', webhooks.stop);
  const announcer = startAnnouncer({
    store,
    log,
    channels,
    onQueued: deliverer.schedule,
    lagMs: limits.announceLagMs,
  });
  life.onStop('announcer', announcer.stop);
  return { presence, pushDevices, webhooks };
}

/** Runs the commands that calls to the outside may be, once those of an earlier run have ended. */
async function outgoingCommands({ config, limits, log }: StartContext, env: Readonly<Record<string, string>>) {
  const { dataDir } = config;
  const graceMs = limits.graces.signalMs;
  const endLeft = (id: string) => endCommand({ id, process: null, isSandboxed: false }, graceMs);
  await endOutgoingLeft({ commands: commandsFolder(dataDir), endLeft }).catch((error: unknown) =>
    log.error({ err: error }, 'commands of an earlier run may still run'),
  );
  return createOutgoingCommands({
    env,
    home: env.HOME ?? dataDir,
    endLeft,
    start: (job) => runWithInput({ dataDir, graceMs }, job),
  });
}
