import { access, realpath } from 'node:fs/promises';
import { type Project, stageFields } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import { path } from '../command-line/flags.ts';
import type { Invocation } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import type { Platform } from '../platform.ts';
import { runProgram } from '../run-program.ts';
import { withApiClient } from './api-client.ts';
import { cut, safeJson, visibleLine } from './text.ts';
import { type KanbanBoard, type KanbanProject, type KanbanTask, kanbanFiles, readKanban } from './vibe-kanban.ts';

interface PlannedStage {
  readonly creationId: string;
  readonly title: string;
  readonly prompt: string;
  /** The branch of its newest attempt that still exists: the stage begins there. */
  readonly base: string | null;
  readonly worktree: string | null;
  /** What else to know about its branches. */
  readonly notes: readonly string[];
}

interface PlannedProject {
  readonly name: string;
  readonly path: string;
  readonly isNew: boolean;
  readonly stages: readonly PlannedStage[];
}

interface Plan {
  readonly projects: readonly PlannedProject[];
  readonly leftOut: readonly { readonly what: string; readonly why: string }[];
}

/** `callboard import`. */
export const importStages = (invocation: Invocation): Promise<number> =>
  withApiClient(
    invocation,
    {
      source: z.literal('vibe-kanban', { error: 'must be vibe-kanban' }),
      file: path(invocation.platform).optional(),
      all: z.boolean().default(false),
      yes: z.boolean().default(false),
    },
    async ({ api, options: { file: given, all, yes, json }, platform, hint }) => {
      const file = given ?? (await findFile(platform));
      const { projects } = await api.command('get_projects', {});
      const plan = await planImport(readKanban(file), { all, projects, env: platform.env });
      const count = plan.projects.reduce((sum, { stages }) => sum + stages.length, 0);
      if (!json) for (const line of planLines(plan, file)) platform.out(line);
      const question = `Import ${plural(count, 'stage')} into ${plural(plan.projects.length, 'project')}?`;
      if (count === 0 || !(yes || (!json && (await isConfirmed(question, platform))))) {
        if (json) platform.out(safeJson({ ...plan, imported: false }, 2));
        else if (count > 0)
          platform.err(`callboard: nothing was imported. Without a question: ${hint('import vibe-kanban --yes')}`);
        return;
      }
      const { created, existing } = await carryOut(api, plan);
      if (json) platform.out(safeJson({ ...plan, imported: true, created, existing }, 2));
      else {
        const before = existing.length === 0 ? '' : ` ${plural(existing.length, 'stage')} had been imported before.`;
        platform.out(`Created ${plural(created.length, 'stage')}.${before} None has started: ${hint('ls')}`);
      }
    },
  );

