import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { claudeEnvironment } from '@callboard/scripted-model';
import { z } from 'zod';
import { run } from '../support/processes.ts';

const CLAUDE = fileURLToPath(new URL('../../node_modules/.bin/claude', import.meta.url));
const Line = z.looseObject({ type: z.string(), request_id: z.string().optional() });

/** The same `claude` on plain pipes, with nothing between it and the one who measures: the baseline. */
export async function startRawClaude(modelUrl: string, folder: string, repo: string) {
  const cwd = `${folder}/raw`;
  await run('git', ['worktree', 'add', '--quiet', '-b', 'raw', cwd], repo); // what a stage has as well
  const env = { ...claudeEnvironment(modelUrl, `${folder}/raw-home`), TMPDIR: `${folder}/tmp` };
  const args =
    '-p --input-format=stream-json --output-format=stream-json --permission-prompt-tool=stdio --verbose --include-partial-messages --replay-user-messages';
  const child = spawn(CLAUDE, args.split(' '), { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const waiting = new Map<string, (line: z.infer<typeof Line>) => void>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = Line.parse(JSON.parse(text));
    const wanted = waiting.get(line.type);
    waiting.delete(line.type);
    wanted?.(line);
  });
  return {
    send: (line: object) => child.stdin.write(`${JSON.stringify(line)}\n`),
    /** The next line of that type. */
    next: (type: string) => new Promise<z.infer<typeof Line>>((resolve) => waiting.set(type, resolve)),
    end: () => child.kill('SIGKILL'),
  };
}
