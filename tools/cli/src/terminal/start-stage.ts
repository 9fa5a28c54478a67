import { randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { PermissionMode as PermissionModes, type Project, titleProposal } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import { path } from '../command-line/values.ts';
import type { Invocation } from '../commands/command.ts';
import type { Edges } from '../edges.ts';
import { UsageError } from '../errors.ts';
import { atDesk, type DeskWork } from './desk-command.ts';
import { findProject, findStage, named, projectAt } from './find.ts';
import { textOrInput } from './flags.ts';
import { safeJson, visibleLine } from './text.ts';

const PermissionMode = z.enum(PermissionModes.options, {
  error: `must be one of ${PermissionModes.options.join(', ')}`,
});

const options = {
  stage: z.string().optional(),
  prompt: z.string().optional(),
  title: z.string().optional(),
  project: z.string().optional(),
  'permission-mode': PermissionMode.optional(),
  model: z.string().optional(),
  pipeline: z.string().optional(),
};
type Options = z.infer<z.ZodObject<typeof options>>;

/** `callboard start-stage`. */
export const startStage = (invocation: Invocation): Promise<number> =>
  atDesk(invocation, options, async ({ desk, options: given, edges, hint }) => {
    const { id, title, isNew } = await stageToStart(desk, given, { edges, hint });
    if (isNew && !given.json) edges.err(`callboard: created ${id}.`);
    const { stage } = await desk.command('start_stage', { stageId: id });
    if (given.json) edges.out(safeJson(stage));
    else edges.out(`Started ${id}: ${visibleLine(title, 'prose')}. Watch it: ${hint(`watch ${id}`)}`);
  });

async function stageToStart(
  desk: Transport,
  given: Options,
  { edges, hint }: Pick<DeskWork<Options>, 'edges' | 'hint'>,
) {
  const { stage: text, prompt: words, title, project: wanted, 'permission-mode': mode, model, pipeline } = given;
  if (text !== undefined) {
    if ([words, title, wanted, mode, model, pipeline].some((option) => option !== undefined))
      throw new UsageError(
        'a stage that exists has its prompt, title, project, mode, model and pipeline. Leave these options out, or the stage.',
      );
    const found = findStage(await desk.command('get_board', {}), text, hint);
    return { ...found, isNew: false };
  }
  const prompt = await textOrInput(
    words,
    edges,
    `name a stage that exists, or write a prompt: ${hint('start-stage --prompt "..."')}`,
  );
  const project = await projectFor(desk, wanted, edges);
  const { stage } = await desk.command('create_stage', {
    projectId: project.id,
    title: title ?? (titleProposal(prompt) || 'Untitled'),
    prompt,
    creationId: randomUUID(),
    ...(mode !== undefined && { permissionMode: mode }),
    ...(model !== undefined && { model }),
    ...(pipeline !== undefined && { pipeline }),
  });
  return { ...stage, isNew: true };
}

/** Returns the project that is meant; a repository that is none yet becomes one. @throws UsageError if none is meant */
async function projectFor(desk: Transport, wanted: string | undefined, edges: Edges): Promise<Project> {
  const { projects } = await desk.command('get_projects', {});
  if (wanted === undefined) {
    const here = await realpath(edges.cwd).catch(() => edges.cwd);
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
  const { project, created } = await desk.command('create_project', { path: path(edges).parse(wanted) });
  if (created) edges.err(`callboard: added the project ${visibleLine(project.name, 'prose')} (${project.path}).`);
  if (created && project.trust.needed) {
    edges.err(
      'callboard: its own settings (hooks, servers, rules) stay off until somebody agrees to them on the board.',
    );
  }
  return project;
}

const namesOf = (projects: readonly Project[]): string => named(projects.map(({ id }) => id));
