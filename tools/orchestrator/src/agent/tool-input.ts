import type { ToolInput } from '@callboard/contract';
import { z } from 'zod';
import { ownProperty } from '../lib/own-property.ts';

const text = z.string();

/**
 * What the tools need that people change most, as far as it is known (CLI 2.1.330). The CLI turns a wrong input into a
 * denial that looks like the person's own, so it is better refused before it is sent.
 */
const SHAPES: Readonly<Record<string, z.ZodType>> = {
  Bash: z.looseObject({
    command: text.min(1),
    timeout: z.number().optional(),
    run_in_background: z.boolean().optional(),
  }),
  Write: z.looseObject({ file_path: text.min(1), content: text }),
  Edit: z.looseObject({
    file_path: text.min(1),
    old_string: text,
    new_string: text,
    replace_all: z.boolean().optional(),
  }),
  Read: z.looseObject({ file_path: text.min(1), offset: z.number().optional(), limit: z.number().optional() }),
  NotebookEdit: z.looseObject({ notebook_path: text.min(1), new_source: text }),
  WebFetch: z.looseObject({ url: z.url(), prompt: text }),
  WebSearch: z.looseObject({ query: text.min(2) }),
};

/** What is wrong with a changed input, in words; null when nothing is known to be. An empty one means "unchanged" to the CLI. */
export function toolInputProblem(toolName: string, input: ToolInput): string | null {
  if (Object.keys(input).length === 0)
    return 'The changed input is empty, which Claude Code takes for "unchanged". Leave it out to run the call as it is.';
  const parsed = ownProperty(SHAPES, toolName)?.safeParse(input);
  return parsed === undefined || parsed.success
    ? null
    : `The changed input does not fit ${toolName}:\n${z.prettifyError(parsed.error)}`;
}
