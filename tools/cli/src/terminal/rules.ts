import { type BoardView, type ProjectId, RuleText, type StageId, type UsedRule } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import type { Invocation } from '../commands/command.ts';
import { UsageError } from '../errors.ts';
import { type ApiWork, type Hint, withApiClient } from './api-client.ts';
import { findProject, findStage, named } from './find.ts';
import { safeJson, visibleLine } from './text.ts';

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** "30m", "2h" or "7d", in milliseconds. */
const Duration = z
  .string()
  .regex(/^[1-9]\d{0,3}[mhd]$/, 'must be a number of minutes, hours or days: 30m, 2h, 7d')
  .transform((text) => Number.parseInt(text, 10) * UNITS[z.enum(['m', 'h', 'd']).parse(text.at(-1))]);

const options = {
  action: z.enum(['list', 'add', 'remove'], { error: 'must be list, add or remove' }).default('list'),
  rule: z.string().optional(),
  stage: z.string().optional(),
  project: z.string().optional(),
  for: Duration.optional(),
};
type Options = z.infer<z.ZodObject<typeof options>>;
type Work = ApiWork<Options>;

/** `callboard rules`. */
export const rules = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, options, (work) => ({ list, add, remove })[work.options.action](work));

async function list({ api, options: given, platform, hint }: Work): Promise<void> {
  if (given.rule !== undefined || given.for !== undefined)
    throw new UsageError(`a list takes neither a rule nor --for. Add one: ${hint('rules add RULE')}`);
  const board = await api.command('get_board', {});
  const stage = given.stage === undefined ? null : findStage(board, given.stage, hint);
  const projectId = stage?.projectId ?? (given.project === undefined ? undefined : projectOf(board, given.project));
  const { rules: all } = await api.command('list_rules', projectId === undefined ? {} : { projectId });
  const shown = all.filter(({ stageId }) => stage === null || stageId === null || stageId === stage.id);
  if (given.json) platform.out(safeJson(shown, 2));
  else if (shown.length === 0) platform.out(`No rules: Claude asks. Add one: ${hint('rules add RULE --stage STAGE')}`);
  else for (const rule of shown) platform.out(lineOf(rule));
}

async function add({ api, options: given, platform, hint }: Work): Promise<void> {
  const rule = RuleText.safeParse(given.rule ?? '');
  if (!rule.success) throw new UsageError(`write the rule like ${hint("rules add 'Bash(npm test)' --stage STAGE")}`);
  if ((given.stage === undefined) === (given.project === undefined))
    throw new UsageError('say where the rule applies: --stage STAGE or --project PROJECT.');
  const board = await api.command('get_board', {});
  const scope =
    given.stage === undefined
      ? { projectId: projectOf(board, given.project ?? '') }
      : { stageId: findStage(board, given.stage, hint).id };
  const expiresAt =
    given.for === undefined ? {} : { expiresAt: new Date(platform.now().getTime() + given.for).toISOString() };
  const { rule: saved } = await api.command('add_rule', { rule: rule.data, scope, ...expiresAt });
  if (given.json) {
    platform.out(safeJson(saved));
    return;
  }
  platform.out(
    `Allowed in ${locationOf(saved)}${endOf(saved)}: ${visibleLine(saved.rule, 'command')}. Remove it: ${hint(`rules remove ${saved.ruleId}`)}`,
  );
  const open = await countOpen(api, scope);
  // Claude Code asked before it knew the rule.
  if (open > 0)
    platform.out(`It applies from the next call on. Open requests there still need an answer: ${hint('pending')}`);
}

async function remove({ api, options: given, platform, hint }: Work): Promise<void> {
  if (given.rule === undefined)
    throw new UsageError(`name the rule by its id: ${hint('rules remove ID')}. List them: ${hint('rules')}`);
  if (given.stage !== undefined || given.project !== undefined || given.for !== undefined)
    throw new UsageError('a rule is removed by its id alone. Leave --stage, --project and --for out.');
  const { rules: all } = await api.command('list_rules', {});
  const { ruleId } = ruleOf(all, given.rule, hint);
  const { rule } = await api.command('remove_rule', { ruleId });
  platform.out(
    given.json
      ? safeJson(rule)
      : `Removed from ${locationOf(rule)}: ${visibleLine(rule.rule, 'command')}. Claude asks again.`,
  );
}

/** Finds a rule by its id, the beginning of it, or its text if only one has it. */
function ruleOf(all: readonly UsedRule[], text: string, hint: Hint): UsedRule {
  const found = [
    all.filter(({ ruleId }) => ruleId === text),
    all.filter(({ rule }) => rule === text),
    all.filter(({ ruleId }) => ruleId.startsWith(text)),
  ].find((some) => some.length > 0);
  const [only] = found ?? [];
  if (only === undefined) throw new UsageError(`there is no rule ${JSON.stringify(text)}. List them: ${hint('rules')}`);
  if (found !== undefined && found.length > 1)
    throw new UsageError(`${JSON.stringify(text)} names several rules: ${named(found.map(({ ruleId }) => ruleId))}.`);
  return only;
}

async function countOpen(api: Transport, scope: { projectId: ProjectId } | { stageId: StageId }): Promise<number> {
  const { pending, stages } = await api.command('get_board', {});
  const there = stages.filter(({ id, projectId }) =>
    'stageId' in scope ? id === scope.stageId : projectId === scope.projectId,
  );
  return pending.filter(({ stageId }) => there.some(({ id }) => id === stageId)).length;
}

function projectOf({ projects }: Pick<BoardView, 'projects'>, text: string): ProjectId {
  const project = findProject(projects, text);
  if (project !== null) return project.id;
  throw new UsageError(
    `there is no project ${JSON.stringify(text)}. There are: ${named(projects.map(({ id }) => id)) || 'none'}.`,
  );
}

type Saved = Pick<UsedRule, 'projectId' | 'stageId' | 'expiresAt'>;

const locationOf = ({ projectId, stageId }: Saved): string => stageId ?? `project ${projectId}`;

const endOf = ({ expiresAt }: Saved): string => (expiresAt === null ? '' : ` until ${expiresAt}`);

const KINDS = { allow: '', directory: 'folder ', host: 'host ' } as const;

function lineOf(rule: UsedRule): string {
  const use = rule.uses === null ? '' : `, used ${rule.uses} ${rule.uses === 1 ? 'time' : 'times'}`;
  const by = rule.by === null ? '' : `, by ${visibleLine(rule.by, 'prose')}`;
  return `${rule.ruleId}  ${KINDS[rule.kind]}${visibleLine(rule.rule, 'command')}  (${locationOf(rule)}${endOf(rule)}${by}${use})`;
}
