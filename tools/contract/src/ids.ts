import { z } from 'zod';

/** A path segment that is safe in URLs, folder names and git branch names. */
const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const uuidLike = <B extends string>() => z.string().min(1).max(200).brand<B>();

/** `STAGE-<n>`, or an imported id such as `STAGE-001-002-003`. Also names the branch `callboard/<id>`. */
export const StageId = z
  .string()
  .regex(SEGMENT, 'must be letters, digits, dots, dashes or underscores')
  .refine((id) => !id.includes('..') && !id.endsWith('.') && !id.endsWith('.lock'), 'cannot be used as a branch name')
  .brand<'StageId'>();
export type StageId = z.infer<typeof StageId>;

/** A slug made from the repository's folder name; it names the folder of the project's worktrees. */
export const ProjectId = z.string().regex(SEGMENT).brand<'ProjectId'>();
export type ProjectId = z.infer<typeof ProjectId>;

/** One `claude` process of a session (UUID v7, so that launches sort by time). */
export const LaunchId = uuidLike<'LaunchId'>();
export type LaunchId = z.infer<typeof LaunchId>;

/** The CLI's own id of a control request that waits for a person. */
export const RequestId = uuidLike<'RequestId'>();
export type RequestId = z.infer<typeof RequestId>;

/** The uuid that a user message keeps in the queue, on the wire and in the CLI's transcript. */
export const MessageId = uuidLike<'MessageId'>();
export type MessageId = z.infer<typeof MessageId>;
