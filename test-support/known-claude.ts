import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readProgram } from '../tools/orchestrator/src/core/claude/claude-program.ts';
import { REAL_CLAUDE } from './real-claude.ts';

let asked: Promise<string> | undefined;

async function ask(): Promise<string> {
  const { binary, version, complaint, flags } = await readProgram(REAL_CLAUDE, { PATH: process.env.PATH ?? '' });
  if (version === null || flags === null) throw new Error(`${REAL_CLAUDE} does not say what it is: ${complaint}`);
  return JSON.stringify({ reports: [], programs: [{ binary, version, complaint, flags: [...flags] }] });
}

/**
 * Creates a data directory that knows the real `claude`, as after an earlier start: asking for its flags takes as long as a
 * third of a session's start, and hundreds of tests would ask.
 */
export async function knowClaude(dataDir: string): Promise<void> {
  asked ??= ask();
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(join(dataDir, 'doctor.json'), await asked, { mode: 0o600 });
}
