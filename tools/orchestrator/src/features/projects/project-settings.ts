import {
  commandsOf,
  mergedSettings,
  type NamedPipeline,
  type Project,
  type ProjectFile,
  type ProjectId,
  pipelinesOf,
  type SettingsProblem,
  type Stage,
  type StageId,
  type TrustItem,
  WORKSPACE_KEYS,
  WorkspaceFile,
  type WorkspaceKey,
  type WorkspaceSettings,
  type Worktree,
} from '@callboard/contract';
import { type Document, isMap, isPair, isScalar, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { Rejection } from '../../lib/errors.ts';
import { requireProject, requireStage, type Store } from '../../store/store.ts';

/** The file in the root of a repository that says how its worktrees are set up. */
const FILE_NAME = 'callboard.yaml';

/** What a file says. With problems, nothing of it is used. */
export interface ParsedFile {
  settings: WorkspaceFile;
  problems: SettingsProblem[];
}

/** A file for people is shorter. */
const MAX_LENGTH = 100_000;
/** Aliases can expand a few lines without end. */
const ALIASES = 50;
const MAX_PROBLEMS = 20;

/** Parses the text of a `callboard.yaml`. Never throws. */
export function parseFile(text: string): ParsedFile {
  const refuse = (...problems: SettingsProblem[]): ParsedFile => ({
    settings: {},
    problems: problems.slice(0, MAX_PROBLEMS),
  });
  if (text.length > MAX_LENGTH)
    return refuse({ line: 1, key: '', message: 'The file is longer than 100,000 characters.' });
  const lines = new LineCounter();
  const read = readDocument(text, lines);
  if (typeof read === 'string') return refuse({ line: 1, key: '', message: sentence(read) });
  const lineAt = (offset: number | undefined) => Math.max(1, lines.linePos(offset ?? 0).line);
  if (read.document.errors.length > 0)
    return refuse(
      ...read.document.errors.map(({ pos, message }) => ({
        line: lineAt(pos[0]),
        key: '',
        message: sentence(message.split(/ at line \d|\n/, 1)[0] ?? ''),
      })),
    );
  const parsed = WorkspaceFile.safeParse(withLongForms(read.value ?? {}));
  if (parsed.success) return { settings: parsed.data, problems: [] };
  const place = (path: readonly PropertyKey[]) => lineAt(offsetOf(read.document, path));
  // A key that is misspelled comes before the one that is missing because of it.
  const issues = parsed.error.issues.toSorted((a, b) => Number(isUnknown(b)) - Number(isUnknown(a)));
  return refuse(...issues.flatMap((issue) => problemsOf(issue, place)));
}

function readDocument(text: string, lineCounter: LineCounter): { document: Document; value: unknown } | string {
  try {
    const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'silent', stringKeys: true });
    return { document, value: document.errors.length > 0 ? null : document.toJS({ maxAliasCount: ALIASES }) };
  } catch (error) {
    return error instanceof Error ? error.message : 'The file cannot be read.';
  }
}

/** Allows `setup: npm ci` for `setup: { command: npm ci }`, and `10m` for 600; likewise for dev servers and for checks. */
const withLongForms = (value: unknown): unknown =>
  changed(value, {
    setup: longForm,
    cleanup: longForm,
    devServers: (servers) => eachOf(servers, longForm),
    pipelines: (pipelines) => eachOf(pipelines, (pipeline) => changed(pipeline, { phases: withLongChecks })),
  });

const withLongChecks = (phases: unknown): unknown =>
  Array.isArray(phases)
    ? phases.map((phase: unknown) => changed(phase, { gate: (gate) => changed(gate, { check: longForm }) }))
    : phases;

/** Returns the keys with these values changed, as far as they are there. */
function changed(value: unknown, changes: Readonly<Record<string, (value: unknown) => unknown>>): unknown {
  if (!isRecord(value)) return value;
  const now = Object.entries(value).map(([key, own]) => [key, Object.hasOwn(changes, key) ? changes[key]?.(own) : own]);
  return Object.fromEntries(now);
}

const eachOf = (value: unknown, change: (value: unknown) => unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)])) : value;

