interface Account {
  /** As `process.getuid` says; undefined where there is no such thing. */
  uid: number | undefined;
  /** The environment that the CLI would get. */
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * Why the CLI would not start in this mode, in its own words; null where nothing is known against it. It does not let root
 * run without questions, unless it is told that it is in a sandbox (2.1.330).
 */
export function refusedMode(mode: string, { uid, env }: Account): string | null {
  const isInSandbox = env.IS_SANDBOX === '1' || Boolean(env.CLAUDE_CODE_BUBBLEWRAP);
  return mode === 'bypassPermissions' && uid === 0 && !isInSandbox
    ? 'bypassPermissions cannot be used with root/sudo privileges for security reasons'
    : null;
}
