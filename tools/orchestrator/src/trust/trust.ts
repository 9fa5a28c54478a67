import type { Project, ProjectId, ProjectTrust, StageId, TrustItem, Worktree } from '@callboard/contract';
import { forEachAtOnce } from '../lib/at-once.ts';
import { AppError, messageOf, Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { AgreedSettings, LaunchSettings } from '../store/records.ts';
import { requireProject, unknownStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';
import type { RepositorySettings } from '../worktrees/repository-settings.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { contentOf, itemsOf, type Known, sha256, type TrustContent } from './content.ts';
import { excludedCommands } from './excluded-commands.ts';
import { type LaunchTrust, launchTrust } from './launch-trust.ts';
import type { Found } from './settings-items.ts';
import { userItems, userRules, userSettings, userSettingsPath } from './user-rules.ts';

export interface TrustParts {
  store: Store;
  worktrees: Worktrees;
  log: Logger;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
}

/** Whether a person agreed to what a repository's own settings would switch on. */
export interface Trust {
  /** Looks at all projects, as after a start. A repository that cannot be read keeps what was known of it. */
  lookAtAll(): Promise<void>;
  /** What is there now, kept in the project. @throws Rejection `unknown_project` */
  look(projectId: ProjectId): Promise<Project>;
  /** The same for the worktree of a stage. @throws Rejection `unknown_project`, `unknown_stage` */
  lookAtStage(projectId: ProjectId, stageId: StageId): Promise<ProjectTrust>;
  /**
   * Agrees to exactly what has this hash, in the repository or in the worktree of one of its stages.
   * @throws Rejection `unknown_project`, `trust_changed`
   */
  agree(projectId: ProjectId, hash: string, by: string): Promise<Project>;
  /** What a launch in this worktree may be given. */
  forLaunch(project: Project, worktree: Worktree): Promise<LaunchTrust>;
  /** What is new in the settings files since the launch. None for a launch of which it is not known what there was. */
  grownSince(stageId: StageId, launch: LaunchSettings): Promise<Grown[]>;
  /** Commands that settings files let run outside of the sandbox, and did not when the launch began. */
  newlyExcluded(stageId: StageId, launch: LaunchSettings): Promise<string[]>;
  /** The files that those two read, whether they are there or not; none for a stage without a worktree. */
  settingsPaths(stageId: StageId): Promise<string[]>;
  /** Agrees to these rules and folders alone, as far as they stand in the main checkout's or the user's own settings now. @throws Rejection `unknown_project` */
  agreeToRules(projectId: ProjectId, rules: readonly string[]): Promise<Project>;
}

/** What came into settings files while a session ran. */
export interface Grown extends Pick<Found, 'kind' | 'value' | 'file'> {
  /** A person agreed to it meanwhile. */
  isAgreed: boolean;
}

const grownKey = ({ kind, value, file }: Pick<Found, 'kind' | 'value' | 'file'>) => `${file} ${kind}:${value}`;

/** What is on the disk, beside what was agreed to. */
interface Looked {
  settings: RepositorySettings;
  content: TrustContent;
  agreed: AgreedSettings;
  /** What the user's own settings allow, and nobody has seen yet. */
  newOfUser: Found[];
}

/** As many as a person can look through; more are counted. */
const MOST_SHOWN = 300;
const LONGEST_SHOWN = 2_000;
/** So many different states of a repository, on its branches, stay agreed. */
const MOST_CONTENTS = 100;

/** Each look is some calls of git. */
const LOOKS_AT_ONCE = 4;

const NOBODY: AgreedSettings = { contents: [], personal: [], adopt: null };

/** How what a person allowed in a terminal is known. */
const personalKey = ({ kind, value }: Pick<Found, 'kind' | 'value'>): string => `${kind}:${value}`;

const isAgreed = ({ content, agreed }: Pick<Looked, 'content' | 'agreed'>): boolean =>
  content.items.length === 0 || agreed.contents.some(({ hash }) => hash === content.hash);

export function createTrust({ store, worktrees, log, env }: TrustParts): Trust {
  async function newOfUser(): Promise<Found[]> {
    const known = await store.read.agreed.find('user');
    if (known === null) return [];
    return (await userRules(env)).filter((rule) => !known.personal.includes(personalKey(rule)));
  }

  /** The user's own settings hold as they were at the first launch ever: nothing that Claude ran can have written them. */
  async function agreeToUser(): Promise<void> {
    if ((await store.read.agreed.find('user')) !== null) return;
    const personal = (await userRules(env)).map(personalKey);
    await store.transact(async (tx) => {
      if ((await tx.agreed.find('user')) === null) await tx.agreed.save('user', { ...NOBODY, personal });
    });
  }

  async function lookIn(project: Project, worktree: Worktree | null): Promise<Looked> {
    const settings = await worktrees.settings(project, worktree);
    const content = await contentOf(settings);
    const agreed = (await store.read.agreed.find(project.id)) ?? NOBODY;
    return { settings, content, agreed, newOfUser: await newOfUser() };
  }

  async function look(projectId: ProjectId): Promise<Project> {
    const project = await requireProject(store.read, projectId);
    let looked = await lookIn(project, null);
    if (looked.agreed.adopt !== null) {
      await adopt(projectId, looked);
      looked = await lookIn(project, null);
    }
    const trust = viewOf(looked);
    if (JSON.stringify(trust) === JSON.stringify(project.trust)) return project;
    return store.transact(async (tx) => {
      const found = await tx.projects.find(projectId);
      const updated = { ...(found ?? project), trust };
      if (found === null) return updated;
      await tx.projects.save(updated);
      await tx.emit({ type: 'project-updated', data: { projectId, project: updated } });
      return updated;
    });
  }

  const adopt = (projectId: ProjectId, { content, agreed }: Looked) =>
    store.transact(async (tx) => {
      const personal = content.personal.map(personalKey);
      await tx.agreed.save(projectId, { ...agreed, personal, adopt: null });
      if (agreed.adopt === 'all' && content.hash !== '') await keep(tx, projectId, content, null);
    });

  async function keep(tx: Tx, projectId: ProjectId, content: TrustContent, by: string | null): Promise<void> {
    const agreed = (await tx.agreed.find(projectId)) ?? NOBODY;
    const fingerprints = content.items.map(({ fingerprint }) => fingerprint);
    const others = agreed.contents.filter(({ hash }) => hash !== content.hash);
    const contents =
      content.hash === ''
        ? agreed.contents
        : [...others, { hash: content.hash, fingerprints, by, at: tx.now }].slice(-MOST_CONTENTS);
    await tx.agreed.save(projectId, { ...agreed, adopt: null, contents, personal: content.personal.map(personalKey) });
  }

  /** @param userOnly the files of the repository are not read */
  async function excludedIn(project: Project, worktree: Worktree, userOnly: boolean): Promise<string[]> {
    const files = userOnly ? [] : await worktrees.settingsFiles(project, worktree);
    return [...new Set([...files.map(({ text }) => text), await userSettings(env)].flatMap(excludedCommands))];
  }

  /** The repository first, then the worktrees of its stages: a branch may have what the repository has not. */
  async function placeWith(project: Project, hash: string): Promise<Looked | null> {
    const stages = (await store.read.stages.list()).filter(({ projectId }) => projectId === project.id);
    const found = await lookIn(project, null);
    if (viewOf(found).hash === hash) return found;
    for (const { worktree } of stages) {
      if (worktree === null) continue;
      const looked = await lookIn(project, worktree);
      if (viewOf(looked).hash === hash) return looked;
    }
    return null;
  }

  return {
    look,
    async lookAtAll() {
      await forEachAtOnce(await store.read.projects.list(), LOOKS_AT_ONCE, async ({ id }) => {
        await look(id).catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          log.warn({ reason: messageOf(error), projectId: id }, 'the settings of a repository could not be read');
        });
      });
    },
    async lookAtStage(projectId, stageId) {
      const project = await requireProject(store.read, projectId);
      const stage = await store.read.stages.find(stageId);
      if (stage === null || stage.projectId !== projectId) throw unknownStage(stageId);
      return viewOf(await lookIn(project, stage.worktree));
    },
    async agree(projectId, hash, by) {
      const project = await requireProject(store.read, projectId);
      const looked = await placeWith(project, hash);
      if (looked === null) {
        const message =
          'The settings are no longer what you looked at, so nothing was agreed to. Look at them again, then decide.';
        throw new Rejection('trust_changed', message);
      }
      await store.transact(async (tx) => {
        await keep(tx, projectId, looked.content, by);
        const user = await tx.agreed.find('user');
        const personal = looked.newOfUser.map(personalKey);
        if (user !== null)
          await tx.agreed.save('user', { ...user, personal: [...new Set([...user.personal, ...personal])] });
      });
      return look(projectId);
    },
    async forLaunch(project, worktree) {
      await agreeToUser();
      const looked = await lookIn(project, worktree);
      const isTrusted = isAgreed(looked);
      const isPersonalAgreed = (item: Found) => looked.agreed.personal.includes(personalKey(item));
      const { content, newOfUser, settings } = looked;
      const present = [
        ...(await worktrees.settingsFiles(project, worktree)).flatMap(itemsOf),
        ...(await userItems(env)),
      ];
      const rules = present.flatMap(({ kind, value }) => (kind === 'rule' ? [value] : []));
      const given = await launchTrust({ content, isTrusted, isPersonalAgreed, newOfUser }, settings, worktree.path);
      const excluded = await excludedIn(project, worktree, given.leftOut !== null);
      return { ...given, excluded, atLaunch: { items: present.map(grownKey), rules } };
    },
    async grownSince(stageId, launch) {
      const stage = launch.isKnown ? await store.read.stages.find(stageId) : null;
      const project = stage === null ? null : await store.read.projects.find(stage.projectId);
      if (stage === null || stage.worktree === null || project === null) return [];
      const files = (await worktrees.settingsFiles(project, stage.worktree)).flatMap((file) =>
        itemsOf(file).map((item) => ({ item, scope: file.isPersonal ? project.id : null })),
      );
      const users = (await userItems(env)).map((item) => ({ item, scope: 'user' as const }));
      const before = new Set(launch.items);
      const fresh = [...files, ...users].filter(({ item }) => !before.has(grownKey(item)));
      return Promise.all(
        fresh.map(async ({ item: { kind, value, file }, scope }) => {
          const agreed = scope === null ? null : await store.read.agreed.find(scope);
          return { kind, value, file, isAgreed: agreed?.personal.includes(`${kind}:${value}`) ?? false };
        }),
      );
    },
    async newlyExcluded(stageId, launch) {
      const stage = launch.isSandboxed ? await store.read.stages.find(stageId) : null;
      const project = stage === null ? null : await store.read.projects.find(stage.projectId);
      if (stage === null || stage.worktree === null || project === null) return [];
      const now = await excludedIn(project, stage.worktree, !launch.readsRepository);
      return now.filter((command) => !launch.excluded.includes(command));
    },
    async settingsPaths(stageId) {
      const stage = await store.read.stages.find(stageId);
      const project = stage === null ? null : await store.read.projects.find(stage.projectId);
      if (stage === null || stage.worktree === null || project === null) return [];
      return [...worktrees.settingsPaths(project, stage.worktree), userSettingsPath(env)];
    },
    async agreeToRules(projectId, rules) {
      const project = await requireProject(store.read, projectId);
      const { content, newOfUser: ofUser } = await lookIn(project, null);
      const wanted = (items: readonly Found[]) => items.filter(({ value }) => rules.includes(value)).map(personalKey);
      await store.transact(async (tx) => {
        for (const [scope, keys] of [
          [projectId, wanted(content.personal)],
          ['user', wanted(ofUser)],
        ] as const) {
          const known = (await tx.agreed.find(scope)) ?? NOBODY;
          if (keys.length > 0)
            await tx.agreed.save(scope, { ...known, personal: [...new Set([...known.personal, ...keys])] });
        }
      });
      return look(projectId);
    },
  };
}

