import type {
  Project,
  ProjectFile,
  ProjectId,
  ProjectTrust,
  StageId,
  TrustItem,
  TrustKind,
  Worktree,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import type { LaunchTrust, LaunchTrustSource } from '../../core/launch/prepare-launch.ts';
import { inMainCheckout, LOCAL, type RepositorySettings, SHARED } from '../../core/worktrees/repository-files.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { forEachAtOnce } from '../../lib/async.ts';
import { AppError, Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import type { AgreedSettings, LaunchSettings } from '../../store/records.ts';
import { requireProject, type Store, type Tx } from '../../store/store.ts';
import {
  ALLOWED,
  contentOf,
  excludedCommands,
  type FingerprintedItem,
  type Found,
  HARMLESS,
  isObject,
  itemsOf,
  parseSettings,
  sha256,
  type TrustContent,
  userItems,
  userRules,
  userSettings,
  userSettingsPath,
} from './settings-items.ts';

export interface TrustDeps extends SettingsSources {
  log: Logger;
  /** Reads Callboard's own file in the repository; with a worktree, in the commit it began at. */
  fileOf: (project: Project, worktree: Worktree | null) => Promise<{ file: ProjectFile | null; items: Found[] }>;
}

/** Which of a repository's own settings people agreed to, and what a launch gets because of that. */
export interface Trust extends ChangesSinceLaunch, LaunchTrustSource {
  /** Refreshes all projects after a start. A repository that cannot be read keeps its last known state. */
  refreshAll(): Promise<void>;
  /** Reads the settings of the repository and stores their state in the project. @throws Rejection `unknown_project` */
  refresh(projectId: ProjectId): Promise<Project>;
  /** Reads the settings in the worktree of a stage. @throws Rejection `unknown_project`, `unknown_stage` */
  inspectStage(projectId: ProjectId, stageId: StageId): Promise<ProjectTrust>;
  /**
   * Agrees to exactly the settings with this hash, in the repository or in the worktree of one of its stages.
   * @throws Rejection `unknown_project`, `trust_changed`
   */
  agree(projectId: ProjectId, hash: string, by: string): Promise<Project>;
  /**
   * Agrees to these rules and folders alone, as far as the settings of the main checkout or of the user have them now.
   * @throws Rejection `unknown_project`
   */
  agreeToRules(projectId: ProjectId, rules: readonly string[]): Promise<Project>;
}

interface Inspected extends ReviewedSettings {
  settings: RepositorySettings;
  file: ProjectFile | null;
}

const CHANGED = 'The settings have changed since you looked, so nothing was trusted. Review them again.';

/** How many commands of one repository stay agreed, on all its branches. */
const MAX_COMMANDS = 1_000;

/** How many states of a repository, on its branches, stay agreed. */
const MAX_CONTENTS = 100;

/** Each inspection takes several calls of git. */
const INSPECTIONS_AT_ONCE = 4;

const NOTHING_AGREED: AgreedSettings = { contents: [], personal: [], commands: [], adopt: null };

export function createTrust(deps: TrustDeps): Trust {
  const { store, log } = deps;
  const { inspect, find } = createInspection(deps);

  async function refresh(projectId: ProjectId): Promise<Project> {
    const project = await requireProject(store.read, projectId);
    let inspected = await inspect(project, null);
    if (inspected.agreed.adopt !== null) {
      await adopt(projectId, inspected);
      inspected = await inspect(project, null);
    }
    const state = { trust: viewOf(inspected), file: inspected.file };
    if (JSON.stringify(state) === JSON.stringify({ trust: project.trust, file: project.file })) return project;
    return store.transact(async (tx) => {
      const found = await tx.projects.find(projectId);
      const updated = { ...(found ?? project), ...state };
      if (found === null) return updated;
      await tx.projects.save(updated);
      await tx.emit({ type: 'project-updated', data: { projectId, project: updated } });
      return updated;
    });
  }

  const adopt = (projectId: ProjectId, { content, agreed }: Inspected) =>
    store.transact(async (tx) => {
      const personal = content.personal.map(personalKey);
      await tx.agreed.save(projectId, { ...agreed, personal, adopt: null });
      if (agreed.adopt === 'all' && content.hash !== '')
        await saveAgreement(tx, projectId, { content, ofFile: [] }, null);
    });

  return {
    ...createChangesSinceLaunch(deps),
    refresh,
    async refreshAll() {
      await forEachAtOnce(await store.read.projects.list(), INSPECTIONS_AT_ONCE, async ({ id }) => {
        await refresh(id).catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          log.warn({ reason: messageOf(error), projectId: id }, 'could not read the settings of a repository');
        });
      });
    },
    async inspectStage(projectId, stageId) {
      const project = await requireProject(store.read, projectId);
      const stage = await store.read.stages.find(stageId);
      if (stage === null || stage.projectId !== projectId)
        throw new Rejection('unknown_stage', `There is no stage ${stageId} in ${projectId}.`);
      return viewOf(await inspect(project, stage.worktree));
    },
    async agree(projectId, hash, by) {
      const inspected = await find(await requireProject(store.read, projectId), hash);
      if (inspected === null) throw new Rejection('trust_changed', CHANGED);
      await store.transact(async (tx) => {
        await saveAgreement(tx, projectId, inspected, by);
        if ((await tx.agreed.find('user')) !== null)
          await addPersonal(tx, 'user', inspected.newOfUser.map(personalKey));
      });
      return refresh(projectId);
    },
    async forLaunch(project, worktree) {
      await agreeToUser(deps);
      return trustForLaunch(deps, project, worktree, await inspect(project, worktree));
    },
    async agreeToRules(projectId, rules) {
      const { content, newOfUser } = await inspect(await requireProject(store.read, projectId), null);
      const wanted = (items: readonly Found[]) => items.filter(({ value }) => rules.includes(value)).map(personalKey);
      await store.transact(async (tx) => {
        for (const [scope, keys] of [
          [projectId, wanted(content.personal)],
          ['user', wanted(newOfUser)],
        ] as const)
          if (keys.length > 0) await addPersonal(tx, scope, keys);
      });
      return refresh(projectId);
    },
  };
}

