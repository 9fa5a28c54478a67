import { describe, expect, it } from 'vitest';
import { chooseReply } from './choose.ts';
import type { Message, MessagesRequest } from './messages-request.ts';
import { named, prompt } from './prompt.ts';
import type { Script } from './script.ts';

const tools = [{ name: 'Bash' }];
const scripts = new Map<string, Script>([['greet', { steps: [{ text: 'Hello' }, { text: 'Bye' }] }]]);
const user = (content: string): Message => ({ role: 'user', content });
const says: Message = { role: 'assistant', content: 'x' };

function choose(messages: Message[], more: Partial<MessagesRequest> = {}) {
  return chooseReply({ model: 'm', messages, tools, ...more }, scripts);
}

describe('chooseReply', () => {
  it('follows a named script step by step', () => {
    expect(choose([user(named('greet'))])).toMatchObject({
      kind: 'script',
      script: 'greet',
      step: 0,
      reply: { text: 'Hello' },
    });
    expect(choose([user(named('greet')), says, user('and?')])).toMatchObject({ step: 1, reply: { text: 'Bye' } });
  });

  it('finds a script by the words that it is for, unless a marker names another', () => {
    const greet = { when: 'Say hello', steps: [{ text: 'Hello' }, { text: 'Bye' }] };
    const known = new Map<string, Script>([
      ['greet', greet],
      ['other', { steps: [{ text: 'Other' }] }],
    ]);
    const notify = (...messages: Message[]) => chooseReply({ model: 'm', messages, tools }, known);
    expect(notify(user('Say hello, please.'))).toMatchObject({ script: 'greet', step: 0, reply: { text: 'Hello' } });
    expect(notify(user('Say hello'), says, user('and?'))).toMatchObject({ step: 1, reply: { text: 'Bye' } });
    expect(notify(user(named('other', 'Say hello')))).toMatchObject({ script: 'other' });
    expect(notify(user('Say nothing'))).toMatchObject({ kind: 'default' });
  });

  it('follows a script that came with the prompt', () => {
    const text = prompt({ steps: [{ text: 'inline' }] });
    expect(choose([user(text)])).toMatchObject({
      kind: 'script',
      script: 'inline',
      step: 0,
      reply: { text: 'inline' },
    });
  });

  it('closes a script that is used up, and answers later messages shortly', () => {
    const result: Message = { role: 'user', content: [{ type: 'tool_result' }] };
    expect(choose([user(named('greet')), says, user('a'), says, result])).toMatchObject({
      kind: 'finished',
      reply: { text: 'Done.' },
    });
    expect(choose([user(named('greet')), says, user('a'), says, user('b')])).toMatchObject({ reply: { text: 'OK.' } });
  });

  it('answers a conversation without a script shortly', () => {
    expect(choose([user('hello')])).toMatchObject({ kind: 'default', reply: { text: 'OK.' } });
  });

  it('refuses an unknown name and a broken script', () => {
    expect(choose([user(named('nobody'))])).toMatchObject({ kind: 'invalid', reply: { error: { status: 400 } } });
    expect(choose([user('[[script:AAAA]]')])).toMatchObject({ kind: 'invalid', reply: { error: { status: 400 } } });
  });

  it('gives each use of a step its own key', () => {
    const first = choose([user(named('greet'))]).key;
    expect(choose([user(named('greet'))]).key).toBe(first);
    expect(choose([user(named('greet')), says, user(named('greet'))]).key).not.toBe(first);
    expect(choose([user(named('greet')), says, user('x')]).key).not.toBe(first);
  });

  it.each([
    [
      'a title',
      [user(`<session>\n${named('greet')}\n</session>`)],
      { tools: [], output_config: { format: { schema: {} } } },
    ],
    ['a summary', [user(named('greet')), user('CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.')], {}],
    ['a side question', [user(named('greet')), user('<system-reminder>This is a side question from the user. …')], {}],
  ])('does not take %s for the conversation', (_, messages, more) => {
    expect(choose(messages, more).kind).toBe('side');
  });
});
