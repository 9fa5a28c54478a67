import { describe, expect, it } from 'vitest';
import { sample, sideReply } from './choose.ts';

describe('sideReply', () => {
  it('answers a request for an object with one that fits', () => {
    const schema = { type: 'object', properties: { title: { type: 'string' }, tags: { type: 'array' } } };
    const request = { model: 'm', messages: [], output_config: { format: { schema } } };
    expect(sideReply(request)).toEqual({ text: '{"title":"OK","tags":[]}' });
  });

  it('answers a request for a summary in the form the CLI asks for', () => {
    const content = 'CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.';
    expect(sideReply({ model: 'm', messages: [{ role: 'user', content }] }).text).toContain('<summary>');
  });
});

describe('sample', () => {
  it.each([
    [{ enum: ['a', 'b'] }, 'a'],
    [{ const: 7 }, 7],
    [{ type: 'integer' }, 0],
    [{ type: 'boolean' }, false],
    [{ type: 'object' }, {}],
    [{}, null],
    [true, null],
  ])('fits %j', (schema, value) => {
    expect(sample(schema)).toEqual(value);
  });
});