/** Reads settings from disk beside what was agreed to. */
function createInspection({ store, worktrees, env, fileOf }: TrustDeps) {
  async function newOfUser(): Promise<Found[]> {
    const known = await store.read.agreed.find('user');
    if (known === null) return [];
    return (await userRules(env)).filter((rule) => !known.personal.includes(personalKey(rule)));
  }

  /** @param worktree null inspects the repository itself */
  async function inspect(project: Project, worktree: Worktree | null): Promise<Inspected> {
    const settings = await worktrees.settings(project, worktree);
    const content = await contentOf(settings);
    const agreed = (await store.read.agreed.find(project.id)) ?? NOTHING_AGREED;
    const { file, items: ofFile } = await fileOf(project, worktree);
    return { settings, content, agreed, newOfUser: await newOfUser(), file, ofFile };
  }

  /** Finds the settings with this hash: the repository first, then the worktrees of its stages, whose branches may differ. */
  async function find(project: Project, hash: string): Promise<Inspected | null> {
    const stages = (await store.read.stages.list()).filter(({ projectId }) => projectId === project.id);
    const found = await inspect(project, null);
    if (viewOf(found).hash === hash) return found;
    for (const { worktree } of stages) {
      if (worktree === null) continue;
      const inspected = await inspect(project, worktree);
      if (viewOf(inspected).hash === hash) return inspected;
    }
    return null;
  }

  return { inspect, find };
}

