import { randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import {
  type BoardView,
  type ChangeCounts,
  type Column,
  checkAtGate,
  checkGateText,
  MergeMethod,
  type Project,
  type StageFieldHaving,
  type StageView,
  shortDuration,
  shownFields,
  stageFields,
  stageFieldsWith,
  titleProposal,
} from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import { path } from '../command-line/flags.ts';
import type { Invocation } from '../commands/command.ts';
import { UsageError } from '../errors.ts';
import type { Platform } from '../platform.ts';
import { type ApiWork, type Hint, withApiClient } from './api-client.ts';
import { findProject, findStage, named, projectAt } from './find.ts';
import { requestLine } from './request-text.ts';
import { textOrInput } from './terminal-flags.ts';
import { cut, displayWidth, padded, type Style, safeJson, styleOf, visibleLine } from './text.ts';
import { boardNotices, unstartedText, waitingText, wakeText } from './waiting-text.ts';

const COLUMNS: readonly (readonly [Column, string])[] = [
  ['needs-you', 'Needs you'],
  ['running', 'Running'],
  ['review', 'Review'],
  ['ready', 'Ready'],
  ['backlog', 'Backlog'],
  ['done', 'Done'],
];
/** How many done stages are shown unless all are wanted. */
const DONE_SHOWN = 5;
const MAX_TITLE_LENGTH = 40;
const MAX_FIELD_LENGTH = 16;

const options = {
  project: z.string().optional(),
  all: z.boolean().default(false),
  ids: z.boolean().default(false),
};

/** `callboard ls`. */
export const listStages = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, options, async ({ api, options: { json, ids, project, all }, platform, hint }) => {
    const board = ofProject(await api.command('get_board', {}), project);
    const stageIds = board.stages.map(({ id }) => id);
    if (json) platform.out(safeJson(ids ? stageIds : withMachineNames(board), 2));
    else if (ids) for (const id of stageIds) platform.out(id);
    else {
      for (const line of boardLines(board, { all, platform, hint })) platform.out(line);
      for (const line of boardNotices(board)) platform.err(`callboard: ${line}`);
    }
  });

/** Returns the name of the machine that has the stage; null if none has, and where there is only one machine. */
function machineOf({ machineId }: Pick<StageView, 'machineId'>, { machines }: BoardView): string | null {
  if (machines.length < 2) return null;
  return machines.find(({ id }) => id === machineId)?.name ?? null;
}

/** Returns the board for `--json`: where there is more than one machine, each stage has the name of its machine, or null. */
export function withMachineNames(board: BoardView) {
  if (board.machines.length < 2) return board;
  return { ...board, stages: board.stages.map((stage) => ({ ...stage, machineName: machineOf(stage, board) })) };
}

/** Keeps the stages of a project, and their requests. @throws UsageError for an unknown project */
function ofProject(board: BoardView, wanted: string | undefined): BoardView {
  if (wanted === undefined) return board;
  const project = requireProject(board.projects, wanted);
  const stages = board.stages.filter(({ projectId }) => projectId === project.id);
  const ids = new Set<string>(stages.map(({ id }) => id));
  return {
    ...board,
    projects: [project],
    stages,
    pending: board.pending.filter(({ stageId }) => ids.has(stageId)),
    unsettled: board.unsettled.filter(({ stageId }) => ids.has(stageId)),
  };
}

function requireProject(projects: readonly Project[], wanted: string): Project {
  const project = findProject(projects, wanted);
  if (project !== null) return project;
  const known = projects.length === 0 ? 'There is none yet.' : `There are: ${named(projects.map(({ id }) => id))}.`;
  throw new UsageError(`there is no project ${JSON.stringify(wanted)}. ${known}`);
}

interface ListLocation {
  readonly all: boolean;
  readonly hint: Hint;
  readonly platform: Pick<Platform, 'columns' | 'isTerminal' | 'env' | 'now'>;
}

