import type { NewStage } from '@callboard/contract';

/** A stage of the demo. Its title tells a newcomer what to do with it. */
export type DemoStage = Omit<NewStage, 'projectId' | 'dependsOn'>;

/** Created and brought to review before anybody looks. It may edit files; the demo allows its command. */
export const finishedStage: DemoStage = {
  title: 'Tidy README (complete me)',
  prompt: 'The README has a TODO. Write what it asks for, and commit it.',
  permissionMode: 'acceptEdits',
  autoStart: true,
};

/** Waits until a person has completed the finished stage. */
export const waitingStage: DemoStage = {
  title: 'Explain checks (waits, then starts)',
  prompt: 'Now that the README names the checks, tell me in one sentence what they look at.',
  priority: 3,
  autoStart: true,
};

/** Some start at once, so that there is something to see; a person starts the others. */
export const otherStages: readonly DemoStage[] = [
  {
    title: 'Run the checks (allow me)',
    prompt: 'Run the checks of this repository and tell me what they say.',
    priority: 0,
    autoStart: true,
  },
  {
    title: 'Explain the shop (open me: live)',
    prompt: 'Explain to a new colleague how this shop computes what a customer pays.',
    priority: 1,
    autoStart: true,
  },
  {
    title: 'Round the totals (start me: a diff)',
    prompt: 'Receipts show totals such as 7.556499999999999 EUR. Round them to whole cents.',
    priority: 1,
  },
  {
    title: 'Payment (start me: questions)',
    prompt: 'Let customers pay online. Ask me about whatever is not clear.',
    priority: 1,
  },
  {
    title: 'Discount codes (start me: a plan)',
    prompt: 'Customers should be able to enter a discount code. Make a plan before you change anything.',
    priority: 2,
    permissionMode: 'plan',
  },
  {
    title: 'Code review (start me: two helpers)',
    prompt: 'Have one helper review the prices and another one measure the code, and sum up.',
    priority: 2,
  },
  {
    title: 'Tax rates (start me: failure)',
    prompt: 'Look up the current tax rates and compare them with ours.',
    priority: 3,
  },
];

/** The folder in the repository with the stages to import. */
export const IMPORT_FOLDER = 'stages';
