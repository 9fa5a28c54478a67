import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastMarker } from './marker.ts';
import { decodeScript, named, prompt } from './prompt.ts';

describe('prompt', () => {
  it('carries any text of a reply through and back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const marker = lastMarker(prompt({ steps: [{ text }] }, 'please do'));
        expect(marker?.kind === 'inline' && decodeScript(marker.encoded)).toEqual({ steps: [{ text }] });
      }),
    );
  });

  it('shows the visible text and no word of the reply', () => {
    const text = prompt({ steps: [{ text: 'the secret answer' }] }, 'Fix the login');
    expect(text).toMatch(/^Fix the login \[\[script:[\w-]+\]\]$/);
    expect(text).not.toContain('secret');
  });

  it('refuses a script with an unknown field', () => {
    const script = { steps: [{ text: 'x', txt: 'typing error' }] };
    expect(() => prompt(script)).toThrow('txt');
  });
});

describe('named', () => {
  it('refers to a script by name', () => {
    expect(named('add-login', 'Add it')).toBe('Add it [[script:@add-login]]');
    expect(lastMarker(named('add-login'))).toEqual({ kind: 'named', name: 'add-login' });
  });

  it('refuses a name that would break the marker', () => {
    expect(() => named('a]] b')).toThrow('not a script name');
  });
});

describe('lastMarker', () => {
  it('takes the newest of several markers in one text', () => {
    expect(lastMarker(`${named('one')}\n${named('two')}`)).toEqual({ kind: 'named', name: 'two' });
  });

  it('finds nothing in a plain text', () => {
    expect(lastMarker('[[script:]] [[script: x]] plain')).toBeUndefined();
  });
});
