import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { prompt, type Script } from '../src/index.ts';
import type { Claude, Line } from './claude.ts';
import { createLab } from './lab.ts';

const isResult = (line: Line) => line.type === 'result';
const isAsked = (line: Line) => line.request?.subtype === 'can_use_tool';
const allow = { behavior: 'allow' };

/** Sends a script as a prompt and waits for the turn's result. */
function turn(claude: Claude, ...steps: Script['steps']): Promise<Line> {
  const from = claude.lines.length;
  claude.say(prompt({ steps }, 'Please.'));
  return claude.waitFor(isResult, from);
}

describe('the real CLI in a turn', () => {
  it('prints a scripted text with its thinking, split at any point', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    const text = 'Größe 🎈 — done';
    const result = await turn(claude, {
      thinking: 'Hm…',
      text,
      chunkChars: 2,
      chunkBytes: 3,
      usage: { output_tokens: 42 },
    });
    expect(result).toMatchObject({ subtype: 'success', is_error: false, result: text, usage: { output_tokens: 42 } });
    const deltas = claude.lines.map((line) => line.event?.delta?.text ?? '');
    expect(deltas.join('')).toBe(text);
    expect(lab.model.requests).toMatchObject([{ kind: 'script', script: 'inline', step: 0, subagent: false }]);
    expect(await claude.finish()).toBe(0);
  });

  it('answers a prompt without a script', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    claude.say('Hello there');
    expect(await claude.waitFor(isResult)).toMatchObject({ result: 'OK.' });
  });

  it('asks for a Bash command and runs it', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    const result = turn(claude, { tools: [{ name: 'Bash', input: { command: 'touch x' } }] }, { text: 'Touched.' });
    const asked = await claude.waitFor(isAsked);
    expect(existsSync(path.join(lab.cwd, 'x'))).toBe(false);
    claude.answer(asked, allow);
    expect(await result).toMatchObject({ result: 'Touched.', num_turns: 2 });
    expect(existsSync(path.join(lab.cwd, 'x'))).toBe(true);
  });

  it('ends the turn automatically when the script ends with a tool call', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    expect(await turn(claude, { tools: [{ name: 'Bash', input: { command: 'echo hi' } }] })).toMatchObject({
      result: 'Done.',
    });
  });

  it('has three parallel Reads open at once', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    const files = ['a', 'b', 'c'].map((name) => path.join(lab.outside, name));
    await Promise.all(files.map((file) => writeFile(file, `in ${file}`)));
    const tools = files.map((file_path) => ({ name: 'Read', input: { file_path } }));
    const result = turn(claude, { tools }, { text: 'Read all.' });
    await claude.waitFor(() => claude.lines.filter(isAsked).length === 3);
    for (const asked of claude.lines.filter(isAsked)) claude.answer(asked, allow);
    expect(await result).toMatchObject({ result: 'Read all.' });
    expect(lab.model.requests.map((request) => request.step)).toEqual([0, 1]);
  });

  it('passes a question on', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    const options = ['Red', 'Blue'].map((label) => ({ label, description: label }));
    const questions = [{ question: 'Which colour?', header: 'Colour', multiSelect: false, options }];
    const result = turn(
      claude,
      { tools: [{ name: 'AskUserQuestion', input: { questions } }] },
      { text: 'Blue it is.' },
    );
    const asked = await claude.waitFor(isAsked);
    expect(asked.request).toMatchObject({ tool_name: 'AskUserQuestion', requires_user_interaction: true });
    claude.answer(asked, { ...allow, updatedInput: { questions, answers: { 'Which colour?': 'Blue' } } });
    expect(await result).toMatchObject({ result: 'Blue it is.' });
    expect(JSON.stringify(lab.model.requests.at(-1)?.messages)).toContain('=\\"Blue\\"');
  });

  it('gives a subagent its own script', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    const task = prompt({
      steps: [{ tools: [{ name: 'Bash', input: { command: 'touch child' } }] }, { text: 'Child done.' }],
    });
    const input = { description: 'a task', prompt: task, subagent_type: 'general-purpose', run_in_background: false };
    const result = turn(claude, { tools: [{ name: 'Agent', input }] }, { text: 'Parent done.' });
    claude.answer(await claude.waitFor(isAsked), allow);
    expect(await result).toMatchObject({ result: 'Parent done.' });
    const steps = lab.model.requests.map(({ subagent, step }) => `${subagent ? 'child' : 'parent'} ${step}`);
    expect(steps).toEqual(['parent 0', 'child 0', 'child 1', 'parent 1']);
  });

  it('writes the plan file and leaves plan mode', async () => {
    await using lab = await createLab();
    const claude = lab.start('--permission-mode', 'plan');
    const result = turn(
      claude,
      { tools: [{ name: 'Write', input: { file_path: '{{planFile}}', content: '# The plan' } }] },
      { tools: [{ name: 'ExitPlanMode', input: {} }] },
      { text: 'On it.' },
    );
    const asked = await claude.waitFor(isAsked);
    expect(asked.request).toMatchObject({ tool_name: 'ExitPlanMode', input: { plan: '# The plan' } });
    claude.answer(asked, allow);
    expect(await result).toMatchObject({ result: 'On it.' });
  });
});
