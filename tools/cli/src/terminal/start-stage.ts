import { randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { PermissionMode as PermissionModes, type Project, titleProposal } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { z } from 'zod';
import { path } from '../command-line/values.ts';
import type { Invocation } from '../commands/command.ts';
import type { Platform } from '../edges.ts';
import { UsageError } from '../errors.ts';
import { type ApiWork, withApiClient } from './desk-command.ts';
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
  withApiClient(invocation, options, async ({ api, options: given, platform, hint }) => {
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
  const { stage: text, prompt: message, title, project: wanted, 'permission-mode': mode, model, pipeline } = given;
  if (text !== undefined) {
    if ([message, title, wanted, mode, model, pipeline].some((option) => option !== undefined))
      throw new UsageError(
        'a stage that exists has its prompt, title, project, mode, model and pipeline. Leave these options out, or the stage.',
      );
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
    ...(mode !== undefined && { permissionMode: mode }),
    ...(model !== undefined && { model }),
    ...(pipeline !== undefined && { pipeline }),
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
