import { describe, expect, it } from 'vitest';
import type { MessagesRequest } from './messages-request.ts';
import { buildReply } from './reply.ts';

const request: MessagesRequest = { model: 'some-model', messages: [{ role: 'user', content: 'hi' }] };
const planReported: MessagesRequest = {
  ...request,
  system: 'old: /home/x/.claude/plans/old.md',
  messages: [
    { role: 'system', content: 'You should create your plan at /tmp/a-b/.claude/plans/fix-it.md using Write.' },
  ],
};

describe('buildReply', () => {
  it('orders thinking, text and tools, with fresh ids', () => {
    const step = {
      thinking: 'hm',
      text: 'so',
      tools: [
        { name: 'A', input: {} },
        { name: 'B', input: {}, id: 'mine' },
      ],
    };
    const [first, second] = [buildReply(step, request), buildReply(step, request)];
    expect(first.blocks.map((block) => block.type)).toEqual(['thinking', 'text', 'tool_use', 'tool_use']);
    expect(first.blocks[3]).toMatchObject({ id: 'mine' });
    expect(first.id).not.toBe(second.id);
    expect(first.blocks[2]).not.toEqual(second.blocks[2]);
  });

  it('ends with the reason that fits, or the scripted one', () => {
    expect(buildReply({ text: 'x' }, request).stopReason).toBe('end_turn');
    expect(buildReply({ tools: [{ name: 'A', input: {} }] }, request).stopReason).toBe('tool_use');
    expect(buildReply({ text: 'x', stopReason: 'refusal' }, request).stopReason).toBe('refusal');
  });

  it('counts tokens unless the script does', () => {
    const { usage } = buildReply({ text: 'x', usage: { output_tokens: 7, cache_read_input_tokens: 9 } }, request);
    expect(usage).toMatchObject({ output_tokens: 7, cache_read_input_tokens: 9, cache_creation_input_tokens: 0 });
    expect(usage.input_tokens).toBeGreaterThan(0);
  });

  it('keeps the order of explicit blocks and lets their input be broken', () => {
    const step = {
      blocks: [
        { type: 'tool_use', name: 'A', rawInput: '{"a' },
        { type: 'text', text: 'x' },
      ] as const,
    };
    expect(buildReply({ blocks: [...step.blocks] }, request).blocks).toMatchObject([
      { inputJson: '{"a' },
      { text: 'x' },
    ]);
  });

  it('puts the plan file that the CLI named last into tool inputs', () => {
    const step = { tools: [{ name: 'Write', input: { file_path: '{{planFile}}', content: '# {{planFile}}' } }] };
    expect(buildReply(step, planReported).blocks[0]).toMatchObject({
      inputJson: '{"file_path":"/tmp/a-b/.claude/plans/fix-it.md","content":"# /tmp/a-b/.claude/plans/fix-it.md"}',
    });
    expect(() => buildReply(step, request)).toThrow('no plan file');
  });
});
