import { visibleText } from '@callboard/contract';
import { firstLine } from '../../../lib/format.ts';
import { field } from '../../../lib/tool-text.ts';
import type { RequestKindView } from './shared/definition.ts';

/** A form that an MCP server asks a person to fill in. */
export const elicitation: RequestKindView = {
  name: 'Form',
  title: ({ displayName }) => `${visibleText(displayName, 'prose')} asks for details`,
  summary: ({ displayName, input }) => ({
    text: visibleText(`${displayName} asks: ${firstLine(field(input, 'message'))}`, 'prose'),
  }),
  Body: ({ parts, ...props }) => <parts.ElicitationBody {...props} />,
  denied: 'Denied',
  showsChangedInput: false,
  namesSubject: false,
  canBeGrouped: false,
  isDecidableOnCard: () => false,
};
