import { run } from '../tools/orchestrator/src/platform/processes.ts';

interface Location {
  cwd?: string;
  /** The whole environment; by default that of this process as it is now. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** Runs a program, through the spawner where there is one. Resolves with what it printed, without the last newline. @throws Error with its complaints if it fails */
export async function runAndRead(
  command: string,
  args: readonly string[],
  { cwd, env = process.env }: Location = {},
): Promise<string> {
  const set = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  const { failed, stdout, stderr, complaint } = await run({ command, args, cwd, env: Object.fromEntries(set) });
  if (failed) throw new Error(`${complaint}\n${stderr}`);
  return stdout;
}