async function trustForLaunch(
  deps: TrustDeps,
  project: Project,
  worktree: Worktree,
  { settings, content, newOfUser, agreed }: Inspected,
): Promise<LaunchTrust> {
  const isPersonalAgreed = (item: Found) => agreed.personal.includes(personalKey(item));
  const agreement = { content, isTrusted: isTrusted({ content, agreed }), isPersonalAgreed, newOfUser };
  const files = await deps.worktrees.settingsFiles(project, worktree);
  const present = [...files.flatMap(itemsOf), ...(await userItems(deps.env))];
  const rules = present.flatMap(({ kind, value }) => (kind === 'rule' ? [value] : []));
  const given = await launchTrust(agreement, settings, worktree.path);
  const excluded = await excludedIn(deps, project, worktree, given.leftOut !== null);
  return { ...given, excluded, atLaunch: { items: present.map(itemKey), rules } };
}

/** Agrees to the user's own settings as they are at the very first launch: nothing that Claude ran can have written them. */
async function agreeToUser({ store, env }: TrustDeps): Promise<void> {
  if ((await store.read.agreed.find('user')) !== null) return;
  const personal = (await userRules(env)).map(personalKey);
  await store.transact(async (tx) => {
    if ((await tx.agreed.find('user')) === null) await tx.agreed.save('user', { ...NOTHING_AGREED, personal });
  });
}

async function saveAgreement(
  tx: Tx,
  projectId: ProjectId,
  { content, ofFile }: Pick<Inspected, 'content' | 'ofFile'>,
  by: string | null,
): Promise<void> {
  const agreed = (await tx.agreed.find(projectId)) ?? NOTHING_AGREED;
  const fingerprints = content.items.map(({ fingerprint }) => fingerprint);
  const others = agreed.contents.filter(({ hash }) => hash !== content.hash);
  const contents =
    content.hash === ''
      ? agreed.contents
      : [...others, { hash: content.hash, fingerprints, by, at: tx.now }].slice(-MAX_CONTENTS);
  const commands = [...new Set([...agreed.commands, ...ofFile.map(commandKey)])].slice(-MAX_COMMANDS);
  const personal = content.personal.map(personalKey);
  await tx.agreed.save(projectId, { ...agreed, adopt: null, contents, personal, commands });
}

async function addPersonal(tx: Tx, scope: ProjectId | 'user', keys: readonly string[]): Promise<void> {
  const known = (await tx.agreed.find(scope)) ?? NOTHING_AGREED;
  await tx.agreed.save(scope, { ...known, personal: [...new Set([...known.personal, ...keys])] });
}

/** A setting that was added to a settings file while a session ran. */
export interface AddedSetting extends Pick<Found, 'kind' | 'value' | 'file'> {
  /** A person has agreed to it meanwhile. */
  isAgreed: boolean;
}

/** Compares the settings files of a running session with their state at its launch. */
export interface ChangesSinceLaunch {
  /** Returns what was added to the settings files since the launch; nothing if their state at the launch is unknown. */
  addedSince(stageId: StageId, launch: LaunchSettings): Promise<AddedSetting[]>;
  /** Returns commands that settings files let run outside the sandbox now, and did not at the launch. */
  newlyExcluded(stageId: StageId, launch: LaunchSettings): Promise<string[]>;
  /** Returns the files that both read, whether they exist or not; none for a stage without a worktree. */
  settingsPaths(stageId: StageId): Promise<string[]>;
}

export interface SettingsSources {
  store: Store;
  worktrees: Worktrees;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
}

/** Identifies an item of a settings file. */
const itemKey = ({ kind, value, file }: Pick<Found, 'kind' | 'value' | 'file'>) => `${file} ${kind}:${value}`;

/**
 * Returns the commands that settings files let run outside the sandbox.
 * @param userOnly ignores the files of the repository
 */
async function excludedIn(
  { worktrees, env }: Pick<SettingsSources, 'worktrees' | 'env'>,
  project: Project,
  worktree: Worktree,
  userOnly: boolean,
): Promise<string[]> {
  const files = userOnly ? [] : await worktrees.settingsFiles(project, worktree);
  return [...new Set([...files.map(({ text }) => text), await userSettings(env)].flatMap(excludedCommands))];
}

