import { z } from 'zod';
import { findPipeline, ProjectPipeline, ProjectPipelines } from './project-pipelines.ts';
import { FinishWay } from './pull-requests.ts';
import { Effort, PermissionMode } from './sessions.ts';

/**
 * What a project says about its worktrees: in its settings, which a person changes in the browser, and under the same keys
 * in `callboard.yaml` in the repository, which wins.
 */

/** A line for the shell (`/bin/sh`). */
const CommandLine = z.string().trim().min(1, 'is empty').max(10_000, 'is longer than 10,000 characters');

/** A command that ends by itself. */
export const CommandSetting = z.strictObject({
  command: CommandLine,
  /** Ends it after this many seconds. */
  timeLimit: z.int().min(1, 'must be at least a second').max(86_400, 'must be at most a day').optional(),
});
export type CommandSetting = z.infer<typeof CommandSetting>;

/** How long a command may run that has no limit of its own, in seconds. */
export const DEFAULT_TIME_LIMIT = 1_200;

/** A command that runs until it is stopped. */
export const DevServerSetting = z.strictObject({
  command: CommandLine,
  /** Where it listens, if it does not look at `PORT`. */
  port: z.int().min(1).max(65_535).nullable().optional(),
});
export type DevServerSetting = z.infer<typeof DevServerSetting>;

const ServerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/, 'must be a name of letters, digits, ".", "_" and "-", at most 40');

const FORBIDDEN_CACHES =
  /^~\/\.(ssh|gnupg|aws|claude|config|local|bashrc|profile|zshrc|gitconfig|netrc|kube|docker)(\/|$)/;

/** A folder below the home folder that commands in the sandbox may write, for example `~/.gradle`. */
export const CacheFolder = z
  .string()
  .trim()
  .max(500)
  .regex(/^~\/[^/]/, 'must be a folder in your home, such as "~/.gradle"')
  .refine((path) => !path.split('/').some((part) => part === '..' || part === '.'), 'must not contain "." or ".."')
  .refine((path) => !FORBIDDEN_CACHES.test(path), 'holds programs, settings or secrets, so it cannot be a cache');

const Revision = z.string().trim().min(1, 'is empty').max(200, 'is longer than 200 characters');

const stageDefaults = {
  model: z.string().trim().min(1).max(200).nullable().optional(),
  effort: Effort.nullable().optional(),
};

/** What a new stage has unless somebody chooses otherwise. */
export const StageDefaults = z.strictObject({ ...stageDefaults, mode: PermissionMode.nullable().optional() });
export type StageDefaults = z.infer<typeof StageDefaults>;

const keys = {
  /** Runs once in each new worktree, before Claude starts. */
  setup: CommandSetting.nullable(),
  /** Runs when a stage is done, and before its worktree is removed. */
  cleanup: CommandSetting.nullable(),
  /** The branch, tag or commit that new stages begin at; null: the current commit of the main checkout. */
  base: Revision.nullable(),
  /** Fetch from the remote before a stage begins. */
  fetch: z.boolean(),
  devServers: z.record(ServerName, DevServerSetting),
  /** Folders in the home folder that commands in the sandbox may write, beside those of package managers. */
  caches: z.array(CacheFolder).max(50),
  defaults: StageDefaults,
  pipelines: ProjectPipelines,
  /** How stages are finished unless they or their pipeline say otherwise. */
  finish: FinishWay,
};

/** All keys, each optional: a change of the settings. */
export const WorkspacePatch = z.strictObject(keys).partial();
export type WorkspacePatch = z.infer<typeof WorkspacePatch>;

/** Only a person chooses the mode, which decides what Claude may do unasked. */
const OnlyPeople = z.never({ error: 'is set by a person, in the settings of the project' }).optional();

/** What `callboard.yaml` may say. */
export const WorkspaceFile = z
  .strictObject({
    ...keys,
    defaults: z.strictObject({ ...stageDefaults, mode: OnlyPeople }),
    sandbox: OnlyPeople,
    sandboxAutoAllow: OnlyPeople,
    budgets: OnlyPeople,
  })
  .partial();
export type WorkspaceFile = Omit<z.infer<typeof WorkspaceFile>, 'sandbox' | 'sandboxAutoAllow' | 'budgets'>;

export type WorkspaceKey = keyof typeof keys;
export const WORKSPACE_KEYS = Object.keys(keys) as readonly WorkspaceKey[]; // the keys of an object literal

/** The settings with their defaults. Stored ones were checked when somebody made them. */
export const workspaceSettings = {
  setup: CommandSetting.nullable().default(null),
  cleanup: CommandSetting.nullable().default(null),
  base: z.string().nullable().default(null),
  fetch: z.boolean().default(false),
  devServers: z.record(z.string(), DevServerSetting).default({}),
  caches: z.array(z.string()).default([]),
  defaults: StageDefaults.default({}),
  pipelines: z.record(z.string(), ProjectPipeline).default({}),
  finish: FinishWay.default('none'),
};
export const WorkspaceSettings = z.object(workspaceSettings);
export type WorkspaceSettings = z.infer<typeof WorkspaceSettings>;

/** Something in `callboard.yaml` that cannot be used. */
export const SettingsProblem = z.object({
  /** The line in the file, from 1. */
  line: z.int().positive(),
  /** The key (`devServers.web.port`); empty for the file as a whole. */
  key: z.string(),
  message: z.string(),
});
export type SettingsProblem = z.infer<typeof SettingsProblem>;

/** What `callboard.yaml` says in the current commit of the main checkout. */
export const ProjectFile = z.object({
  /** Empty if it has problems. */
  settings: WorkspacePatch.catch({}),
  problems: z.array(SettingsProblem),
});
export type ProjectFile = z.infer<typeof ProjectFile>;

/**
 * Returns the settings in force: those of the file win, key by key, and among the pipelines name by name; the mode is a person's
 * alone.
 */
export function mergedSettings(own: WorkspaceSettings, file: WorkspacePatch): WorkspaceSettings {
  const said = Object.fromEntries(Object.entries(file).filter(([, value]) => value !== undefined));
  const ofFile = file.pipelines ?? {};
  const names = Object.keys(ofFile).map((name) => ({ name }));
  const ofPerson = Object.entries(own.pipelines).filter(([name]) => findPipeline(names, name) === null);
  return WorkspaceSettings.parse({
    ...own,
    ...said,
    pipelines: { ...Object.fromEntries(ofPerson), ...ofFile },
    defaults: { ...own.defaults, ...file.defaults, mode: own.defaults.mode ?? null },
  });
}
