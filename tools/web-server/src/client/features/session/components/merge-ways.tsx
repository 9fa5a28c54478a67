import type { MergeMethod } from '@callboard/contract';
import { SegmentedControl } from '@mantine/core';
import { METHOD_NAMES } from '../../../lib/completion-words.ts';
import css from './finish.module.css';

const WAYS: { value: MergeMethod; label: string }[] = [
  { value: 'merge', label: METHOD_NAMES.merge },
  { value: 'squash', label: METHOD_NAMES.squash },
  { value: 'rebase', label: METHOD_NAMES.rebase },
];

/** The three ways in which work comes into its target. */
export function MergeWays({
  method,
  choose,
  disabled,
}: {
  method: MergeMethod;
  choose: (method: MergeMethod) => void;
  disabled: boolean;
}) {
  return (
    <SegmentedControl<MergeMethod>
      className={css.ways ?? ''}
      aria-label="How to merge"
      size="xs"
      data={WAYS}
      value={method}
      onChange={choose}
      disabled={disabled}
    />
  );
}
