import { z } from 'zod';
import { GitSettings, NOTHING_TO_AGREE } from './git-settings.ts';
import { ProjectId } from './ids.ts';
import { NOTHING_TO_TRUST, ProjectTrust } from './trust.ts';

/** What a project may have its own way; each has a default. */
export const ProjectSettings = z.object({
  /** A request that nobody answers for this long is denied, in words that say so; null: it waits for ever. */
  requestTimeoutMs: z.int().min(1_000).nullable().default(null),
  /** Ignored files (globs relative to the repository) that every new worktree gets a copy of, such as `.env`. */
  copyIgnored: z.array(z.string().min(1)).max(50).default([]),
  /** Check the repository's submodules out in every new worktree, which may fetch them from their addresses. */
  submodules: z.boolean().default(false),
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

export const NewProject = z.strictObject({
  path: z.string().trim().min(1, 'is empty'),
  name: z.string().trim().min(1).max(200).optional(),
});
export type NewProject = z.infer<typeof NewProject>;

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

export const ProjectPatch = z.strictObject({
  name: z.string().trim().min(1).max(200).optional(),
  settings: z
    .strictObject({
      requestTimeoutMs: z.int().min(1_000).nullable().optional(),
      copyIgnored: z.array(IgnoredGlob).max(50).optional(),
      submodules: z.boolean().optional(),
      passRepositoryRules: replacedByTrust,
      runRepositoryHooks: replacedByTrust,
    })
    .optional(),
});
export type ProjectPatch = z.infer<typeof ProjectPatch>;
