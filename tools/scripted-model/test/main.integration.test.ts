import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { COMPILE_CACHE } from '../../../test-support/compile-cache.ts';

const MAIN = path.join(import.meta.dirname, '../src/main.ts');
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'scripted-model-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('main', () => {
  it.each(['stdin', 'SIGTERM'])('prints its address, serves its scripts and ends with %s', async (ending) => {
    const file = path.join(directory, 'scripts.yaml');
    await writeFile(file, 'greet:\n  steps:\n    - text: Hello from the file\n');
    const child = spawn(process.execPath, ['--import', COMPILE_CACHE, MAIN, '--scripts', file], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    const body = { model: 'm', messages: [{ role: 'user', content: '[[script:@greet]]' }] };
    const answer = await fetch(`${JSON.parse(line).url}/v1/messages`, { method: 'POST', body: JSON.stringify(body) });
    expect(await answer.json()).toMatchObject({ content: [{ text: 'Hello from the file' }] });
    if (ending === 'stdin') child.stdin.end();
    else child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});