/** Returns the board as text: one line for each stage, under its column. */
export function boardLines(board: BoardView, { all, platform, hint }: ListLocation): string[] {
  if (board.stages.length === 0) return [`There are no stages yet. Create one: ${hint('start-stage --prompt "..."')}`];
  const style = styleOf(platform);
  const idWidth = Math.max(...board.stages.map(({ id }) => id.length));
  const titleWidth = Math.min(MAX_TITLE_LENGTH, Math.max(...board.stages.map(({ title }) => displayWidth(title))));
  const fieldsText = (stage: StageView) =>
    [machineOf(stage, board) ?? '', ...shownFields(stage, 'inList').map(({ text }) => text)]
      .filter((text) => text !== '')
      .map((text) => cut(visibleLine(text, 'prose'), MAX_FIELD_LENGTH))
      .join('  ');
  const fieldsWidth = Math.max(...board.stages.map((stage) => displayWidth(fieldsText(stage))));
  const lineOf = (stage: StageView) => {
    const now = nowOf(stage, board, platform.now());
    const since = Date.parse(stage.session?.stateSince ?? stage.createdAt);
    const age = shortDuration(platform.now().getTime() - since).padStart(6);
    const title = padded(cut(visibleLine(stage.title, 'prose'), titleWidth), titleWidth);
    const fields = fieldsWidth === 0 ? '' : `${padded(fieldsText(stage), fieldsWidth)}  `;
    const start = `  ${padded(stage.id, idWidth)}  ${title}  ${fields}${style.dim(age)}  `;
    return `${start}${cut(now, platform.columns() - displayWidth(start))}`.trimEnd();
  };
  return COLUMNS.flatMap(([column, title]) => {
    const stages = inColumn(board.stages, column);
    if (stages.length === 0) return [];
    const shown = column === 'done' && !all ? stages.slice(0, DONE_SHOWN) : stages;
    const more = stages.length - shown.length;
    return [
      headingOf({ column, title, count: stages.length, style }),
      ...shown.map(lineOf),
      ...(more === 0 ? [] : [style.dim(`  and ${more} more: ${hint('ls --all')}`)]),
    ];
  });
}

function headingOf({ column, title, count, style }: { column: Column; title: string; count: number; style: Style }) {
  const text = style.bold(`${title} ${count}`);
  return column === 'needs-you' ? style.call(text) : text;
}

/** By priority and age; done stages with the newest first. */
function inColumn(stages: readonly StageView[], column: Column): StageView[] {
  const found = stages.filter((stage) => stage.column === column);
  if (column === 'done') return found.sort((a, b) => (b.completedAt ?? '').localeCompare(a.completedAt ?? ''));
  return found.sort((a, b) => a.priority - b.priority);
}

/** Returns what a stage does now, or what it needs, in one line. */
function nowOf(stage: StageView, board: BoardView, at: Date): string {
  const { id, column, session, merged, dependsOn, held } = stage;
  const asked = board.pending.filter(({ stageId }) => stageId === id);
  const [request] = asked;
  if (request !== undefined) return `${requestLine(request)}${asked.length > 1 ? ` (${asked.length} requests)` : ''}`;
  if (column === 'done')
    return merged === null ? 'not merged' : `merged ${merged.commit.slice(0, 7)} into ${merged.into}`;
  if (column === 'backlog') return held ? 'on hold' : `after ${dependsOn.join(', ')}`;
  if (session === null) return unstartedText(stage, board);
  if (session.alarm !== null) return 'security alarm: look at the board';
  const waits = waitingText(session);
  if (waits !== null) return waits;
  if (column === 'review')
    return [session.changes === null ? '' : changesOf(session.changes), wakeText(session, at)]
      .filter(Boolean)
      .join(', ');
  if (session.now !== null) return actionOf(session.now);
  if (session.stalledSince !== null) return 'no sign of life';
  const check = checkAtGate(stage);
  if (check !== null) return checkGateText(check);
  if (session.atGate) return 'phase finished';
  return visibleLine(session.lastTurn?.message ?? session.state, 'prose');
}

const changesOf = ({ additions, deletions }: ChangeCounts): string => `+${additions} −${deletions}`;

function actionOf(now: NonNullable<NonNullable<StageView['session']>['now']>): string {
  switch (now.kind) {
    case 'tool':
      return visibleLine(`${now.isCommand ? '$ ' : ''}${now.action}`, 'command');
    case 'check':
      return visibleLine(`checks: $ ${now.command}`, 'command');
    case 'background':
      return visibleLine(`in the background: ${now.isCommand ? '$ ' : ''}${now.action}`, 'command');
    case 'writing':
      return `writes: ${visibleLine(now.text, 'prose')}`;
    case 'preparing':
      return visibleLine(`prepares ${now.toolName}`, 'command');
    case 'review':
      return 'reviews the changes';
    case 'thinking':
      return 'thinks';
    default:
      return now satisfies never;
  }
}

/** The fields of a new stage that have an option. */
const OPTION_KEYS = stageFieldsWith('flag');

function optionOf({ flag, choices }: StageFieldHaving<'flag'>): [string, z.ZodType] {
  if (choices === undefined) return [flag.name, z.string().optional()];
  return [flag.name, z.enum(choices, { error: `must be one of ${choices.join(', ')}` }).optional()];
}

const startStageOptions = {
  ...Object.fromEntries(OPTION_KEYS.map((key) => optionOf(stageFields[key]))),
  stage: z.string().optional(),
  prompt: z.string().optional(),
  title: z.string().optional(),
  project: z.string().optional(),
};
type Options = z.infer<z.ZodObject<typeof startStageOptions>>;

/** `callboard start-stage`. */
export const startStage = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, startStageOptions, async ({ api, options: given, platform, hint }) => {
    const { id, title, isNew } = await stageToStart(api, given, { platform, hint });
    if (isNew && !given.json) platform.err(`callboard: created ${id}.`);
    const { stage } = await api.command('start_stage', { stageId: id });
    if (given.json) platform.out(safeJson(stage));
    else platform.out(`Started ${id}: ${visibleLine(title, 'prose')}. Watch it: ${hint(`watch ${id}`)}`);
  });

