import { questionsOf, visibleText } from '@callboard/contract';
import { count, firstLine } from '../../../lib/format.ts';
import type { RequestKindView } from './shared/definition.ts';

/** One or more questions with options and free text. */
export const question: RequestKindView = {
  name: 'Question',
  title({ input }) {
    const asked = questionsOf(input).length;
    return asked > 1 ? count(asked, 'question') : 'A question';
  },
  summary({ input }) {
    const asked = questionsOf(input);
    const first = visibleText(firstLine(asked[0]?.question ?? 'A question'), 'prose');
    return { text: asked.length > 1 ? `${count(asked.length, 'question')}: ${first}` : first };
  },
  Body: ({ parts, ...props }) => <parts.QuestionBody {...props} />,
  denied: 'Declined',
  showsChangedInput: false,
  namesSubject: false,
  canBeGrouped: false,
  isDecidableOnCard: () => false,
};