function createChangesSinceLaunch(sources: SettingsSources): ChangesSinceLaunch {
  const { store, worktrees, env } = sources;

  async function locationOf(stageId: StageId): Promise<{ project: Project; worktree: Worktree } | null> {
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    return stage === null || stage.worktree === null || project === null ? null : { project, worktree: stage.worktree };
  }

  return {
    async addedSince(stageId, launch) {
      const place = launch.isKnown ? await locationOf(stageId) : null;
      if (place === null) return [];
      const { project, worktree } = place;
      const files = (await worktrees.settingsFiles(project, worktree)).flatMap((file) =>
        itemsOf(file).map((item) => ({ item, scope: file.isPersonal ? project.id : null })),
      );
      const users = (await userItems(env)).map((item) => ({ item, scope: 'user' as const }));
      const before = new Set(launch.items);
      const added = [...files, ...users].filter(({ item }) => !before.has(itemKey(item)));
      return Promise.all(
        added.map(async ({ item: { kind, value, file }, scope }) => {
          const agreed = scope === null ? null : await store.read.agreed.find(scope);
          return { kind, value, file, isAgreed: agreed?.personal.includes(`${kind}:${value}`) ?? false };
        }),
      );
    },
    async newlyExcluded(stageId, launch) {
      const place = launch.isSandboxed ? await locationOf(stageId) : null;
      if (place === null) return [];
      const now = await excludedIn(sources, place.project, place.worktree, !launch.readsRepository);
      return now.filter((command) => !launch.excluded.includes(command));
    },
    async settingsPaths(stageId) {
      const place = await locationOf(stageId);
      return place === null ? [] : [...worktrees.settingsPaths(place.project, place.worktree), userSettingsPath(env)];
    },
  };
}

interface Agreed {
  content: TrustContent;
  isTrusted: boolean;
  isPersonalAgreed: (item: FingerprintedItem) => boolean;
  newOfUser: Found[];
}

async function launchTrust(
  { content, isTrusted, isPersonalAgreed, newOfUser }: Agreed,
  settings: RepositorySettings,
  worktree: string,
): Promise<Omit<LaunchTrust, 'atLaunch' | 'excluded'>> {
  const agreed = content.personal.filter(isPersonalAgreed);
  const newOfCheckout = content.personal.filter((item) => !isPersonalAgreed(item));
  const newPersonal = [...newOfCheckout, ...newOfUser];
  if (isTrusted) {
    // Claude Code ignores the rules of a committed file unless the folder was trusted in a terminal, and sometimes reads
    // those of the main checkout too late for the first turn (both tried).
    const rules = [...content.items.filter(({ text, kind }) => text === ALLOWED || kind === 'directory'), ...agreed];
    return {
      leftOut: null,
      ...allowed(rules, worktree),
      ask: [
        ...newOfCheckout.map((item) => asking(item, worktree)),
        ...newOfUser.map((item) => asking(item, null)),
      ].flat(),
      deny: [],
      preferences: {},
      newPersonal,
      hasHooks: content.items.some(({ kind }) => kind === 'hook'),
    };
  }
  const { deny, ask } = restrictions(settings, worktree);
  return {
    leftOut: { summary: summaryOf(content.items), unavailable: await unavailable(settings) },
    ...allowed(agreed, worktree),
    ask: [...ask, ...newOfUser.flatMap((item) => asking(item, null))],
    deny,
    preferences: harmlessSettings(settings),
    newPersonal,
    hasHooks: false,
  };
}

function allowed(items: readonly Found[], worktree: string): { allow: string[]; directories: string[] } {
  const of = (kind: Found['kind']) => items.filter((item) => item.kind === kind).map(({ value }) => value);
  return {
    allow: [...new Set(of('rule').map((rule) => placedRule(rule, worktree)))],
    directories: [...new Set(of('directory'))],
  };
}

/** Returns ask rules, which win over allow rules for the same call (tried). @param worktree null if the rule is in the user's own settings */
function asking({ kind, value }: Found, worktree: string | null): string[] {
  if (kind === 'directory') return value.startsWith('/') ? [`Read(/${value}/**)`, `Edit(/${value}/**)`] : [];
  return [worktree === null ? value : placedRule(value, worktree)];
}