function longForm(value: unknown): unknown {
  if (typeof value === 'string') return { command: value };
  if (!isRecord(value) || typeof value.timeLimit !== 'string') return value;
  const [, amount, unit = 's'] = /^(\d{1,6})\s*([smh])$/.exec(value.timeLimit) ?? [];
  return amount === undefined ? value : { ...value, timeLimit: Number(amount) * (SECONDS[unit] ?? 1) };
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function problemsOf(issue: z.core.$ZodIssue, lineOf: (path: readonly PropertyKey[]) => number): SettingsProblem[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => {
      const path = [...issue.path, name];
      return { line: lineOf(path), key: keyOf(path), message: 'There is no such key.' };
    });
  return [{ line: lineOf(issue.path), key: keyOf(issue.path), message: sentence(messageOf(issue)) }];
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.path.at(-1) === 'timeLimit' && issue.code === 'invalid_type')
    return 'must be a number of seconds, or a duration such as "90s", "10m" or "1h"';
  switch (issue.code) {
    case 'invalid_type':
      if (!/^Invalid input/.test(issue.message)) return issue.message;
      return /received undefined$/.test(issue.message)
        ? 'is missing'
        : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    default:
      return issue.message;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  object: 'keys with values',
  record: 'names with values',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

const isUnknown = ({ code }: z.core.$ZodIssue): boolean => code === 'unrecognized_keys';

const keyOf = (path: readonly PropertyKey[]): string => path.map(String).join('.');

/** Where a key stands, or as much of its path as there is. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const key of path) {
    const pair = isMap(node)
      ? node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(key))
      : undefined;
    if (pair !== undefined && isScalar(pair.key)) {
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
      continue;
    }
    const items =
      typeof node === 'object' && node !== null && 'items' in node && Array.isArray(node.items) ? node.items : [];
    const item: unknown = typeof key === 'number' ? items[key] : undefined;
    if (typeof item !== 'object' || item === null) return offset;
    if ('range' in item && Array.isArray(item.range) && typeof item.range[0] === 'number') offset = item.range[0];
    node = item;
  }
  return offset;
}

/** As a sentence: messages of the schema go behind a name elsewhere ("is empty"). */
function sentence(message: string): string {
  const text = /^(is|must|has|holds|cannot|are) /.test(message) ? `It ${message}` : message;
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** The settings in force, and where they come from. */
export interface EffectiveSettings {
  settings: WorkspaceSettings;
  /** The keys that `callboard.yaml` decides. */
  fromFile: WorkspaceKey[];
  /** Why the file cannot be used; then none of it is. */
  problems: SettingsProblem[];
  /** Whether people agreed to everything that the file would run. */
  isAgreed: boolean;
  /** All pipelines to choose from, those of the file first. */
  pipelines: NamedPipeline[];
}

/** The pipelines to choose from at one commit. */
export interface OfferedPipelines extends Pick<EffectiveSettings, 'pipelines' | 'problems' | 'isAgreed'> {
  /** Where `callboard.yaml` was read; null: at the main checkout's current commit. */
  at: string | null;
}

/** What a repository's file says, and what of that needs a person's agreement. */
export interface FileOfRepository {
  /** Null: there is none. */
  file: ProjectFile | null;
  items: FileItem[];
}

/** Reads the settings of projects: those that people made, and those in the repository, which win. */
export interface StageSettings {
  /** The settings of a stage: its file is that of the commit that its worktree began at. @throws Rejection `unknown_stage` */
  ofStage(stageId: StageId): Promise<EffectiveSettings>;
  /**
   * The pipelines that a stage may name: the file is that of the commit at which its worktree began, or would begin by what was
   * fetched last. @throws Rejection `unknown_project`
   */
  pipelinesFor(projectId: ProjectId, stage: Pick<Stage, 'base' | 'worktree'>): Promise<OfferedPipelines>;
  /** The settings of new stages: the file is that of the main checkout's current commit. @throws Rejection `unknown_project` */
  ofProject(projectId: ProjectId): Promise<EffectiveSettings>;
  /**
   * As `ofStage`, for running something.
   * @param key what is to be run: agreement is needed if the file decides it; without a key, if the file runs anything
   * @throws Rejection `settings_invalid`, `settings_not_agreed`
   */
  requireUsable(stageId: StageId, key?: WorkspaceKey): Promise<WorkspaceSettings>;
  /**
   * The settings in force for a stage that is about to get its worktree; of one that a person starts without set-up, if the file
   * cannot be used, those that people made. @throws Rejection `settings_invalid`
   */
  ofNewStage(stage: Stage): Promise<WorkspaceSettings>;
  /** Reads the file; with a worktree, that of the commit it began at. */
  fileOf(project: Project, worktree: Worktree | null): Promise<FileOfRepository>;
}

const offered = ({ pipelines, problems, isAgreed }: EffectiveSettings, at: string | null): OfferedPipelines => ({
  pipelines,
  problems,
  isAgreed,
  at,
});

const NO_FILE: ParsedFile = { settings: {}, problems: [] };

export function createStageSettings({
  store,
  worktrees,
}: {
  store: Pick<Store, 'read'>;
  worktrees: Pick<Worktrees, 'fileAt' | 'knownBase'>;
}): StageSettings {
  async function read(project: Project, revision: string): Promise<ParsedFile | null> {
    const text = await worktrees.fileAt(project, revision, FILE_NAME);
    return text === null ? null : parseFile(text);
  }

  async function effective(project: Project, revision: string): Promise<EffectiveSettings> {
    const { settings: file, problems } = (await read(project, revision)) ?? NO_FILE;
    const agreed = (await store.read.agreed.find(project.id))?.commands ?? [];
    return {
      settings: mergedSettings(project.settings, file),
      fromFile: WORKSPACE_KEYS.filter((key) => file[key] !== undefined),
      problems,
      isAgreed: fileItems(file).every((item) => agreed.includes(itemKey(item))),
      pipelines: pipelinesOf({ file: file.pipelines ?? {}, own: project.settings.pipelines }),
    };
  }

  async function ofStage(stageId: StageId): Promise<EffectiveSettings> {
    const stage = await requireStage(store.read, stageId);
    const project = await requireProject(store.read, stage.projectId);
    return effective(project, stage.worktree?.base ?? stage.base ?? 'HEAD');
  }

  return {
    ofStage,
    async pipelinesFor(projectId, { base, worktree }) {
      const project = await requireProject(store.read, projectId);
      const begun = worktree?.base ?? base;
      if (begun !== null) return offered(await effective(project, begun), begun);
      const current = await effective(project, 'HEAD');
      const at = await worktrees.knownBase(project, current.settings);
      return offered(at === null ? current : await effective(project, at), at);
    },
    ofProject: async (projectId) => effective(await requireProject(store.read, projectId), 'HEAD'),
    async ofNewStage(stage) {
      const { settings, problems } = await effective(await requireProject(store.read, stage.projectId), 'HEAD');
      if (problems.length > 0 && stage.setup !== 'skipped')
        throw new Rejection('settings_invalid', problemText(problems));
      return settings;
    },
    async requireUsable(stageId, key) {
      const { settings, problems, isAgreed, fromFile } = await ofStage(stageId);
      const [problem] = problems;
      if (problem !== undefined) throw new Rejection('settings_invalid', problemText(problems));
      const isNeeded = key === undefined || fromFile.includes(key);
      if (!isAgreed && isNeeded) throw new Rejection('settings_not_agreed', NOT_AGREED);
      return settings;
    },
    async fileOf(project, worktree) {
      const found = await read(project, worktree?.base ?? 'HEAD');
      return found === null ? { file: null, items: [] } : { file: found, items: fileItems(found.settings) };
    },
  };
}

const NOT_AGREED = `Nobody has agreed yet to what ${FILE_NAME} of this repository would run. Review it on the project's Rules page.`;

/** Names the first problem with its place, and counts the others. */
function problemText(problems: readonly SettingsProblem[]): string {
  const [first, ...others] = problems;
  if (first === undefined) return '';
  const key = first.key === '' ? '' : `, ${first.key}`;
  const more = others.length === 0 ? '' : ` There ${others.length === 1 ? 'is 1 more' : `are ${others.length} more`}.`;
  return `${FILE_NAME} cannot be used (line ${first.line}${key}): ${first.message}${more} Fix it in the commit that the stage starts from.`;
}

/** One thing that `callboard.yaml` switches on. */
export interface FileItem extends Omit<TrustItem, 'isNew'> {
  /** Nothing further that may name files: what a command runs is the work of the stages themselves. */
  commands: readonly [];
}

const item = (kind: TrustItem['kind'], text: string, value: string): FileItem => ({
  kind,
  text,
  value,
  file: FILE_NAME,
  commands: [],
});

/** Lists what a person has to agree to before anything of it is used. */
function fileItems({ setup, cleanup, devServers, caches, pipelines, finish }: WorkspaceFile): FileItem[] {
  return [
    ...(setup ? [item('command', 'Sets up each new worktree, before Claude starts.', setup.command)] : []),
    ...(cleanup ? [item('command', 'Cleans up a worktree when its stage is done.', cleanup.command)] : []),
    ...Object.entries(devServers ?? {}).map(([name, { command }]) =>
      item('command', `The dev server “${name}”, which people start.`, command),
    ),
    ...Object.entries(pipelines ?? {}).flatMap(([pipeline, steps]) => [
      ...commandsOf(steps).map(({ name, command }) => item('command', `Checks “${name}” of “${pipeline}”.`, command)),
      ...finishItem(`Stages of “${pipeline}” finish by themselves when their last phase is over.`, steps.finish),
    ]),
    ...(caches ?? []).map((path) => item('directory', 'A folder that commands in the sandbox may write to.', path)),
    ...finishItem('Stages finish by themselves when their last phase is over.', finish),
  ];
}

const finishItem = (text: string, finish: WorkspaceFile['finish']): FileItem[] =>
  finish === undefined || finish === 'none' ? [] : [item('other', text, finish)];

/** Identifies an item in what a person agreed to. */
const itemKey = ({ text, value }: Pick<FileItem, 'text' | 'value'>): string => `${text}\n${value}`;
