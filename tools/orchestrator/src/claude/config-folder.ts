import { join } from 'node:path';

/** Where Claude Code keeps what is the user's: settings, conversations. @param env the environment that it is given */
export const configFolder = (env: Readonly<Record<string, string>>): string =>
  env.CLAUDE_CONFIG_DIR || join(env.HOME ?? '/', '.claude');