/** What a launch still gets of settings files that are left out, and what it lacks without them. */

/** Later files override earlier ones. */
const FILES = [SHARED, LOCAL, inMainCheckout(LOCAL)];

const settingsIn = ({ files }: RepositorySettings) =>
  FILES.flatMap((name) => {
    const text = files.find((file) => file.name === name)?.text;
    return text === undefined ? [] : [parseSettings(text) ?? {}];
  });

/** Returns the deny and ask rules, which hold whether or not anybody trusts the rest. */
export function restrictions(settings: RepositorySettings, worktree: string): { deny: string[]; ask: string[] } {
  const rules = (key: 'deny' | 'ask') =>
    settingsIn(settings).flatMap(({ permissions }) => {
      const given = isObject(permissions) ? permissions[key] : undefined;
      return Array.isArray(given) ? given.filter((rule) => typeof rule === 'string') : [];
    });
  const placed = (key: 'deny' | 'ask') => [...new Set(rules(key).map((rule) => placedRule(rule, worktree)))];
  return { deny: placed('deny'), ask: placed('ask') };
}

/** Returns the preferences that switch nothing on. */
function harmlessSettings(settings: RepositorySettings): Record<string, unknown> {
  const all = settingsIn(settings).flatMap((parsed) => Object.entries(parsed).filter(([key]) => HARMLESS.has(key)));
  return Object.fromEntries(all);
}

