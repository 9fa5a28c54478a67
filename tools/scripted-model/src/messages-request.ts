import { z } from 'zod';

const ContentBlock = z.looseObject({ type: z.string(), text: z.string().optional() });
const Content = z.union([z.string(), z.array(ContentBlock)]);

/** The parts of a Messages API request that the scripted model uses; everything else is ignored. */
export const MessagesRequest = z.looseObject({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content: Content })),
  system: Content.optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
  stream: z.boolean().optional(),
  max_tokens: z.number().optional(),
  output_config: z.looseObject({ format: z.looseObject({ schema: z.unknown().optional() }).nullish() }).nullish(),
});

export type MessagesRequest = z.infer<typeof MessagesRequest>;
export type Message = MessagesRequest['messages'][number];
export type Content = z.infer<typeof Content>;

/** The texts of a message or system prompt, without tool calls, tool results and images. */
export function textsOf(content: Content | undefined): string[] {
  if (content === undefined) return [];
  if (typeof content === 'string') return [content];
  return content.flatMap((block) => (block.type === 'text' && block.text !== undefined ? [block.text] : []));
}
