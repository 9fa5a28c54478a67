import { askedTexts, hiddenWarning, hostLocation, type PendingRequest } from '@callboard/contract';
import { hostText } from '../../../lib/format.ts';
import { field } from '../../../lib/tool-text.ts';
import type { RequestKindView } from './shared/definition.ts';

/** A sandboxed command that wants to reach a host. */
export const network: RequestKindView = {
  name: 'Network',
  title: (request) => `Connect to ${hostText(request)}?`,
  summary: (request) => ({ text: `Connect to ${hostText(request)}` }),
  Body: ({ parts, ...props }) => <parts.NetworkBody {...props} />,
  denied: 'Denied',
  showsChangedInput: false,
  namesSubject: true,
  canBeGrouped: true,
  isDecidableOnCard,
};

const MAX_ON_CARD_LENGTH = 60;

/** Never for a host that the form warns about. */
function isDecidableOnCard(request: PendingRequest): boolean {
  const host = field(request.input, 'host');
  const isPlain = host !== '' && host.length <= MAX_ON_CARD_LENGTH && hostLocation(host) === null;
  return isPlain && hiddenWarning(askedTexts(request)) === null;
}