const FILE_TOOLS = /^(Read|Edit|Write|MultiEdit|NotebookEdit|NotebookRead|Glob|Grep|LS)\(\/(?!\/)/;

/**
 * Returns a rule for the command line: in a settings file `Read(/src/**)` is relative to the folder of that file, on the
 * command line it is not (tried).
 */
const placedRule = (rule: string, worktree: string): string =>
  rule.replace(FILE_TOOLS, (_whole, tool: string) => `${tool}(/${worktree}/`);

/** Lists the commands, agents, skills and instructions that a session lacks without the repository's settings. */
async function unavailable({ files, read }: RepositorySettings): Promise<string[]> {
  const named = files.flatMap(({ kind, name }) => {
    const path = name.replace(/ \(main checkout\)$/, '').replace(/^\.claude\/\w+\//, '');
    const short = path.replace(/\.md$/, '').replaceAll('/', ':');
    if (kind === 'commands') return [`/${short}`];
    if (kind === 'agents') return [`agent ${short}`];
    return kind === 'skills' ? [`skill ${path.replace(/\/SKILL\.md$/, '')}`] : [];
  });
  const hasInstructions = (await read('CLAUDE.md')) !== null || (await read('.claude/CLAUDE.md')) !== null;
  // With `--add-dir` Claude Code reads CLAUDE.md and .claude/rules, but not these (tried).
  const others = ['CLAUDE.local.md', ...(hasInstructions ? [] : ['AGENTS.md'])];
  const missing = await Promise.all(others.map(async (path) => ((await read(path)) === null ? [] : [path])));
  return [...named, ...missing.flat()];
}

const NAMES: Readonly<Record<TrustKind, readonly [one: string, several: string]>> = {
  hook: ['hook', 'hooks'],
  helper: ['helper', 'helpers'],
  env: ['environment variable', 'environment variables'],
  'mcp-server': ['MCP server', 'MCP servers'],
  plugin: ['plugin setting', 'plugin settings'],
  rule: ['allow rule', 'allow rules'],
  mode: ['mode', 'modes'],
  directory: ['folder', 'folders'],
  command: ['command', 'commands'],
  other: ['other setting', 'other settings'],
};

/** Returns a summary such as "2 hooks, 1 MCP server". */
function summaryOf(items: readonly { kind: TrustKind }[]): string {
  const counts = new Map<TrustKind, number>();
  for (const { kind } of items) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${NAMES[kind][count === 1 ? 0 : 1]}`).join(', ');
}

/** The limit of items that a person can review; the rest is counted. */
const MAX_SHOWN = 300;
const MAX_VALUE_LENGTH = 2_000;

/** The settings found on disk, and what was agreed to. */
export interface ReviewedSettings {
  content: TrustContent;
  agreed: AgreedSettings;
  /** Rules in the user's own settings that nobody has seen yet. */
  newOfUser: Found[];
  /** What Callboard's own file in the repository would run. */
  ofFile: Found[];
}

/** Identifies a rule or folder that a person allowed in a terminal. */
const personalKey = ({ kind, value }: Pick<Found, 'kind' | 'value'>): string => `${kind}:${value}`;

/** Identifies something that Callboard's own file in the repository would run. */
const commandKey = ({ text, value }: Pick<Found, 'text' | 'value'>): string => `${text}\n${value}`;

/** Whether a person agreed to the repository's settings as a whole. */
const isTrusted = ({ content, agreed }: Pick<ReviewedSettings, 'content' | 'agreed'>): boolean =>
  content.items.length === 0 || agreed.contents.some(({ hash }) => hash === content.hash);

/** Returns what a person is shown before they agree. */
function viewOf({ content, agreed, newOfUser, ofFile }: ReviewedSettings): ProjectTrust {
  const known = new Set(agreed.contents.flatMap(({ fingerprints }) => fingerprints));
  const items = [
    ...content.items.map((item) => shown(item, !known.has(item.fingerprint))),
    ...content.personal.map((item) => shown(item, !agreed.personal.includes(personalKey(item)))),
    ...newOfUser.map((item) => shown(item, true)),
    ...ofFile.map((item) => shown(item, !agreed.commands.includes(commandKey(item)))),
  ];
  const personal = [...content.personal, ...newOfUser];
  const hasNewPersonal = personal.some(
    (item) => newOfUser.includes(item) || !agreed.personal.includes(personalKey(item)),
  );
  const hasNewCommand = ofFile.some((item) => !agreed.commands.includes(commandKey(item)));
  const needed = !isTrusted({ content, agreed }) || hasNewPersonal || hasNewCommand;
  return { needed, hash: viewHash(content, personal, ofFile), items: bounded(items) };
}

const viewHash = (
  { hash, items }: TrustContent,
  personal: readonly (FingerprintedItem | Found)[],
  ofFile: readonly Found[],
): string =>
  items.length + personal.length + ofFile.length === 0
    ? ''
    : sha256(
        [
          hash,
          ...personal.map((item) => `${item.file} ${personalKey(item)}`).toSorted(),
          ...ofFile.map(commandKey).toSorted(),
        ].join('\n'),
      );

const shown = ({ kind, text, value, file }: Found, isNew: boolean): TrustItem => ({
  kind,
  text,
  file,
  isNew,
  value: value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)} … (${value.length} characters)` : value,
});

function bounded(items: TrustItem[]): TrustItem[] {
  if (items.length <= MAX_SHOWN) return items;
  const more = `${items.length - MAX_SHOWN} more are not shown here. Look at the files themselves.`;
  return [
    ...items.toSorted((a, b) => Number(b.isNew) - Number(a.isNew)).slice(0, MAX_SHOWN),
    { kind: 'other', text: more, value: '', file: '', isNew: items.some(({ isNew }) => isNew) },
  ];
}

type TrustCommands = 'get_trust' | 'trust_project' | 'agree_rules';

export const trustCommands = ({ trust }: { trust: Trust }): Pick<CommandHandlers, TrustCommands> => ({
  get_trust: async ({ projectId, stageId }) => ({
    trust:
      stageId === undefined ? (await trust.refresh(projectId)).trust : await trust.inspectStage(projectId, stageId),
  }),
  trust_project: async ({ projectId, hash }, { actor }) => ({
    project: await trust.agree(projectId, hash, actor.name),
  }),
  agree_rules: async ({ projectId, rules }) => ({ project: await trust.agreeToRules(projectId, rules) }),
});
