import { createHash } from 'node:crypto';
import { NewStage, StageId, withoutBlankEnds } from '@callboard/contract';
import { parseDocument, parse as parseYaml, YAMLParseError } from 'yaml';
import { z } from 'zod';

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

/** The frontmatter of a stage's Markdown file. The body is the prompt. */
const Frontmatter = z.looseObject({
  id: text(StageId),
  title: text(NewStage.shape.title),
  depends_on: z
    .unknown()
    .transform((ids): unknown[] => (ids == null ? [] : [ids].flat()))
    .pipe(z.array(Dependency))
    .transform((ids) => [...new Set(ids)])
    .prefault(null),
  priority: NewStage.shape.priority,
  status: z.enum(['Not Started', 'In Progress', 'Complete', 'Skipped']).default('Not Started'),
  permission_mode: NewStage.shape.permissionMode,
  model: text(NewStage.shape.model).optional(),
  effort: NewStage.shape.effort,
  base: text(NewStage.shape.base).optional(),
  branch: text(NewStage.shape.branch).optional(),
  group: text(NewStage.shape.group).optional(),
  finish: NewStage.shape.finish,
  auto_start: NewStage.shape.autoStart,
  machine: text(NewStage.shape.machine).optional(),
  pipeline: text(z.string().trim().min(1, 'is empty')).optional(),
});

/** A stage, as described by its file. */
export interface StageFile {
  path: string;
  id: StageId;
  title: string;
  prompt: string;
  dependsOn: StageId[];
  priority: number | undefined;
  /** True for `Complete` and `Skipped`: stages that depend on it may start. */
  isDone: boolean;
  permissionMode: NewStage['permissionMode'];
  model: NewStage['model'];
  effort: NewStage['effort'];
  base: NewStage['base'];
  branch: NewStage['branch'];
  group: NewStage['group'];
  finish: NewStage['finish'];
  autoStart: boolean | undefined;
  /** The name or id of a machine; null: any; undefined: the file does not say. */
  machine: NewStage['machine'];
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
  const { id, title, depends_on, priority, status, permission_mode, auto_start } = parsed.data;
  const { model, effort, base, branch, group, finish, machine, pipeline } = parsed.data;
  return {
    stage: {
      path,
      id,
      title,
      prompt,
      dependsOn: depends_on,
      priority,
      isDone: status === 'Complete' || status === 'Skipped',
      permissionMode: permission_mode,
      model,
      effort,
      base,
      branch,
      group,
      finish,
      machine,
      pipeline,
      autoStart: auto_start,
      sign: fileSign(content),
      status,
      unknownKeys: Object.keys(parsed.data).filter((key) => !(key in Frontmatter.shape)),
    },
  };
}

/** Returns a sign that changes with the content of a file. */
export const fileSign = (content: string): string => createHash('sha256').update(content).digest('hex').slice(0, 16);

/** Returns a stage's file with other values of some keys, and another body unless that is null; everything else stays as written. */
export function withFields(content: string, fields: Record<string, unknown>, body: string | null): string {
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
