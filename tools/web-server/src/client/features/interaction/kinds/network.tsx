import { askedTexts, hiddenWarning, hostPlace, type PendingRequest } from '@callboard/contract';
import { hostWords } from '../../../lib/request-text.ts';
import { field } from '../../../lib/tool-words.ts';
import type { RequestKindView } from './shared/definition.ts';

/** A sandboxed command that wants to reach a host. */
export const network: RequestKindView = {
  name: 'Network',
  title: (request) => `Connect to ${hostWords(request)}?`,
  summary: (request) => ({ text: `Connect to ${hostWords(request)}` }),
  Body: ({ parts, ...props }) => <parts.NetworkBody {...props} />,
  denied: 'Denied',
  showsChangedInput: false,
  namesSubject: true,
  canBeGrouped: true,
  isDecidableOnCard,
};

const LONGEST_ON_CARD = 60;

/** Never for a host that the form warns about. */
function isDecidableOnCard(request: PendingRequest): boolean {
  const host = field(request.input, 'host');
  const isPlain = host !== '' && host.length <= LONGEST_ON_CARD && hostPlace(host) === null;
  return isPlain && hiddenWarning(askedTexts(request)) === null;
}
