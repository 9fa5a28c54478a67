import type { RequestKindView } from './shared/definition.ts';

/** A plan that a person accepts or sends back with comments. */
export const plan: RequestKindView = {
  name: 'Plan',
  title: () => 'Review the plan',
  summary: () => ({ text: 'Review the plan' }),
  Body: ({ parts, ...props }) => <parts.PlanBody {...props} />,
  denied: 'Denied',
  showsChangedInput: false,
  namesSubject: false,
  canBeGrouped: false,
  isDecidableOnCard: () => false,
};
