import { z } from 'zod';
import { GitSettings, NOTHING_TO_AGREE } from './git-settings.ts';
import { ProjectId } from './ids.ts';
import { SandboxHost, SandboxSocket } from './sandbox.ts';
import { NOTHING_TO_TRUST, ProjectTrust } from './trust.ts';

/** What a project may have its own way; each has a default. */
export const ProjectSettings = z.object({
  /** A request that nobody answers for this long is denied, in words that say so; null: it waits for ever. */
  requestTimeoutMs: z.int().min(1_000).nullable().default(null),
  /** Ignored files (globs relative to the repository) that every new worktree gets a copy of, such as `.env`. */
  copyIgnored: z.array(z.string().min(1)).max(50).default([]),
  /** Check the repository's submodules out in every new worktree, which may fetch them from their addresses. */
  submodules: z.boolean().default(false),
  /** Take messages that other Claude Code sessions of this account send to this project's; otherwise they are refused. */
  sessionMessages: z.boolean().default(false),
  /** Run Claude's commands in Claude Code's sandbox, where that works. Null: the project is older than the setting, and nobody has decided yet; it counts as off. */
  sandbox: z.boolean().nullable().default(null),
  /** Commands in the sandbox run without a question. Network access and leaving the sandbox are asked for all the same. */
  sandboxAutoAllow: z.boolean().default(false),
  /** Hosts that commands in the sandbox reach without a question. */
  sandboxHosts: z.array(z.string()).default([]),
  /** Unix sockets that commands in the sandbox may connect to. */
  sandboxSockets: z.array(z.string()).default([]),
});
export type ProjectSettings = z.infer<typeof ProjectSettings>;

/** A git repository on the orchestrator's machine. */
export const Project = z.object({
  id: ProjectId,
  name: z.string(),
  /** Absolute path of the repository's main checkout. */
  path: z.string(),
  createdAt: z.iso.datetime(),
  settings: ProjectSettings,
  /** What of the repository's git settings Callboard's own calls of git leave off, since nobody has agreed to it. */
  gitSettings: GitSettings.default(NOTHING_TO_AGREE),
  /** What the repository's own settings would switch on, as it was when last looked at. */
  trust: ProjectTrust.default(NOTHING_TO_TRUST),
});
export type Project = z.infer<typeof Project>;

/** A glob that can fit something: paths are relative to the repository, and never lead out of it. */
const IgnoredGlob = z
  .string()
  .min(1)
  .refine(
    (glob) => !glob.startsWith('/') && !glob.split('/').includes('..'),
    'must name files inside the repository, relative to it: without "/" at the beginning, and without ".."',
  );

/** A setting of an earlier version: who still sends it is told what has taken its place. */
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
  sandboxAutoAllow: z.boolean().optional(),
  sandboxHosts: z.array(SandboxHost).max(200).optional(),
  sandboxSockets: z.array(SandboxSocket).max(50).optional(),
  passRepositoryRules: replacedByTrust,
  runRepositoryHooks: replacedByTrust,
});

const ProjectName = z.string().trim().min(1).max(200);

export const NewProject = z.strictObject({
  path: z.string().trim().min(1, 'is empty'),
  name: ProjectName.optional(),
  /** What is not named has its default; `sandbox` is on. */
  settings: SettingsPatch.optional(),
});
export type NewProject = z.infer<typeof NewProject>;

export const ProjectPatch = z.strictObject({ name: ProjectName.optional(), settings: SettingsPatch.optional() });
export type ProjectPatch = z.infer<typeof ProjectPatch>;
