import { isDeepStrictEqual } from 'node:util';
import { ownProperty } from '../../lib/text.ts';
import type { Tx } from '../../store/store.ts';
import { commandsOf, type SessionChange } from './session-change.ts';

/** Keeps what a person allowed with a call: its command may reach these hosts while it runs. */
export function grantHosts(change: SessionChange, toolUseId: string, hosts: readonly string[]): void {
  const { hostGrants } = change.record;
  change.record = { ...change.record, hostGrants: { ...hostGrants, [toolUseId]: [...hosts] } };
}

/**
 * Has the process open exactly the hosts that were allowed with every command that runs in its sandbox now. The process does not say
 * which command connects, so a host stays closed while a command runs that it was not allowed with; and an answer to the process's own
 * request would open it until the process ends (2.1.330). What is not open is asked for as usual.
 */
export async function settleHosts(tx: Tx, change: SessionChange): Promise<void> {
  const { hostGrants, openHosts, launchId } = change.record;
  if (launchId === null || (Object.keys(hostGrants).length === 0 && (openHosts ?? []).length === 0)) return;
  const running = (await commandsOf(tx, change)).map(({ id }) => [id, ownProperty(hostGrants, id) ?? []] as const);
  const [first, ...others] = running.map(([, hosts]) => hosts);
  const wanted = (first ?? []).filter((host) => others.every((hosts) => hosts.includes(host)));
  // A command that has ended never runs again.
  change.record = { ...change.record, hostGrants: Object.fromEntries(running.filter(([, hosts]) => hosts.length > 0)) };
  if (isDeepStrictEqual(wanted, openHosts ?? [])) return;
  change.record = { ...change.record, openHosts: wanted };
  await tellHosts(tx, change);
}

/** Tells a process that may have missed it which hosts are open: a control request that a crash interrupted is never repeated. */
export async function repeatHosts(tx: Tx, change: SessionChange): Promise<void> {
  const { openHosts } = change.record;
  await settleHosts(tx, change);
  if (change.record.openHosts === openHosts) await tellHosts(tx, change);
}

async function tellHosts(tx: Tx, { record }: SessionChange): Promise<void> {
  const { stageId, launchId, openHosts } = record;
  if (launchId === null || openHosts === null) return;
  const settings = { sandbox: { network: { allowedDomains: openHosts } } };
  const body = { kind: 'control', request: { subtype: 'apply_flag_settings', settings } } as const;
  const row = { id: tx.newId(), stageId, launchId, wireId: tx.newId(), actor: null, createdAt: tx.now };
  await tx.outbox.insert({ ...row, body });
}