async function stageToStart(
  api: Transport,
  given: Options,
  { platform, hint }: Pick<ApiWork<Options>, 'platform' | 'hint'>,
) {
  const { stage: text, prompt: message, title, project: wanted, ...ofFields } = given;
  const values: Readonly<Record<string, unknown>> = ofFields;
  const fields = OPTION_KEYS.flatMap((key) => {
    const value = values[stageFields[key].flag.name];
    return value === undefined ? [] : [[key, value] as const];
  });
  if (text !== undefined) {
    if (fields.length > 0 || [message, title, wanted].some((option) => option !== undefined)) {
      const labels = OPTION_KEYS.map((key) => stageFields[key].label.toLowerCase());
      const own = new Intl.ListFormat('en-GB').format(['prompt', 'title', 'project', ...labels]);
      throw new UsageError(`a stage that exists has its ${own}. Leave these options out, or the stage.`);
    }
    const found = findStage(await api.command('get_board', {}), text, hint);
    return { ...found, isNew: false };
  }
  const prompt = await textOrInput(
    message,
    platform,
    `name a stage that exists, or write a prompt: ${hint('start-stage --prompt "..."')}`,
  );
  const project = await projectFor(api, wanted, platform);
  const { stage } = await api.command('create_stage', {
    projectId: project.id,
    title: title ?? (titleProposal(prompt) || 'Untitled'),
    prompt,
    creationId: randomUUID(),
    ...Object.fromEntries(fields),
  });
  return { ...stage, isNew: true };
}

/** Returns the project that is meant; a repository that is none yet becomes one. @throws UsageError if none is meant */
async function projectFor(api: Transport, wanted: string | undefined, platform: Platform): Promise<Project> {
  const { projects } = await api.command('get_projects', {});
  if (wanted === undefined) {
    const here = await realpath(platform.cwd).catch(() => platform.cwd);
    const project = projectAt(projects, here);
    if (project !== null) return project;
    const list =
      projects.length === 0 ? 'There is none yet: --project . adds this folder.' : `There are: ${namesOf(projects)}.`;
    throw new UsageError(`name the project: --project PROJECT. ${list}`);
  }
  const known = findProject(projects, wanted);
  if (known !== null) return known;
  if (!/^[./~]/.test(wanted)) {
    throw new UsageError(
      `there is no project ${JSON.stringify(wanted)}. There are: ${namesOf(projects) || 'none'}. A path begins with . or / or ~.`,
    );
  }
  const { project, created } = await api.command('create_project', { path: path(platform).parse(wanted) });
  if (created) platform.err(`callboard: added the project ${visibleLine(project.name, 'prose')} (${project.path}).`);
  if (created && project.trust.needed) {
    platform.err(
      'callboard: its own settings (hooks, servers, rules) stay off until somebody agrees to them on the board.',
    );
  }
  return project;
}

const namesOf = (projects: readonly Project[]): string => named(projects.map(({ id }) => id));

/** `callboard advance`. */
export const advance = (invocation: Invocation): Promise<number> =>
  withApiClient(invocation, { stage: z.string().optional() }, async ({ api, options: given, platform, hint }) => {
    if (given.stage === undefined) throw new UsageError(`name the stage: ${hint('advance STAGE')}`);
    const { id } = findStage(await api.command('get_board', {}), given.stage, hint);
    const { stage } = await api.command('advance_stage', { stageId: id });
    const phase = stage.pipeline[stage.session?.phaseIndex ?? 0]?.name ?? 'the next phase';
    platform.out(given.json ? safeJson(stage) : `Started ${visibleLine(phase, 'prose')} of ${id}.`);
  });

const completeOptions = {
  stage: z.string().optional(),
  merge: z.enum(MergeMethod.options, { error: `must be one of ${MergeMethod.options.join(', ')}` }).optional(),
  commit: z.string().optional(),
};

/** `callboard complete`. */
export const complete = (invocation: Invocation): Promise<number> =>
  withApiClient(
    invocation,
    completeOptions,
    async ({ api, options: { stage: text, merge, commit, json }, platform, hint }) => {
      if (text === undefined) throw new UsageError(`name the stage: ${hint('complete STAGE')}`);
      if (commit !== undefined && merge === undefined) throw new UsageError('--commit: needs --merge.');
      const { id } = findStage(await api.command('get_board', {}), text, hint);
      const { stage } = await api.command('complete_stage', {
        stageId: id,
        ...(merge !== undefined && { merge }),
        ...(commit !== undefined && { commit: { message: commit } }),
      });
      const merged =
        stage.merged === null ? 'not merged' : `merged ${stage.merged.commit.slice(0, 7)} into ${stage.merged.into}`;
      platform.out(json ? safeJson(stage) : `${id} is done, ${merged}.`);
    },
  );
