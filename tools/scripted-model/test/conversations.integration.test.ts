import { describe, expect, it } from 'vitest';
import { prompt } from '../src/index.ts';
import type { Line } from './claude.ts';
import { createLab } from './lab.ts';

const isResult = (line: Line) => line.type === 'result';
const isAsked = (line: Line) => line.request?.subtype === 'can_use_tool';
const touch = { tools: [{ name: 'Bash', input: { command: 'touch x' } }] };

describe('the real CLI in trouble', () => {
  it('retries when the model is overloaded', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    claude.say(prompt({ steps: [{ text: 'At last.', error: { status: 529, times: 2 } }, { text: 'Second.' }] }));
    expect(await claude.waitFor(isResult)).toMatchObject({ result: 'At last.' });
    expect(claude.lines.filter((line) => line.subtype === 'api_retry').map((line) => line.error)).toEqual([
      'overloaded',
      'overloaded',
    ]);
  });

  it('falls back to a whole reply when the stream breaks', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    claude.say(prompt({ steps: [{ text: 'Whole.', streamError: {} }] }));
    expect(await claude.waitFor(isResult)).toMatchObject({ result: 'Whole.' });
    expect(lab.model.requests.at(-1)?.stream).toBe(false);
  });

  it('shows a missing script as an error', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    claude.say('[[script:@nobody]]');
    const result = await claude.waitFor(isResult);
    expect(result).toMatchObject({ is_error: true, api_error_status: 400 });
    expect(result.result).toContain('no script is named "nobody"');
  });

  it('interrupts a hanging reply and continues with the next step', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    claude.say(prompt({ steps: [{ hangs: true }, { text: 'Half a', hangs: true }, { text: 'The third.' }] }));
    await lab.model.waitForRequest(({ step }) => step === 0);
    claude.request({ subtype: 'interrupt' });
    expect(await claude.waitFor(isResult)).toMatchObject({ subtype: 'error_during_execution' });
    const second = claude.lines.length;
    claude.say('Go on.');
    await claude.waitFor((line) => line.event?.delta?.text === 'Half a', second);
    claude.request({ subtype: 'interrupt' });
    await claude.waitFor(isResult, second);
    const third = claude.lines.length;
    claude.say('Go on.');
    expect(await claude.waitFor(isResult, third)).toMatchObject({ result: 'The third.' });
  });
});

describe('the real CLI in a long conversation', () => {
  it('follows a second script after the first', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    claude.say(prompt({ steps: [{ text: 'One.' }, { text: 'Never said.' }] }));
    expect(await claude.waitFor(isResult)).toMatchObject({ result: 'One.' });
    const from = claude.lines.length;
    claude.say(prompt({ steps: [{ text: 'Two.' }] }));
    expect(await claude.waitFor(isResult, from)).toMatchObject({ result: 'Two.' });
  });

  it('switches to a script that arrives in the middle of a turn', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    claude.say(prompt({ steps: [touch, { text: 'Never said.' }] }));
    const asked = await claude.waitFor(isAsked);
    const from = claude.lines.length;
    claude.say(prompt({ steps: [{ text: 'The new one.' }] }));
    await claude.waitFor(({ type, state }) => type === 'command_lifecycle' && state === 'queued', from);
    claude.answer(asked, { behavior: 'allow' });
    expect(await claude.waitFor(isResult)).toMatchObject({ result: 'The new one.' });
  });

  it('leaves side questions and summaries out of the script', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    claude.say(prompt({ steps: [{ text: 'One.' }, { text: 'Two.' }] }));
    await claude.waitFor(isResult);
    claude.request({ subtype: 'side_question', question: 'What is it about?' });
    await lab.model.waitForRequest(({ kind }) => kind === 'side');
    const from = claude.lines.length;
    claude.say('Go on.');
    expect(await claude.waitFor(isResult, from)).toMatchObject({ result: 'Two.' });
    claude.say('/compact');
    await claude.waitFor((line) => line.subtype === 'compact_boundary');
    expect(lab.model.requests.map(({ kind }) => kind)).toEqual(['script', 'side', 'script', 'side']);
  });

  it('continues the script after a restart of the CLI', async () => {
    await using lab = await createLab();
    const first = lab.start();
    first.say(prompt({ steps: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] }));
    const { session_id } = await first.waitFor(isResult);
    expect(await first.finish()).toBe(0);
    const second = lab.start('--resume', session_id ?? '');
    second.say('Go on.');
    expect(await second.waitFor(isResult)).toMatchObject({ result: 'Two.' });
    const from = second.lines.length;
    second.say(prompt({ steps: [{ text: 'Another.' }] }));
    expect(await second.waitFor(isResult, from)).toMatchObject({ result: 'Another.' });
  });
});
