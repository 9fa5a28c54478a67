import type { CommandInput, CommandReply, PermissionRule, ProjectId, RuleLocation, StageId } from '@callboard/contract';
import { notifyRules, saveRules } from '../domain/permission-rules.ts';
import { Rejection } from '../lib/errors.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store, Tables } from '../store/store.ts';
import { ruleOffer, timesAllowed } from './habits.ts';
import { allowRules, dryRun } from './rehearse.ts';

/** The permission rules that people grant: their list, their use, their end, and what they would have done. */
export interface Rules {
  /** Returns the rules that apply, with their use, and the newest that have ended. @throws Rejection `unknown_project` */
  list(projectId: ProjectId | undefined): Promise<CommandReply<'list_rules'>>;
  /** Grants a rule, or gives it a new end date. @throws Rejection `unknown_stage`, `unknown_project`, `bad_request` */
  add(wanted: CommandInput<'add_rule'>, actor: string): Promise<PermissionRule>;
  /** Ends a rule. @throws Rejection `unknown_rule` */
  remove(ruleId: string, actor: string): Promise<PermissionRule>;
  /** Returns what a rule would have done. Changes nothing. @throws Rejection `unknown_stage`, `unknown_project` */
  dryRun(wanted: CommandInput<'rehearse_rule'>): Promise<CommandReply<'rehearse_rule'>>;
  /** Returns exact rules for a request that was allowed three times; null if there are none. @throws as `ruleOffer` */
  offer(of: CommandInput<'get_rule_offer'>): Promise<CommandReply<'get_rule_offer'>>;
  /** Puts an offer away. @throws Rejection `unknown_project` */
  dismiss(offer: CommandInput<'dismiss_rule_offer'>): Promise<void>;
}

interface RulesDeps {
  store: Store;
  platform: { now(): Date };
  /** Resolves once running sessions have the rules as they are now. */
  settle: () => Promise<void>;
}

/** How many ended rules are listed. */
const LISTED = 50;

export function createRules({ store, platform, settle }: RulesDeps): Rules {
  const { read } = store;
  const now = () => platform.now().toISOString();
  return {
    async list(projectId) {
      if (projectId !== undefined) await requireProject(read, projectId);
      const all = await read.rules.listAll(projectId);
      const at = now();
      const applies = (rule: PermissionRule) =>
        rule.endedAt === null && (rule.expiresAt === null || rule.expiresAt > at);
      const endOf = ({ endedAt, expiresAt }: PermissionRule) => endedAt ?? expiresAt ?? '';
      const ended = all.filter((rule) => !applies(rule)).toSorted((a, b) => endOf(b).localeCompare(endOf(a)));
      const withUse = read.rules.withUse;
      return { rules: await withUse(all.filter(applies)), ended: await withUse(ended.slice(0, LISTED)) };
    },
    async add({ rule, scope: place, expiresAt }, by) {
      if (expiresAt !== undefined && expiresAt <= now())
        throw new Rejection('bad_request', 'expiresAt has passed already. Choose a later instant, or leave it out.');
      const [saved] = await store.transact(async (tx) => {
        const { projectId, stageId } = await locationOf(tx, place);
        const granted = [{ kind: 'allow', rule } as const];
        const scope = stageId === null ? 'project' : 'stage';
        return saveRules(
          tx,
          { projectId, id: stageId },
          { scope, granted, by, expiresAt: expiresAt ?? null, mayShorten: true },
        );
      });
      if (saved === undefined) throw new Error('a granted rule was not kept');
      await settle();
      return saved;
    },
    async remove(ruleId, actor) {
      const removed = await store.transact(async (tx) => {
        const rule = await tx.rules.find(ruleId);
        if (rule === null || rule.endedAt !== null)
          throw new Rejection('unknown_rule', `There is no rule ${ruleId}; it may have been removed already.`);
        const ended = { ...rule, endedAt: tx.now, endedBy: actor };
        await tx.rules.save(ended);
        await notifyRules(tx, rule.projectId);
        return ended;
      });
      await settle();
      return removed;
    },
    async dryRun({ rule, scope, along = [] }) {
      const { projectId, stageId } = await locationOf(read, scope);
      const known =
        stageId === null ? read.rules.listOf(projectId, now()) : read.rules.listFor(projectId, stageId, now());
      const wide = (await known).filter((one) => stageId !== null || one.stageId === null);
      const others = [...along, ...allowRules(wide)].filter((other) => other !== rule);
      return dryRun(read, { rule, projectId, stageId: stageId ?? undefined, others });
    },
    offer: async (of) => ({ offer: await ruleOffer(read, of, now()) }),
    async dismiss({ projectId, rules }) {
      const counted = await Promise.all(
        rules.map(async (rule) => ({ rule, times: await timesAllowed(read, projectId, rule) })),
      );
      await store.transact(async (tx) => {
        await requireProject(tx, projectId);
        for (const { rule, times } of counted) await tx.rules.saveDismissal(projectId, rule, times);
      });
    },
  };
}

/** @throws Rejection `unknown_stage`, `unknown_project` */
async function locationOf(
  tables: Pick<Tables, 'stages' | 'projects'>,
  location: RuleLocation,
): Promise<{ projectId: ProjectId; stageId: StageId | null }> {
  if ('stageId' in location) {
    const { projectId } = await requireStage(tables, location.stageId);
    return { projectId, stageId: location.stageId };
  }
  await requireProject(tables, location.projectId);
  return { projectId: location.projectId, stageId: null };
}
