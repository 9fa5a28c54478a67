import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { prompt } from '../src/index.ts';
import type { Claude, Line } from './claude.ts';
import { createLab } from './lab.ts';

/** Requests of the CLI that Callboard does not use yet and will rely on; docs/protocol.md describes each one. */

const CHECKPOINTS = ['--settings', '{"env":{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING":"1"}}'];
const FREELY = ['--permission-mode', 'acceptEdits', '--allowedTools', 'Bash'];

const write = (file_path: string, content: string) => ({ name: 'Write', input: { file_path, content } });
const isResult = ({ type }: Line) => type === 'result';

/** Sends a message and waits for the end of its turn; resolves with its uuid and the output. */
async function turn(claude: Claude, content: string): Promise<{ uuid: string; lines: readonly Line[] }> {
  const from = claude.lines.length;
  const uuid = claude.say(content);
  await claude.waitFor(isResult, from);
  return { uuid, lines: claude.lines.slice(from) };
}

describe('rewind_files', () => {
  it('reverts the changes by Write and Edit since a message, but none by Bash or a subagent', async () => {
    await using lab = await createLab();
    const at = (name: string) => path.join(lab.cwd, name);
    await writeFile(at('old.txt'), 'one\n');
    const claude = lab.start(...CHECKPOINTS, ...FREELY);
    const part = prompt({ steps: [{ tools: [write(at('agent.txt'), 'by an agent\n')] }, { text: 'Written.' }] });
    const agent = { description: 'part', prompt: part, subagent_type: 'general-purpose', run_in_background: false };
    const { uuid } = await turn(
      claude,
      prompt({
        steps: [
          { tools: [{ name: 'Read', input: { file_path: at('old.txt') } }] },
          { tools: [write(at('old.txt'), 'two\n'), write(at('new.txt'), 'new\n')] },
          { tools: [{ name: 'Bash', input: { command: 'echo by bash > bash.txt', description: 'Write' } }] },
          { tools: [{ name: 'Agent', input: agent }] },
          { text: 'Done.' },
        ],
      }),
    );
    const rewind = { subtype: 'rewind_files', user_message_id: uuid };
    expect(await claude.ask({ ...rewind, dry_run: true })).toMatchObject({
      response: { canRewind: true, filesChanged: [at('old.txt'), at('new.txt')], insertions: 1, deletions: 2 },
    });
    expect(await readFile(at('old.txt'), 'utf8')).toBe('two\n');
    expect(await claude.ask(rewind)).toMatchObject({ subtype: 'success', response: { canRewind: true } });
    expect(await readFile(at('old.txt'), 'utf8')).toBe('one\n');
    expect(['new.txt', 'bash.txt', 'agent.txt'].map((name) => existsSync(at(name)))).toEqual([false, true, true]);
    const unknown = { ...rewind, user_message_id: 'nobody' };
    const error = 'No file checkpoint found for this message.';
    expect(await claude.ask({ ...unknown, dry_run: true })).toMatchObject({ response: { canRewind: false, error } });
    expect(await claude.ask(unknown)).toMatchObject({ subtype: 'error', error });
  });

  it('is refused if checkpoints are off', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    const { uuid } = await turn(claude, prompt({ steps: [{ text: 'Hello.' }] }));
    expect(await claude.ask({ subtype: 'rewind_files', user_message_id: uuid })).toMatchObject({
      error: 'File rewinding is not enabled.',
    });
  });
});

describe('a fork', () => {
  it('continues from any message under its own id, and leaves the first conversation unchanged', async () => {
    await using lab = await createLab();
    const first = '10000000-0000-4000-8000-000000000001';
    const second = '20000000-0000-4000-8000-000000000002';
    const claude = lab.start('--session-id', first);
    const { lines } = await turn(claude, prompt({ steps: [{ text: 'The first answer.' }] }, 'First.'));
    await turn(claude, prompt({ steps: [{ text: 'The second answer.' }] }, 'Second.'));
    const answer = lines.findLast(({ type }) => type === 'assistant')?.uuid;
    const resume = ['--resume', first, '--fork-session', '--session-id', second];
    const fork = lab.start(...resume, '--resume-session-at', String(answer));
    const { lines: forked } = await turn(fork, 'Another way.');
    expect(forked.find(isResult)?.session_id).toBe(second);
    const sent = JSON.stringify(lab.model.requests.at(-1)?.messages);
    expect(sent).toContain('The first answer.');
    expect(sent).not.toContain('Second.');
    await turn(claude, 'Third.');
    const whole = JSON.stringify(lab.model.requests.at(-1)?.messages);
    expect(whole).toContain('The second answer.');
    expect(whole).not.toContain('Another way.');
  });
});

describe('side_question', () => {
  it('is answered while a tool waits for a person, and appears in no history', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    const touch = { name: 'Bash', input: { command: 'touch asked', description: 'Touch' } };
    claude.say(prompt({ steps: [{ tools: [touch] }, { text: 'Done.' }] }));
    const asked = await claude.waitFor(({ type }) => type === 'control_request');
    const reply = await claude.ask({ subtype: 'side_question', question: 'How far are you?' });
    expect(reply).toMatchObject({ response: { response: 'OK.', synthetic: false } });
    claude.answer(asked, { behavior: 'allow' });
    expect((await claude.waitFor(isResult)).result).toBe('Done.');
    expect(JSON.stringify(lab.model.requests.at(-1)?.messages)).not.toContain('How far are you?');
  });
});

describe('reload_skills', () => {
  it('finds a skill that was added after the start', async () => {
    await using lab = await createLab();
    const claude = lab.start();
    await turn(claude, prompt({ steps: [{ text: 'Hello.' }] }));
    await mkdir(path.join(lab.cwd, '.claude', 'commands'), { recursive: true });
    await writeFile(path.join(lab.cwd, '.claude', 'commands', 'greet.md'), '---\ndescription: Greets\n---\nHello\n');
    const reply = JSON.stringify(await claude.ask({ subtype: 'reload_skills' }));
    expect(reply).toContain('"name":"greet"');
  });
});
