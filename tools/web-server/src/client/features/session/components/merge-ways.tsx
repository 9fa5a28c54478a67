import { SegmentedControl } from '@mantine/core';
import { METHOD_NAMES } from '../../../lib/completion-words.ts';
import type { FinishChoice } from '../model/merge-method.ts';
import css from './finish.module.css';

const WAYS: { value: FinishChoice; label: string }[] = [
  { value: 'merge', label: METHOD_NAMES.merge },
  { value: 'squash', label: METHOD_NAMES.squash },
  { value: 'rebase', label: METHOD_NAMES.rebase },
  { value: 'pull-request', label: 'Pull request' },
];

/** The ways in which work comes into its target: here, or on the code host. */
export function MergeWays({
  method,
  choose,
  disabled,
}: {
  method: FinishChoice;
  choose: (method: FinishChoice) => void;
  disabled: boolean;
}) {
  return (
    <SegmentedControl<FinishChoice>
      className={css.ways ?? ''}
      aria-label="How to finish"
      size="xs"
      data={WAYS}
      value={method}
      onChange={choose}
      disabled={disabled}
    />
  );
}
