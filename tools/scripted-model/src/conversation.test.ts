import { describe, expect, it } from 'vitest';
import { findPosition } from './choose.ts';
import type { Message } from './messages-request.ts';
import { named } from './prompt.ts';

const user = (...texts: string[]): Message => ({
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});
const system = (content: string): Message => ({ role: 'system', content });
const says = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });
const calls: Message = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }] };
const result: Message = {
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 't', content: named('not-this') }],
};
const INTERRUPTED = '[Request interrupted by user]\n';

/** Name and step that are due after these messages. */
function due(...messages: Message[]): string | undefined {
  const position = findPosition(messages);
  return position?.marker.kind === 'named' ? `${position.marker.name} ${position.step}` : undefined;
}

describe('findPosition', () => {
  it('finds nothing without a marker', () => {
    expect(findPosition([user('hello'), says('OK.'), user('again')])).toBeUndefined();
  });

  it('starts at the first step behind the marker, whatever the CLI puts around it', () => {
    expect(due(user('<system-reminder>x</system-reminder>', named('a')), system('# Environment'))).toBe('a 0');
  });

  it('counts each model reply once', () => {
    expect(due(user(named('a')), calls, result)).toBe('a 1');
    expect(due(user(named('a')), calls, result, calls, result, says('well'), user('more'))).toBe('a 3');
  });

  it('counts a reply that stands in several assistant messages once', () => {
    expect(due(user(named('a')), says('look:'), calls, result)).toBe('a 1');
  });

  it('begins anew with a newer marker, in a new turn or folded into the running one', () => {
    expect(due(user(named('a')), says('x'), user(named('b')))).toBe('b 0');
    expect(due(user(named('a')), calls, result, system(`The user sent a new message:\n${named('b')}`))).toBe('b 0');
    expect(due(user(named('a')), calls, result, system(named('b')), calls, result)).toBe('b 1');
  });

  it('ignores markers in tool calls, tool results and replies', () => {
    expect(due(user(named('a')), says(named('echo')), user('go on'))).toBe('a 1');
    expect(due(user(named('a')), calls, result)).toBe('a 1');
  });

  it('goes on with the script after a message without a marker', () => {
    expect(due(user(named('a')), calls, result, system('The user sent a new message: hurry'))).toBe('a 1');
  });

  it('counts a reply that was interrupted before its first word', () => {
    expect(due(user(named('a'), INTERRUPTED, 'go on'))).toBe('a 1');
    expect(due(user(named('a')), calls, result, user(INTERRUPTED, 'go on'))).toBe('a 2');
  });

  it('does not count an interrupted reply twice', () => {
    expect(due(user(named('a')), says('I beg'), user(INTERRUPTED, 'go on'))).toBe('a 1');
    expect(due(user(named('a')), calls, result, user('[Request interrupted by user for tool use]'))).toBe('a 1');
  });

  it('counts a reply without visible output, which the CLI drops from the history', () => {
    const schedule =
      '[Your previous response had no visible output. Please continue and produce a user-visible response.]';
    expect(due(user(named('a'), schedule))).toBe('a 1');
  });

  it('does not count the stand-in that a resumed session is given', () => {
    expect(due(user(named('a')), calls, result, says('No response requested.'), user('go on'))).toBe('a 1');
  });

  it('tells whether a person wrote since the last reply', () => {
    const newer = (...messages: Message[]) => findPosition([user(named('a')), ...messages])?.newerMessage;
    expect(newer(calls, result)).toBe(false);
    expect(newer(calls, result, system('Tools have changed'))).toBe(false);
    expect(newer(calls, result, system('The user sent a new message while you were working:\nhm'))).toBe(true);
    expect(newer(says('x'), user('<system-reminder>x</system-reminder>', 'thanks'))).toBe(true);
  });
});
