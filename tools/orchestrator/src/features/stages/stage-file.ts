import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type ExportReply,
  NewStage,
  type Project,
  type ProjectId,
  type Stage,
  type StageField,
  type StageFieldHaving,
  type StageFieldWith,
  StageId,
  stageFields,
  stageFieldsWith,
  withoutBlankEnds,
} from '@callboard/contract';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { parseDocument, parse as parseYaml, stringify, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { newStage, type PipelinesFor } from '../../core/session/stages.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { Rejection } from '../../lib/errors.ts';
import { expandHome } from '../../platform/files.ts';
import { requireProject, type Store } from '../../store/store.ts';

/** Refuses text that YAML reads as another type: `title: 007` becomes the number 7, and the original spelling is lost. */
const text = <T extends z.ZodType>(schema: T) =>
  z
    .unknown()
    .transform((value, context) => {
      if (typeof value !== 'number' && typeof value !== 'boolean') return value;
      context.addIssue(`YAML does not read ${value} as text; put the value in quotes`);
      return z.NEVER;
    })
    .pipe(schema);

const Dependency = text(
  z.unknown().transform((value, context) => {
    const id = StageId.safeParse(value);
    if (id.success) return id.data;
    context.addIssue(`${JSON.stringify(value)} is not a stage id; write several ids as a list: [STAGE-1, STAGE-2]`);
    return z.NEVER;
  }),
);

/** The fields that a stage's file may have as the API takes them; the others are read in ways of their own. */
type PlainKey = Exclude<StageFieldWith<'file'>, 'dependsOn' | 'pipeline'>;
export const PLAIN_KEYS = stageFieldsWith('file').filter(
  (key): key is PlainKey => key !== 'dependsOn' && key !== 'pipeline',
);
const definitionOf = (key: StageFieldWith<'file'>): StageFieldHaving<'file'> => stageFields[key];

function inFile({ given, isText, choices }: StageField): z.ZodType {
  return isText && choices === undefined ? text(given).optional() : given;
}

/** The fields that only a person takes over from a file. */
export const CONSENT_KEYS = stageFieldsWith('file').filter((key) => definitionOf(key).file.needsPerson);

/** The frontmatter of a stage's Markdown file. The body is the prompt. */
const Frontmatter = z.looseObject({
  ...Object.fromEntries(PLAIN_KEYS.map((key) => [definitionOf(key).file.key, inFile(definitionOf(key))])),
  id: text(StageId),
  title: text(NewStage.shape.title),
  depends_on: z
    .unknown()
    .transform((ids): unknown[] => (ids == null ? [] : [ids].flat()))
    .pipe(z.array(Dependency))
    .transform((ids) => [...new Set(ids)])
    .prefault(null),
  status: z.enum(['Not Started', 'In Progress', 'Complete', 'Skipped']).default('Not Started'),
  pipeline: text(z.string().trim().min(1, 'is empty')).optional(),
});

/** A stage, as described by its file. */
export interface StageFile extends Pick<NewStage, PlainKey> {
  path: string;
  id: StageId;
  title: string;
  prompt: string;
  dependsOn: StageId[];
  /** True for `Complete` and `Skipped`: stages that depend on it may start. */
  isDone: boolean;
  /** The name of one of the project's pipelines. */
  pipeline: string | undefined;
  /** Unknown keys in its frontmatter. */
  unknownKeys: string[];
  /** Changes with the file's content. */
  sign: string;
  status: string;
}

/** Frontmatter between `---` lines, then the body. Markdown without frontmatter is not a stage. */
const FRONTMATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n([\s\S]*))?$/;

/** Parses one file. Returns a problem with its position if the file is invalid; null for Markdown that is not a stage. */
export function parseStageFile(path: string, content: string): { stage: StageFile } | { problem: string } | null {
  const match = FRONTMATTER.exec(content);
  if (match === null) return null;
  const frontmatter = readYaml(match[1] ?? '');
  if (typeof frontmatter === 'string') return { problem: `${path}: ${frontmatter}` };
  const parsed = Frontmatter.safeParse(frontmatter.value);
  if (!parsed.success)
    return { problem: parsed.error.issues.map((issue) => `${path}: ${describeIssue(issue)}`).join('\n') };
  const prompt = withoutBlankEnds(match[2] ?? '');
  if (prompt === '') return { problem: `${path}: the body, which is the stage's prompt, is empty` };
  const { id, title, depends_on, status, pipeline, ...rest } = parsed.data;
  const plain: Pick<NewStage, PlainKey> = Object.fromEntries(
    PLAIN_KEYS.map((key) => [key, rest[definitionOf(key).file.key]]),
  );
  return {
    stage: {
      ...plain,
      path,
      id,
      title,
      prompt,
      dependsOn: depends_on,
      isDone: status === 'Complete' || status === 'Skipped',
      pipeline,
      sign: fileSign(content),
      status,
      unknownKeys: Object.keys(parsed.data).filter((key) => !(key in Frontmatter.shape)),
    },
  };
}

/** Returns a sign that changes with the content of a file. */
const fileSign = (content: string): string => createHash('sha256').update(content).digest('hex').slice(0, 16);

