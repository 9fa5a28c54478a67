/**
 * Writes the lists of request kinds from the names of the files that define them. Run it after adding or removing a kind:
 * `node scripts/write-kinds.ts`.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const HEAD = '// Written by scripts/write-kinds.ts from the names of the files that define a kind. Do not edit.';
const NAMES = 'tools/contract/src/generated/request-kinds.ts';
const EVENTS = 'tools/contract/src/generated/request-events.ts';

/** Where a side defines its kinds, one file each. */
interface Side {
  folder: string;
  extension: string;
  /** The type of a definition. */
  type: string;
}

const ORCHESTRATOR: Side = {
  folder: 'tools/orchestrator/src/core/kinds',
  extension: '.ts',
  type: 'RequestKindDefinition',
};
const CLIENT: Side = {
  folder: 'tools/web-server/src/client/features/approvals/kinds',
  extension: '.tsx',
  type: 'RequestKindView',
};
const SIDES = [ORCHESTRATOR, CLIENT];

const LINE_WIDTH = 120;

/** Every file of the folder is a kind, but for the registry and tests. */
const kindsOf = (root: string, { folder, extension }: Side): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(extension) && !name.includes('.test.') && !name.startsWith('registry.'))
    .map((name) => name.slice(0, -extension.length))
    .toSorted();

/** Keeps the order of the kinds that are listed already, which the documents and the board show; new ones come last. */
function inOrder(root: string, kinds: readonly string[]): string[] {
  const listed = [...readFileSync(join(root, NAMES), 'utf8').matchAll(/'([a-z][a-z-]*)'/g)].map(([, name]) => name);
  const place = (name: string) => (listed.includes(name) ? listed.indexOf(name) : listed.length);
  return kinds.toSorted((a, b) => place(a) - place(b));
}

const camelCase = (name: string): string => name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

function namesFile(kinds: readonly string[]): string {
  const start = 'export const REQUEST_KINDS = ';
  const texts = kinds.map((kind) => `'${kind}'`);
  const inOneLine = `${start}[${texts.join(', ')}] as const;`;
  const inLines = `${start}[\n${texts.map((text) => `  ${text},`).join('\n')}\n] as const;`;
  return `${HEAD}\n\n${inOneLine.length <= LINE_WIDTH ? inOneLine : inLines}\n`;
}

const eventsFile = (kinds: readonly string[]): string => `${HEAD}
import { PendingRequest } from '../approvals.ts';

/** The data of the event that tells of a new request, by the event's name. */
export const requestEvents = {
${kinds.map((kind) => `  '${kind}-requested': PendingRequest,`).join('\n')}
} as const;
`;

function registryFile(kinds: readonly string[], { extension, type }: Side): string {
  const imports = kinds.toSorted().map((kind) => `import { ${camelCase(kind)} } from './${kind}${extension}';`);
  const entries = kinds.map((kind) => (kind === camelCase(kind) ? kind : `'${kind}': ${camelCase(kind)}`));
  return `${HEAD}
import type { RequestKind } from '@callboard/contract';
${imports.join('\n')}
import type { ${type} } from './shared/definition.ts';

export const requestKinds: Readonly<Record<RequestKind, ${type}>> = {
${entries.map((entry) => `  ${entry},`).join('\n')}
};
`;
}

/**
 * The generated files, by path, as they should be.
 * @throws Error when a side lacks a kind that the other one has
 */
export function kindFiles(root: string): Map<string, string> {
  const kinds = inOrder(root, kindsOf(root, ORCHESTRATOR));
  for (const side of SIDES) {
    const found = kindsOf(root, side);
    const lacking = kinds.filter((kind) => !found.includes(kind));
    if (lacking.length > 0) throw new Error(`${side.folder} lacks ${lacking.join(', ')}`);
    const unknown = found.filter((kind) => !kinds.includes(kind));
    if (unknown.length > 0) throw new Error(`${ORCHESTRATOR.folder} lacks ${unknown.join(', ')}`);
  }
  return new Map([
    [NAMES, namesFile(kinds)],
    [EVENTS, eventsFile(kinds)],
    ...SIDES.map((side): [string, string] => [`${side.folder}/registry.ts`, registryFile(kinds, side)]),
  ]);
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  for (const [path, text] of kindFiles(root)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}
