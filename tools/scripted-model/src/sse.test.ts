import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildReply } from './reply.ts';
import { chunkBytes, chunkText, renderEvent, streamEvents, wholeMessage } from './scripted-model.ts';

const request = { model: 'm', messages: [] };
const anyText = fc.string({ unit: 'binary' });
const anySize = fc.integer({ min: 1, max: 9 });

describe('chunkText', () => {
  it('gives the whole text back, in pieces that are small and not broken', () => {
    fc.assert(
      fc.property(anyText, anySize, (text, size) => {
        const chunks = chunkText(text, size);
        expect(chunks.join('')).toBe(text);
        expect(chunks.every((chunk) => chunk !== '' && Array.from(chunk).length <= size)).toBe(true);
        expect(chunks.every((chunk) => chunk.isWellFormed()) || !text.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('chunkBytes', () => {
  it('gives all bytes back, in pieces of at most the size', () => {
    fc.assert(
      fc.property(fc.uint8Array(), anySize, (bytes, size) => {
        const chunks = chunkBytes(bytes, size);
        expect(Buffer.concat(chunks)).toEqual(Buffer.from(bytes));
        expect(chunks.every((chunk) => chunk.length > 0 && chunk.length <= size)).toBe(true);
      }),
    );
  });
});

describe('streamEvents', () => {
  it('sends what a whole message holds, however it is cut', () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, anySize, (thinking, text, value, size) => {
        const reply = buildReply({ thinking, text, tools: [{ name: 'Bash', input: { value } }] }, request);
        const deltas = streamEvents(reply, size).flatMap((event) =>
          event.type === 'content_block_delta' ? [event] : [],
        );
        const joined = (index: number, key: string) =>
          deltas.map((event) => (event.index === index ? (Object(event.delta)[key] ?? '') : '')).join('');
        expect([joined(0, 'thinking'), joined(1, 'text')]).toEqual([thinking, text]);
        expect(JSON.parse(joined(2, 'partial_json'))).toEqual({ value });
        expect(wholeMessage(reply)).toMatchObject({ content: [{ thinking }, { text }, { input: { value } }] });
      }),
    );
  });

  it('keeps the order of the protocol', () => {
    const reply = buildReply({ text: 'ab', stopReason: 'max_tokens', usage: { output_tokens: 3 } }, request);
    const events = streamEvents(reply, 1);
    expect(events.map((event) => event.type)).toEqual([
      ...['message_start', 'ping', 'content_block_start', 'content_block_delta', 'content_block_delta'],
      ...['content_block_stop', 'message_delta', 'message_stop'],
    ]);
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 3 } });
  });
});

describe('renderEvent', () => {
  it('writes one frame per event, line ends in texts included', () => {
    expect(renderEvent({ type: 'ping', text: 'a\nb' })).toBe('event: ping\ndata: {"type":"ping","text":"a\\nb"}\n\n');
  });
});
