import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Rejection } from '../lib/errors.ts';
import { parseStageFile, type StageFile } from './stage-file.ts';

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
