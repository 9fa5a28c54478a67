import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a command in a folder and returns what it printed. */
export async function run(command: string, args: string[], cwd: string): Promise<string> {
  return (await execute(command, args, { cwd })).stdout;
}

/** The living processes whose command line names the folder, as `pid args`. */
export async function processesOf(folder: string): Promise<string[]> {
  const { stdout } = await execute('ps', ['-eo', 'pid=,stat=,args='], { maxBuffer: 16 * 1024 * 1024 });
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.includes(folder) && !/^\d+ Z/.test(line));
}

/** Pids of those of them that run `claude`. */
export async function claudePids(folder: string): Promise<number[]> {
  const lines = await processesOf(folder);
  return lines
    .filter((line) => line.includes('--permission-prompt-tool=stdio'))
    .map((line) => Number.parseInt(line, 10));
}
