import { type Budget, spentText } from '@callboard/contract';
import { Button } from '@mantine/core';
import css from './budget-meter.module.css';

/** What is spent of a budget, as a bar and in words for each of its limits. */
export function BudgetMeter({ budget: { usd, tokens, spent } }: { budget: Budget }) {
  return (
    <div className={css.limits}>
      {usd !== null && <Meter unit="usd" spent={spent.usd} limit={usd} />}
      {tokens !== null && <Meter unit="tokens" spent={spent.tokens} limit={tokens} />}
    </div>
  );
}

function Meter(limit: { unit: 'usd' | 'tokens'; spent: number; limit: number }) {
  const share = limit.spent / limit.limit;
  const text = share >= 1 ? ', spent' : share >= 0.8 ? ', nearly spent' : '';
  return (
    <div>
      <div className={css.meter} data-near={share >= 0.8} aria-hidden>
        <span style={{ width: `${Math.min(100, share * 100)}%` }} />
      </div>
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
    <div className={css.row}>
      {budget === null ? <span>No limit</span> : <BudgetMeter budget={budget} />}
      <Button variant="default" size="compact-md" onClick={change}>
        {budget === null ? 'Set a budget' : 'Change the budget'}
      </Button>
    </div>
  );
}
