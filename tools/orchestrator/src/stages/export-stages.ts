import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ExportReply, Project, ProjectId, Stage, StageId } from '@callboard/contract';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { stringify } from 'yaml';
import { Rejection } from '../lib/errors.ts';
import { expandHome } from '../lib/expand-home.ts';
import { requireProject } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { PipelinesFor } from './find-pipeline.ts';
import { fileSign, parseStageFile, withFields } from './stage-file.ts';

/** Writes stages out as the Markdown files that an import reads. */
export interface StageExports {
  /**
   * Writes each stage of a project into a folder, a stage that came from a file there into that file. A file that somebody has
   * changed since it was last taken over or written stays as it is. May be repeated, also after an interruption.
   * @throws Rejection `unknown_project`; `bad_request` if the folder cannot be written
   */
  run(projectId: ProjectId, path: string): Promise<ExportReply>;
}

interface ExportDeps {
  store: Store;
  home: string;
  pipelinesFor: PipelinesFor;
}

export function createStageExports({ store, home, pipelinesFor }: ExportDeps): StageExports {
  return {
    async run(projectId, path) {
      const project = await requireProject(store.read, projectId);
      const folder = resolve(project.path, expandHome(path, home));
      const reply: ExportReply = { folder, written: [], unchanged: 0, kept: [] };
      for (const stage of await stagesOf(store, project)) {
        const file = stage.source?.startsWith(`${folder}/`) ? stage.source : join(folder, `${stage.id}.md`);
        try {
          const pipeline = await pipelineOf(pipelinesFor, stage);
          await exportOne(store, { stage, file, reply, pipeline, status: await statusOf(store, stage) });
        } catch (error) {
          if (systemCode(error) === undefined) throw error;
          throw new Rejection('bad_request', `${file} could not be written. ${messageOf(error)}`, { cause: error });
        }
      }
      return reply;
    },
  };
}

const stagesOf = async (store: Store, { id }: Project): Promise<Stage[]> =>
  (await store.read.stages.list()).filter(({ projectId }) => projectId === id);

async function statusOf(store: Store, { id, completedAt }: Stage): Promise<string> {
  if (completedAt !== null) return 'Complete';
  return (await store.read.sessions.find(id)) === null ? 'Not Started' : 'In Progress';
}

/** The name of the pipeline whose phases the stage has; null if it has none, or phases of its own. */
async function pipelineOf(pipelinesFor: PipelinesFor, stage: Stage): Promise<string | null> {
  if (stage.pipeline.length === 0) return null;
  const { pipelines } = await pipelinesFor(stage.projectId, stage);
  return pipelines.find(({ phases }) => isDeepStrictEqual(phases, stage.pipeline))?.name ?? null;
}

interface Exporting {
  stage: Stage;
  file: string;
  status: string;
  pipeline: string | null;
  reply: ExportReply;
}

async function exportOne(store: Store, { stage, file, status, pipeline, reply }: Exporting): Promise<void> {
  const save = (reason: ExportReply['kept'][number]['reason']) => void reply.kept.push({ file, reason });
  // An import would make plain text of it.
  if (stage.promptIsCommand) return save('command');
  const before = await readFile(file, 'utf8').catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
    return null;
  });
  const content = before === null ? fileOf(stage, status, pipeline) : updated(before, file, { stage, status });
  if (content === null) return save('another-stage');
  if (content === before) {
    reply.unchanged += 1;
    return remember(store, stage.id, file, content);
  }
  if (before !== null && fileSign(before) !== stage.sourceSign) return save('changed');
  await mkdir(dirname(file), { recursive: true });
  // Whole or not at all: an editor, or a watch, may read it at any time.
  const half = `${file}.callboard-${createHash('sha256').update(content).digest('hex').slice(0, 8)}`;
  await writeFile(half, content);
  await rename(half, file);
  reply.written.push(file);
  await remember(store, stage.id, file, content);
}

const fieldsOf = ({ id, title, dependsOn, priority, group, model, effort }: Stage, status: string) => ({
  id,
  title,
  depends_on: dependsOn,
  priority,
  status,
  group,
  model,
  effort,
});

/**
 * What lets Claude act or finish unasked, and where. Only a new file gets it: in one that exists, somebody may have changed it, which a watch
 * of the folder does not take over. With a pipeline, `finish` is always said, or an import would take that of the pipeline.
 */
const consentOf = ({ permissionMode, finish, machine }: Stage, pipeline: string | null) => ({
  ...(permissionMode !== 'default' && { permission_mode: permissionMode }),
  ...(machine !== null && { machine }),
  ...(pipeline !== null && { pipeline }),
  ...((finish !== null || pipeline !== null) && { finish }),
});

function fileOf(stage: Stage, status: string, pipeline: string | null): string {
  const fields = Object.entries(fieldsOf(stage, status)).filter(([, value]) => value !== null);
  return `---\n${stringify({ ...Object.fromEntries(fields), ...consentOf(stage, pipeline) })}---\n\n${stage.prompt}\n`;
}

/** Returns the file with what has changed here; comments and other keys stay. Null if it is the file of another stage. */
function updated(before: string, file: string, { stage, status }: Pick<Exporting, 'stage' | 'status'>): string | null {
  const parsed = parseStageFile(file, before);
  if (parsed === null || 'problem' in parsed || parsed.stage.id !== stage.id) return null;
  const { title, dependsOn, priority, group, model, effort, prompt, status: reported } = parsed.stage;
  const isSkipped = reported === 'Skipped' && status === 'Complete';
  const wanted = fieldsOf(stage, isSkipped ? reported : status);
  const is = {
    id: stage.id,
    title,
    depends_on: dependsOn,
    priority: priority ?? 2,
    status: reported,
    group: group ?? null,
    model: model ?? null,
    effort: effort ?? null,
  };
  const changes = Object.entries(wanted).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(is[key as keyof typeof is]), // the same keys
  );
  return withFields(before, Object.fromEntries(changes), prompt === stage.prompt ? null : stage.prompt);
}

/** The stage follows this file from now on, if its folder is watched. */
async function remember(store: Store, id: StageId, file: string, content: string): Promise<void> {
  const sourceSign = fileSign(content);
  await store.transact(async (tx) => {
    const stage = await tx.stages.find(id);
    if (stage === null || (stage.sourceSign === sourceSign && stage.source === file)) return;
    const updated = { ...stage, sourceSign, source: stage.source ?? file, updatedAt: tx.now };
    await tx.stages.update(updated);
    await tx.emit({ type: 'stage-updated', data: { stageId: id, stage: updated } });
  });
}
