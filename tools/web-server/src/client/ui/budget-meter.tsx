import { type Budget, spentText } from '@callboard/contract';
import { Button, Stack } from '@mantine/core';
import { Meter } from './primitives.tsx';

/** What is spent of a budget, as a bar and in words for each of its limits. */
export function BudgetMeter({ budget: { usd, tokens, spent } }: { budget: Budget }) {
  return (
    <Stack w="100%" fz="row">
      {usd !== null && <Spent unit="usd" spent={spent.usd} limit={usd} />}
      {tokens !== null && <Spent unit="tokens" spent={spent.tokens} limit={tokens} />}
    </Stack>
  );
}

function Spent(limit: { unit: 'usd' | 'tokens'; spent: number; limit: number }) {
  const share = limit.spent / limit.limit;
  const text = share >= 1 ? ', spent' : share >= 0.8 ? ', nearly spent' : '';
  return (
    <div>
      <Meter share={share} isNear={share >= 0.8} />
      <span className="figures">
        {spentText(limit)}
        {text}
      </span>
    </div>
  );
}

/** A budget with what is spent, and a button that changes it. Without one, it can be set. */
export function BudgetRow({ budget, change }: { budget: Budget | null; change: () => void }) {
  return (
    <Stack align="flex-start">
      {budget === null ? <span>No limit</span> : <BudgetMeter budget={budget} />}
      <Button variant="default" size="compact-md" onClick={change}>
        {budget === null ? 'Set a budget' : 'Change the budget'}
      </Button>
    </Stack>
  );
}
