import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of all packages. */
const TOOLS = fileURLToPath(new URL('../../../', import.meta.url));

/** One import of a source file. */
export interface Import {
  /** Relative to the folder of packages, with slashes: `orchestrator/src/main.ts`. */
  from: string;
  /** The same for a project file; otherwise the module's name, for example `zod` or `node:fs`. */
  to: string;
  isOurs: boolean;
  /** Whether nothing of it is left at run time. */
  isTypeOnly: boolean;
}

export interface SourceFile {
  path: string;
  lines: number;
  isTest: boolean;
  text: string;
  imports: Import[];
}

const STATEMENT = /^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;
const SKIPPED = new Set(['node_modules', 'dist', 'generated']);

/** Returns all TypeScript files below a folder; the folder is relative to the folder of packages. */
export function sourcesBelow(folder: string): SourceFile[] {
  return readdirSync(join(TOOLS, folder), { withFileTypes: true }).flatMap((entry): SourceFile[] => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : sourcesBelow(path);
    return /\.tsx?$/.test(entry.name) ? [sourceFile(path)] : [];
  });
}

function sourceFile(path: string): SourceFile {
  const text = readFileSync(join(TOOLS, path), 'utf8');
  const isTest = /\.test\.tsx?$/.test(path) || path.split('/').includes('test');
  const statements = [...text.matchAll(STATEMENT)].map(([, type, name = '']) => ({ name, isTypeOnly: Boolean(type) }));
  const dynamic = [...text.matchAll(DYNAMIC)].map(([, name = '']) => ({ name, isTypeOnly: false }));
  const imports = [...statements, ...dynamic].map(({ name, isTypeOnly }): Import => {
    const isOurs = name.startsWith('.');
    const to = isOurs
      ? relative(TOOLS, resolve(TOOLS, dirname(path), name))
          .split(sep)
          .join('/')
      : name;
    return { from: path, to, isOurs, isTypeOnly };
  });
  return { path, lines: text.split('\n').length - 1, isTest, text, imports };
}

/** Returns every cycle of files that import each other, as the path around it; ideally there is none. */
export function cyclesOf(files: readonly SourceFile[]): string[] {
  const importsOf = new Map(files.map((file) => [file.path, file.imports.filter((one) => one.isOurs)]));
  const finished = new Set<string>();
  const rings: string[] = [];
  function visit(path: string, way: readonly string[]): void {
    const start = way.indexOf(path);
    if (start !== -1) rings.push([...way.slice(start), path].join(' -> '));
    if (start !== -1 || finished.has(path)) return;
    for (const { to } of importsOf.get(path) ?? []) visit(to, [...way, path]);
    finished.add(path);
  }
  for (const { path } of files) visit(path, []);
  return rings;
}