/** What a person is shown. */
function viewOf({ content, agreed, newOfUser }: Omit<Looked, 'settings'>): ProjectTrust {
  const known = new Set(agreed.contents.flatMap(({ fingerprints }) => fingerprints));
  const items = [
    ...content.items.map((item) => shown(item, !known.has(item.fingerprint))),
    ...content.personal.map((item) => shown(item, !agreed.personal.includes(personalKey(item)))),
    ...newOfUser.map((item) => shown(item, true)),
  ];
  const isWhole = isAgreed({ content, agreed });
  const loose = [...content.personal, ...newOfUser];
  const newLoose = loose.some((item) => newOfUser.includes(item) || !agreed.personal.includes(personalKey(item)));
  return { needed: !isWhole || newLoose, hash: wholeHash(content, loose), items: bounded(items) };
}

const wholeHash = ({ hash, items }: TrustContent, loose: readonly (Known | Found)[]): string =>
  items.length + loose.length === 0
    ? ''
    : sha256([hash, ...loose.map((item) => `${item.file} ${personalKey(item)}`).toSorted()].join('\n'));

const shown = ({ kind, text, value, file }: Found, isNew: boolean): TrustItem => ({
  ...{ kind, text, file, isNew },
  value: value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)} … (${value.length} characters)` : value,
});

function bounded(items: TrustItem[]): TrustItem[] {
  if (items.length <= MOST_SHOWN) return items;
  const more = `${items.length - MOST_SHOWN} more are not shown here. Look at the files themselves.`;
  return [
    ...items.toSorted((a, b) => Number(b.isNew) - Number(a.isNew)).slice(0, MOST_SHOWN),
    { kind: 'other', text: more, value: '', file: '', isNew: items.some(({ isNew }) => isNew) },
  ];
}
