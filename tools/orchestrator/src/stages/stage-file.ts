import { NewStage, StageId } from '@callboard/contract';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { z } from 'zod';

/** What the frontmatter of a stage's Markdown file may say; the body is the prompt. */
const Frontmatter = z.looseObject({
  id: StageId,
  title: NewStage.shape.title,
  depends_on: z
    .union([StageId, z.array(StageId)])
    .nullish()
    .transform((ids) => (ids == null ? [] : [ids].flat())),
  priority: NewStage.shape.priority,
  status: z.enum(['Not Started', 'In Progress', 'Complete', 'Skipped']).default('Not Started'),
  permission_mode: NewStage.shape.permissionMode,
  model: NewStage.shape.model,
  auto_start: NewStage.shape.autoStart,
});

/** A stage as its file describes it. */
export interface StageFile {
  path: string;
  id: StageId;
  title: string;
  prompt: string;
  dependsOn: StageId[];
  priority: number | undefined;
  /** `Complete` and `Skipped` stages are done: others may depend on them. */
  isDone: boolean;
  permissionMode: NewStage['permissionMode'];
  model: NewStage['model'];
  autoStart: boolean | undefined;
}

/** A file between `---` lines and a body; null for Markdown without frontmatter, which is no stage. */
const FRONTMATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n([\s\S]*))?$/;

/** Reads one file. Returns what is wrong with it, in words that name the place; null for Markdown that is no stage. */
export function parseStageFile(path: string, content: string): { stage: StageFile } | { problem: string } | null {
  const match = FRONTMATTER.exec(content);
  if (match === null) return null;
  const frontmatter = readYaml(match[1] ?? '');
  if (typeof frontmatter === 'string') return { problem: `${path}: ${frontmatter}` };
  const parsed = Frontmatter.safeParse(frontmatter.value);
  if (!parsed.success) return { problem: `${path}: ${z.prettifyError(parsed.error)}` };
  const prompt = (match[2] ?? '').trim();
  if (prompt === '') return { problem: `${path}: the body, which is the stage's prompt, is empty` };
  const { id, title, depends_on, priority, status, permission_mode, model, auto_start } = parsed.data;
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
      autoStart: auto_start,
    },
  };
}

function readYaml(text: string): { value: unknown } | string {
  try {
    return { value: parseYaml(text) };
  } catch (error) {
    if (error instanceof YAMLParseError) return error.message;
    throw error;
  }
}
