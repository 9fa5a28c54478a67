import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

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