/** Returns a stage's file with other values of some keys, and another body unless that is null; everything else stays as written. */
function withFields(content: string, fields: Record<string, unknown>, body: string | null): string {
  if (Object.keys(fields).length === 0 && body === null) return content;
  const match = FRONTMATTER.exec(content);
  const document = parseDocument(match?.[1] ?? '');
  for (const [key, value] of Object.entries(fields)) document.set(key, value);
  return `---\n${document.toString()}---\n${body === null ? (match?.[2] ?? '') : `\n${body}\n`}`;
}

/** Returns `title is missing`, or `depends_on[1]: ...`. */
function describeIssue({ path, message }: z.core.$ZodIssue): string {
  const field = z.core.toDotPath(path);
  if (/received undefined$/.test(message)) return `${field} is missing`;
  return `${field}: ${message}`;
}

function readYaml(text: string): { value: unknown } | string {
  try {
    return { value: parseYaml(text) };
  } catch (error) {
    // The parser refuses aliases that expand to far more than the file holds, with a ReferenceError.
    if (error instanceof YAMLParseError || error instanceof ReferenceError) return error.message;
    throw error;
  }
}

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

const EXPORTED_KEYS = PLAIN_KEYS.filter((key) => definitionOf(key).file.isExported);

/** What an export brings up to date in the file of a stage, by its key there. */
const fieldsOf = (stage: Pick<Stage, 'id' | 'title' | 'dependsOn' | PlainKey>, status: string) => ({
  id: stage.id,
  title: stage.title,
  depends_on: stage.dependsOn,
  status,
  ...Object.fromEntries(EXPORTED_KEYS.map((key) => [definitionOf(key).file.key, stage[key]])),
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
  const { prompt, status: reported } = parsed.stage;
  const isSkipped = reported === 'Skipped' && status === 'Complete';
  const { id, projectId, createdAt } = stage;
  const is: Record<string, unknown> = fieldsOf(
    newStage({ ...parsed.stage, id, projectId, pipeline: [] }, createdAt),
    reported,
  );
  const changes = Object.entries(fieldsOf(stage, isSkipped ? reported : status)).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(is[key]),
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

/** The refusal of an import, with every problem on a line of its own. */
export const importFailed = (problems: readonly string[]): Rejection =>
  new Rejection('import_failed', `Nothing was imported.\n${problems.join('\n')}`);

/** The Markdown files of a folder. */
export interface StageFiles {
  stages: StageFile[];
  /** With file and cause. */
  problems: string[];
  /** The files with a problem. */
  broken: string[];
}

/** Reads the stages of a folder with its subfolders, or of one file, as far as they can be read. @throws Rejection `import_failed` if there is none */
export async function parseStageFiles(path: string): Promise<StageFiles> {
  const found: StageFiles = { stages: [], problems: [], broken: [] };
  for (const file of await markdownFiles(path)) {
    const parsed = parseStageFile(file, await readFile(file, 'utf8'));
    if (parsed === null) continue;
    if ('stage' in parsed) found.stages.push(parsed.stage);
    else {
      found.broken.push(file);
      found.problems.push(parsed.problem);
    }
  }
  return found;
}

/** Reads all of them. @throws Rejection `import_failed` if one cannot be read, or if there is none */
export async function readStageFiles(path: string): Promise<StageFile[]> {
  const { stages, problems } = await parseStageFiles(path);
  if (problems.length > 0) throw importFailed(problems);
  if (stages.length === 0) {
    throw importFailed([
      `There is no stage in ${path}. A stage is a Markdown file that begins with its id and title between two "---" lines.`,
    ]);
  }
  return stages;
}

async function markdownFiles(path: string): Promise<string[]> {
  const info = await stat(path).catch(() => null);
  if (info === null) throw importFailed([`There is no file or folder ${path}.`]);
  if (info.isFile()) return [path];
  const names = await readdir(path, { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

interface StartPointDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'requireStartPoint'>;
}

/** Checks what git must accept, except for stages that have been started: those keep their branch. @throws Rejection `import_failed` */
export async function requireStartPoints(
  { store, worktrees }: StartPointDeps,
  project: Project,
  files: readonly StageFile[],
): Promise<void> {
  const problems: string[] = [];
  for (const { id, path, base = null, branch = null } of files) {
    if ((base === null && branch === null) || (await store.read.sessions.find(id)) !== null) continue;
    await worktrees.requireStartPoint(project, { base, branch }).catch((error: unknown) => {
      if (!(error instanceof Rejection)) throw error;
      problems.push(`${path}: ${error.message}`);
    });
    const twin = files.find((other) => branch !== null && other.branch === branch && other.id !== id);
    if (twin !== undefined) problems.push(`${path}: its branch ${branch} is also that of ${twin.path}`);
  }
  if (problems.length > 0) throw importFailed(problems);
}

interface PinDeps {
  store: Store;
  /** As `StagesDeps.requireMachine`. */
  requireMachine: (pin: string) => Promise<void>;
}

/** Checks that each machine in the files is there, except for stages that have been started. @throws Rejection `import_failed` */
export async function requirePins({ store, requireMachine }: PinDeps, files: readonly StageFile[]): Promise<void> {
  const problems: string[] = [];
  for (const { id, path, machine = null } of files) {
    if (machine === null || (await store.read.sessions.find(id)) !== null) continue;
    await requireMachine(machine).catch((error: unknown) => {
      if (!(error instanceof Rejection)) throw error;
      problems.push(
        `${path}: machine: ${error.message} Change the key, or take it out to leave the choice to Callboard.`,
      );
    });
  }
  if (problems.length > 0) throw importFailed(problems);
}
