import { describe, expect, it } from 'vitest';
import type { Step } from './script.ts';
import { failureOf } from './scripted-model.ts';

const kinds = (step: Step, tries: number) => Array.from({ length: tries }, (_, index) => failureOf(step, index)?.kind);

describe('failureOf', () => {
  it('fails always unless a number of times is given', () => {
    expect(kinds({ error: { status: 500 } }, 3)).toEqual(['http', 'http', 'http']);
    expect(kinds({ error: { status: 500, times: 2 }, text: 'x' }, 3)).toEqual(['http', 'http', undefined]);
    expect(kinds({ cut: 'during', cutTimes: 1 }, 2)).toEqual(['cut', undefined]);
    expect(kinds({ streamError: { times: 1 } }, 2)).toEqual(['stream', undefined]);
    expect(kinds({ text: 'x' }, 1)).toEqual([undefined]);
  });

  it('lets one kind of failure follow the other', () => {
    const step: Step = { error: { status: 529, times: 1 }, cut: 'before', cutTimes: 1, streamError: { times: 1 } };
    expect(kinds(step, 4)).toEqual(['http', 'cut', 'stream', undefined]);
  });

  it('names the error as the API would', () => {
    expect(failureOf({ error: { status: 529 } }, 0)).toMatchObject({ type: 'overloaded_error' });
    expect(failureOf({ error: { status: 502, message: 'm' } }, 0)).toMatchObject({ type: 'api_error', message: 'm' });
  });
});
