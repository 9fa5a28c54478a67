import { type Finding, ok, problem } from './machine-check.ts';

/** @param user the account of `--agent-user`, null for none. */
export function checkAgentUser(user: string | null): Finding {
  if (user === null) return ok('claude runs as yourself');
  return problem(`running claude as ${user} is not supported yet`, 'Leave out --agent-user (CALLBOARD_AGENT_USER)');
}
