import { z } from 'zod';
import { ProjectId } from './ids.ts';

/** A git repository on the orchestrator's machine. */
export const Project = z.object({
  id: ProjectId,
  name: z.string(),
  /** Absolute path of the repository's main checkout. */
  path: z.string(),
  createdAt: z.iso.datetime(),
});
export type Project = z.infer<typeof Project>;

export const NewProject = z.strictObject({
  path: z.string().trim().min(1, 'is empty'),
  name: z.string().trim().min(1).max(200).optional(),
});
export type NewProject = z.infer<typeof NewProject>;

export const ProjectPatch = z.strictObject({ name: z.string().trim().min(1).max(200).optional() });
export type ProjectPatch = z.infer<typeof ProjectPatch>;