async function findFile(platform: Platform): Promise<string> {
  const files = kanbanFiles(platform);
  for (const file of files) {
    if (await exists(file)) return file;
  }
  throw new CliError(
    `there is no database of vibe-kanban: neither ${files.join(' nor ')}. Name the file: import vibe-kanban FILE`,
  );
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

async function isConfirmed(question: string, { input }: Platform): Promise<boolean> {
  if (!input.isTerminal) return false;
  return /^y(es)?$/i.test((await input.ask(`${question} [y/N] `))?.trim() ?? '');
}

interface Known {
  /** Import tasks that are done or cancelled, too. */
  readonly all: boolean;
  /** The projects that Callboard has. */
  readonly projects: readonly Project[];
  readonly env: Platform['env'];
}

/** Decides what an import creates, and what it leaves out. */
export async function planImport({ projects, looseWorkspaces }: KanbanBoard, known: Known): Promise<Plan> {
  const planned: PlannedProject[] = [];
  const leftOut: { what: string; why: string }[] = [];
  for (const project of projects) {
    const found = await repositoryOf(project, known.env);
    if (found === null) {
      const where = project.repositories.join(', ') || 'none is named';
      leftOut.push({ what: project.name, why: `no repository of it exists (${where})` });
      continue;
    }
    const [, ...others] = project.repositories;
    if (others.length > 0) {
      const rest = project.repositories.filter((each) => each !== found.given);
      leftOut.push({ what: project.name, why: `its tasks go to ${found.path}, not to ${rest.join(', ')}` });
    }
    const stages = project.tasks.flatMap((task) => {
      const stage = stageOf(task, found.branches, known.all);
      if (typeof stage !== 'string') return stage;
      leftOut.push({ what: `${project.name}: ${task.title}`, why: stage });
      return [];
    });
    const isNew = known.projects.every(({ path: of }) => of !== found.path);
    if (stages.length > 0) planned.push({ name: project.name, path: found.path, isNew, stages });
  }
  if (looseWorkspaces > 0) {
    leftOut.push({
      what: plural(looseWorkspaces, 'workspace'),
      why: 'without a task here; branches and worktrees stay',
    });
  }
  return { projects: planned, leftOut };
}

/** Returns the first repository of a project that exists, with its branches; null if none does. */
async function repositoryOf({ repositories }: KanbanProject, env: Platform['env']) {
  for (const given of repositories) {
    const args = ['-C', given, 'for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads'];
    const { exitCode, stdout } = await runProgram('git', args, env);
    if (exitCode === 0) return { given, path: await realpath(given), branches: new Set(stdout.split('\n')) };
  }
  return null;
}

const FINISHED = ['done', 'cancelled'];

/** Returns the stage of a task, or why it has none. */
function stageOf(task: KanbanTask, branches: ReadonlySet<string>, all: boolean): PlannedStage | string {
  if (!all && FINISHED.includes(task.status)) return `it is ${task.status}; --all imports it too`;
  const title = cut(task.title.trim(), 300) || 'Untitled';
  const prompt = stageFields.prompt.given.safeParse([title, task.description.trim()].filter(Boolean).join('\n\n'));
  if (!prompt.success) return `its text ${prompt.error.issues[0]?.message}`;
  const attempt = task.attempts.find(({ branch }) => branches.has(branch));
  return {
    creationId: task.creationId,
    title,
    prompt: prompt.data,
    base: attempt?.branch ?? null,
    worktree: attempt?.worktree ?? null,
    notes: task.attempts
      .filter((each) => each !== attempt)
      .map(({ branch }) =>
        branches.has(branch) ? `branch ${branch} stays as it is` : `branch ${branch} does not exist`,
      ),
  };
}

function planLines({ projects, leftOut }: Plan, file: string): string[] {
  const shown = (text: string) => visibleLine(text, 'prose');
  return [
    `From ${shown(file)}:`,
    ...projects.flatMap(({ name, path: at, isNew, stages }) => [
      `${shown(name)} (${shown(at)}, ${isNew ? 'a new project' : 'a project already'}): ${plural(stages.length, 'stage')}`,
      ...stages.flatMap(({ title, base, worktree, notes }) => [
        `  ${shown(title)}`,
        ...(base === null ? [] : [`    begins at branch ${shown(base)}, which stays as it is`]),
        ...(worktree === null ? [] : [`    worktree ${shown(worktree)} stays as it is`]),
        ...notes.map((note) => `    ${shown(note)}`),
      ]),
    ]),
    ...(projects.length === 0 ? ['Nothing to import.'] : []),
    ...(leftOut.length === 0
      ? []
      : ['Left out:', ...leftOut.map(({ what, why }) => `  ${shown(what)}: ${shown(why)}`)]),
  ];
}

/** Creates projects and stages. Tasks that were imported before keep their stage. */
async function carryOut(api: Transport, { projects }: Plan) {
  const before = new Set<string>((await api.command('get_board', {})).stages.map(({ id }) => id));
  const created: string[] = [];
  const existing: string[] = [];
  for (const { path: at, stages } of projects) {
    const { project } = await api.command('create_project', { path: at });
    for (const { creationId, title, prompt, base } of stages) {
      const wanted = { projectId: project.id, title, prompt, base, creationId };
      const { stage } = await api.command('create_stage', wanted);
      (before.has(stage.id) ? existing : created).push(stage.id);
    }
  }
  return { created, existing };
}
