import { hiddenWarning, hostPlace, type PendingRequest } from '@callboard/contract';
import { field, toolWords } from '../../../lib/tool-words.ts';
import { askedTexts } from './asked-texts.ts';

const SHORT = 60;
const DECIDED_BY_A_LINE = ['Bash', 'Read', 'WebFetch', 'WebSearch', 'Glob', 'Grep'];

/** A host that nothing has to be said of. */
function isPlainHost(request: PendingRequest): boolean {
  const host = field(request.input, 'host');
  const isPlain = host !== '' && host.length <= SHORT && hostPlace(host) === null;
  return isPlain && hiddenWarning(askedTexts(request)) === null;
}

/** Whether one short line says all that there is to decide on; never where there is something to warn of. */
export function isShort(request: PendingRequest): boolean {
  if (request.kind === 'network') return isPlainHost(request);
  if (request.leavesSandbox !== null) return false;
  if (request.kind !== 'approval' || !DECIDED_BY_A_LINE.includes(request.toolName)) return false;
  if (request.toolName === 'Bash' && field(request.input, 'command').includes('\n')) return false;
  if (hiddenWarning(askedTexts(request)) !== null) return false;
  const { object } = toolWords(request.toolName, request.input);
  return object !== '' && object.length <= SHORT;
}
