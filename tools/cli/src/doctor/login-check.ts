import { findLogin, type LoginSources } from '@callboard/orchestrator/doctor';
import { type Finding, ok, problem, warning } from './report.ts';

const LOG_IN = 'Run `claude` in a terminal and log in, or set ANTHROPIC_API_KEY';
const UNTESTED = 'the first message will show whether it is valid';

/** Checks whether `claude` has a login, as far as that can be told without the network. Never shows a secret. */
export async function checkLogin(sources: LoginSources): Promise<Finding> {
  const { state, what, gateway } = await findLogin(sources);
  const through = gateway === null ? '' : `, through ${gateway}`;
  if (state === 'found') return ok(`${what}${through}; ${UNTESTED}`);
  if (gateway !== null)
    return warning(`no key${through}; the gateway may not need one, which cannot be checked here`, LOG_IN);
  if (state === 'unknown') return warning('no login was found; there may be one that cannot be checked here', LOG_IN);
  return problem('claude is not logged in, and there is no API key', LOG_IN);
}
