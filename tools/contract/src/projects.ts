import { z } from 'zod';
import { GitSettings, NOTHING_TO_AGREE } from './git-settings.ts';
import { ProjectId, StageId } from './ids.ts';
import { MachinePin } from './machines.ts';
import { ProjectFile, WorkspacePatch, workspaceSettings } from './project-settings.ts';
import { SandboxHost, SandboxSocket } from './sandbox.ts';
import { NOTHING_TO_TRUST, ProjectTrust } from './trust.ts';

/** The settings of a project; each has a default. */
export const ProjectSettings = z.object({
  /** A request without an answer for this long is denied, with this reason; null: it waits for ever. */
  requestTimeoutMs: z.int().min(1_000).nullable().default(null),
  /** Globs of ignored files, relative to the repository, that are copied into every new worktree; `.env`, for example. */
  copyIgnored: z.array(z.string().min(1)).max(50).default([]),
  /** Check out the repository's submodules in every new worktree, which may fetch them from their URLs. */
  submodules: z.boolean().default(false),
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
