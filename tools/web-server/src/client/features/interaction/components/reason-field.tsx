import type { PendingRequest } from '@callboard/contract';
import { Textarea } from '@mantine/core';
import { useDraft } from '../api/use-draft.ts';
import css from './request.module.css';

interface ReasonFieldProps {
  request: PendingRequest;
  /** What it is for. */
  placeholder: string;
  disabled: boolean;
}

/** A field for the reason of a denial, kept in the request's draft. */
export function ReasonField({ request, placeholder, disabled }: ReasonFieldProps) {
  const [{ reason }, change] = useDraft(request);
  return (
    <Textarea
      className={css.reason}
      aria-label="Reason"
      placeholder={placeholder}
      autosize
      minRows={1}
      maxRows={6}
      value={reason}
      disabled={disabled}
      onChange={(event) => change({ reason: event.currentTarget.value })}
    />
  );
}
