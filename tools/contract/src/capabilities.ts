import { z } from 'zod';
import { ProjectId, StageId } from './ids.ts';

/** A command that runs when a message begins with `/name` and is sent as a command. */
export const SlashCommand = z.object({
  name: z.string(),
  description: z.string(),
  /** What follows the name ("<file>"); empty for nothing. */
  argumentHint: z.string(),
  /** Other names that it goes by. */
  aliases: z.array(z.string()),
  /** Part of Claude Code itself, and not of the repository, the user's settings or a plugin. */
  isBuiltIn: z.boolean(),
});
export type SlashCommand = z.infer<typeof SlashCommand>;

/** A model that may be chosen. */
export const ModelChoice = z.object({
  /** What a stage or a session is given; `default` for the one that Claude Code takes by itself. */
  value: z.string(),
  /** The model that the value stands for now, as a session reports it. */
  resolved: z.string().nullable(),
  label: z.string(),
  description: z.string(),
  /** The efforts that it knows; empty for a model without them. */
  efforts: z.array(z.string()),
});
export type ModelChoice = z.infer<typeof ModelChoice>;

/** What Claude Code said that it offers, when it was last started. */
export const Capabilities = z.object({ commands: z.array(SlashCommand), models: z.array(ModelChoice) });
export type Capabilities = z.infer<typeof Capabilities>;

export const CapabilitiesQuery = z.strictObject({ stageId: StageId.optional(), projectId: ProjectId.optional() });

/**
 * `from`: the stage's own session; another session of its project; or one of another project, of which only what is
 * part of Claude Code itself is told. Both are null as long as nothing was ever started.
 */
export const CapabilitiesReply = z.object({
  capabilities: Capabilities.nullable(),
  from: z.enum(['stage', 'project', 'installation']).nullable(),
});
export type CapabilitiesReply = z.infer<typeof CapabilitiesReply>;
