import { type DryRun, exactDuration, type RuleLocation, visibleText } from '@callboard/contract';
import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { count } from '../../../lib/format.ts';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useRehearsals } from '../api/use-rule-offer.ts';
import css from './content.module.css';

/** What rules would have done so far, by the decision log: what they would have answered, and let through. */
export function DryRunLines({ rules, scope }: { rules: readonly string[]; scope: RuleLocation }) {
  const results = useRehearsals(rules, scope);
  return (
    <div aria-live="polite">
      {results.map(({ data, isError }, index) => (
        <div key={rules[index]} className={css.hint}>
          {rules.length > 1 && <code className={css.rule}>{visibleText(rules[index] ?? '', 'command')}</code>}{' '}
          {isError && 'What it would have done so far is not known.'}
          {data === undefined && !isError && 'Comparing with the decision log …'}
          {data !== undefined && <Result dryRun={data} />}
        </div>
      ))}
    </div>
  );
}

function Result({ dryRun }: { dryRun: DryRun }) {
  const { waits, answered, waitedMs, unsure, denied, wouldAllowDenied, since } = dryRun;
  return (
    <>
      Would have answered {answered} of {count(waits, 'wait')}
      {answered > 0 && ` (${exactDuration(waitedMs)} of waiting)`}
      {since !== null && (
        <>
          {' '}
          since <TimeSince at={since} ago />
        </>
      )}
      .{unsure > 0 && ` ${count(unsure, 'more', 'more')}: only Claude Code can tell.`}
      {denied > 0 && (
        <details open>
          <summary>
            <strong>Would have let through {denied} that were denied</strong>
          </summary>
          <ul>
            {wouldAllowDenied.map((one) => (
              <li key={`${one.stageId}/${one.requestId}`}>
                {visibleText(one.asked, 'command')},{' '}
                <Anchor component={Link} to={`/stages/${one.stageId}`} inherit>
                  {one.stageTitle ?? one.stageId}
                </Anchor>
                , {one.by !== null && `by ${one.by} `}
                <TimeSince at={one.at} ago />
                {one.reason !== null && `: ${visibleText(one.reason, 'prose')}`}
              </li>
            ))}
            {denied > wouldAllowDenied.length && <li>and {denied - wouldAllowDenied.length} more</li>}
          </ul>
        </details>
      )}
    </>
  );
}
