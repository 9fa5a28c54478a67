import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';
import { MachinePin } from './machines.ts';
import { findPipeline, ProjectPipeline, ProjectPipelines } from './pipelines.ts';
import { FinishWay } from './pull-requests.ts';
import { SandboxHost, SandboxSocket } from './sandbox.ts';
import { Effort, PermissionMode } from './sessions.ts';
import { NOTHING_TO_TRUST, ProjectTrust } from './trust.ts';

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

/** A git setting of a repository that can make git run a program. */
export const GitSettingItem = z.object({
  /** `config`: a key. `hook`: a hook's file. `repository`: the `.git` of the main checkout points elsewhere. */
  kind: z.enum(['config', 'hook', 'repository']),
  /** The key (`core.fsmonitor`), the hook (`pre-commit`), or `.git`. */
  name: z.string(),
  /** The key's value, the beginning of the hook, or the target of `.git`. */
  value: z.string(),
  /** The file that contains it. */
  file: z.string(),
  /** SHA-256 of the hook, or of the existing files that the value names; null if there are none. */
  contents: z.string().nullable(),
});
export type GitSettingItem = z.infer<typeof GitSettingItem>;

/** The git settings of a repository that nobody has agreed to yet; Callboard's own calls of git leave them out. */
export const GitSettings = z.object({
  /** Whether there is anything to agree to. */
  needed: z.boolean(),
  /** Identifies exactly these items; empty if there are none. */
  hash: z.string(),
  items: z.array(GitSettingItem),
});
export type GitSettings = z.infer<typeof GitSettings>;

export const NOTHING_TO_AGREE: GitSettings = { needed: false, hash: '', items: [] };

export const GitSettingsBody = z.strictObject({ hash: z.string().min(1, 'is empty') });
export type GitSettingsBody = z.infer<typeof GitSettingsBody>;

/** The settings of a project; each has a default. */
export const ProjectSettings = z.object({
  /** A request without an answer for this long is denied, with this reason; null: it waits for ever. */
  requestTimeoutMs: z.int().min(1_000).nullable().default(null),
  /** Globs of ignored files, relative to the repository, that are copied into every new worktree; `.env`, for example. */
  copyIgnored: z.array(z.string().min(1)).max(50).default([]),
  /** Check out the repository's submodules in every new worktree, which may fetch them from their URLs. */
  submodules: z.boolean().default(false),
  /** Keep a worktree of a large repository checked out for the next stage, which then starts sooner. */
  spareWorktree: z.boolean().default(true),
  /** Accept messages from other Claude Code sessions of this account; otherwise they are refused. */
  sessionMessages: z.boolean().default(false),
  /** Run Claude's commands in Claude Code's sandbox where it works. Null: the project is older than the setting and nobody has decided; it counts as off. */
  sandbox: z.boolean().nullable().default(null),
  /** Run commands in the sandbox without asking. Network access and leaving the sandbox always need an answer. */
  sandboxAutoAllow: z.boolean().default(false),
  /** Hosts that commands in the sandbox may reach without asking. */
  sandboxHosts: z.array(z.string()).default([]),
  /** Unix sockets that commands in the sandbox may connect to. */
  sandboxSockets: z.array(z.string()).default([]),
  /** Folders of Markdown files, absolute or relative to the repository, whose stages follow the files. */
  stageFolders: z.array(z.string()).default([]),
  /** The command that opens a worktree, whose path it gets; null: the first known editor on PATH. Only people set it. */
  editor: z.string().nullable().default(null),
  /** The machine that its stages must run on, by name or id; null: any that has the repository. Only people set it. */
  machine: z.string().nullable().default(null),
  /**
   * Declares a machine with unfinished stages of this project lost when it has not answered for this long; null: only people do.
   * It takes a machine that ends its own sessions in half that time, and every other project with unfinished stages there.
   */
  declareLostAfterMs: z.int().positive().nullable().default(null),
  ...workspaceSettings,
});
export type ProjectSettings = z.infer<typeof ProjectSettings>;

/** A folder whose Markdown files are watched, as it was when it was last read. */
export const StageFolder = z.object({
  /** As the settings name it. */
  path: z.string(),
  at: z.iso.datetime(),
  /** What cannot be used, with file and cause; the stages of these files stay as they are. */
  problems: z.array(z.string()),
  /** Files that are gone; their stages stay. */
  removed: z.array(z.string()),
  /** Started stages whose file says something else by now: they keep what they began with. */
  kept: z.array(StageId),
});
export type StageFolder = z.infer<typeof StageFolder>;

/** A git repository, on one machine or on several. */
export const Project = z.object({
  id: ProjectId,
  name: z.string(),
  /** Absolute path of the repository's main checkout, on the machine that answers if it has the repository. */
  path: z.string(),
  createdAt: z.iso.datetime(),
  settings: ProjectSettings,
  /** The repository's git settings that nobody has agreed to; Callboard's own calls of git leave them out. */
  gitSettings: GitSettings.default(NOTHING_TO_AGREE),
  /** What the repository's own settings would switch on, as last read. */
  trust: ProjectTrust.default(NOTHING_TO_TRUST),
  /** What `callboard.yaml` in its current commit says; null: there is none. It wins over the settings. */
  file: ProjectFile.nullable().default(null),
  /** The folders in `stageFolders`, once they were read. */
  stageFolders: z.array(StageFolder).default([]),
});
export type Project = z.infer<typeof Project>;

