import { questionsOf, visibleText } from '@callboard/contract';
import { count } from '../../../lib/format.ts';
import { firstLine } from '../../../lib/request-text.ts';
import type { RequestKindView } from './shared/definition.ts';

/** One or more questions with options and free text. */
export const question: RequestKindView = {
  name: 'Question',
  title({ input }) {
    const asked = questionsOf(input).length;
    return asked > 1 ? `has ${count(asked, 'question')}` : 'has a question';
  },
  summary: ({ input }) => ({
    text: `asks: ${visibleText(firstLine(questionsOf(input)[0]?.question ?? 'a question'), 'prose')}`,
  }),
  Body: ({ parts, ...props }) => <parts.QuestionBody {...props} />,
  denied: 'Declined',
  showsChangedInput: false,
  namesSubject: false,
  canBeGrouped: false,
  isDecidableOnCard: () => false,
};