/** A glob that can match: paths are relative to the repository and stay inside it. */
const IgnoredGlob = z
  .string()
  .min(1)
  .refine(
    (glob) => !glob.startsWith('/') && !glob.split('/').includes('..'),
    'must be relative to the repository and stay inside it: without a leading "/" and without ".."',
  );

/** A setting of an earlier version; the error names its replacement. */
const replacedByTrust = z
  .never({
    error: 'has been replaced by trust: agree to what the project lists with POST /api/projects/:projectId/trust',
  })
  .optional();

const SettingsPatch = z.strictObject({
  requestTimeoutMs: z.int().min(1_000).nullable().optional(),
  copyIgnored: z.array(IgnoredGlob).max(50).optional(),
  submodules: z.boolean().optional(),
  spareWorktree: z.boolean().optional(),
  sessionMessages: z.boolean().optional(),
  sandbox: z.boolean().optional(),
  stageFolders: z.array(z.string().trim().min(1).max(1_000)).max(10).optional(),
  sandboxAutoAllow: z.boolean().optional(),
  sandboxHosts: z.array(SandboxHost).max(200).optional(),
  sandboxSockets: z.array(SandboxSocket).max(50).optional(),
  editor: z.string().trim().min(1).max(500).nullable().optional(),
  machine: MachinePin.nullable().optional(),
  declareLostAfterMs: z.int().min(120_000, 'is less than two minutes').nullable().optional(),
  ...WorkspacePatch.shape,
  passRepositoryRules: replacedByTrust,
  runRepositoryHooks: replacedByTrust,
});

const ProjectName = z.string().trim().min(1).max(200);

export const NewProject = z.strictObject({
  path: z.string().trim().min(1, 'is empty'),
  name: ProjectName.optional(),
  /** Settings that are left out have their defaults; `sandbox` is on. */
  settings: SettingsPatch.optional(),
});
export type NewProject = z.infer<typeof NewProject>;

export const ProjectPatch = z.strictObject({ name: ProjectName.optional(), settings: SettingsPatch.optional() });
export type ProjectPatch = z.infer<typeof ProjectPatch>;

/** The local branches of a repository, most recently committed first. */
export const BranchList = z.object({
  /** The branch of the main checkout; null if it is on none. */
  current: z.string().nullable(),
  branches: z.array(z.string()),
});
export type BranchList = z.infer<typeof BranchList>;

/** A command of Claude Code. It runs if a message begins with `/name` and is sent as a command. */
export const SlashCommand = z.object({
  name: z.string(),
  description: z.string(),
  /** The arguments ("<file>"); empty if there are none. */
  argumentHint: z.string(),
  /** Other names for it. */
  aliases: z.array(z.string()),
  /** Built into Claude Code, so not from the repository, the user's settings or a plugin. */
  isBuiltIn: z.boolean(),
});
export type SlashCommand = z.infer<typeof SlashCommand>;

/** A model that a person may choose. */
export const ModelChoice = z.object({
  /** The value for a stage or a session; `default` lets Claude Code choose. */
  value: z.string(),
  /** The model that the value currently resolves to, as sessions report it. */
  resolved: z.string().nullable(),
  label: z.string(),
  description: z.string(),
  /** The efforts that it supports; empty if it has none. */
  efforts: z.array(z.string()),
});
export type ModelChoice = z.infer<typeof ModelChoice>;

/** The commands and models that Claude Code reported at its latest start. */
export const Capabilities = z.object({ commands: z.array(SlashCommand), models: z.array(ModelChoice) });
export type Capabilities = z.infer<typeof Capabilities>;

export const CapabilitiesQuery = z.strictObject({ stageId: StageId.optional(), projectId: ProjectId.optional() });

/**
 * `from` is the source: the stage's own session, another session of its project, or a session of another project, whose
 * built-in commands alone are included. Both are null before the first start.
 */
export const CapabilitiesReply = z.object({
  capabilities: Capabilities.nullable(),
  from: z.enum(['stage', 'project', 'installation']).nullable(),
});
export type CapabilitiesReply = z.infer<typeof CapabilitiesReply>;

/** A folder on the machine of the orchestrator, for choosing a repository. */
export const Folder = z.object({
  name: z.string(),
  /** Absolute. */
  path: z.string(),
  /** Whether it is the top of a git checkout. */
  isRepository: z.boolean(),
});
export type Folder = z.infer<typeof Folder>;

/** The folders within a folder: repositories first, then by name. */
export const FolderList = z.object({
  /** The folder itself. */
  folder: Folder,
  /** The path of the folder that contains it; null at the top. */
  parent: z.string().nullable(),
  folders: z.array(Folder),
  /** The path of the repository in which Callboard was started, which is the first of `folders`; null in other lists. */
  here: z.string().nullable(),
  /** Whether there are more than are listed. */
  isCut: z.boolean(),
});
export type FolderList = z.infer<typeof FolderList>;

export const FoldersQuery = z.strictObject({
  /** Absolute, or from the home folder with `~`, which is the default. */
  path: z.string().trim().min(1).max(4_096).optional(),
});
