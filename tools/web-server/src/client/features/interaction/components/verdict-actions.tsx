import type { PendingRequest } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import type { ReactNode } from 'react';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { useDraft } from '../api/use-draft.ts';
import { useCanDecide } from '../api/use-request.ts';
import { type Approval, delayedFor, type Verdict } from '../model/verdict.ts';
import { DecisionButton, type Press, useKeysWork } from './decision-place.tsx';
import { ReasonField } from './reason-field.tsx';
import css from './request.module.css';
import { StillSending } from './still-sending.tsx';
import { useUnsentTextWarning } from './unsent-text-warning.tsx';
import { useVerdictKeys } from './use-verdict-keys.ts';

interface VerdictActionsProps {
  request: PendingRequest;
  approve: Approval;
  /** The label of the reason field; null if Claude gets no reason. */
  reasonLabel: string | null;
  /** Builds the reason that Claude reads, if it is more than the typed text. */
  reasonToSend?: (typed: string) => string;
  /** Explains, above the buttons, what a decision does. */
  caption?: ReactNode;
  /** Whether the form itself shows the server's objection to its input. */
  showsRefusal?: boolean;
  /** Further fields of an allowance. */
  allowWith?: Omit<Verdict, 'decision' | 'reason'>;
  /** Other written text that an allowance does not send. */
  leftOut?: readonly string[];
  /** The labels of the buttons; Allow and Deny by default. */
  yes?: string;
  no?: string;
  /** A choice or button beside the buttons. */
  beside?: ReactNode;
  /** Whether something is still missing for an allowance. */
  incomplete?: boolean;
}

/** The buttons that allow and deny, with the reason that the model reads. */
export function VerdictActions(props: VerdictActionsProps) {
  const { request, approve, allowWith, leftOut = [], incomplete = false, reasonToSend = same } = props;
  const { yes = 'Allow', no = 'Deny' } = props;
  const [{ reason }] = useDraft(request);
  const canAnswer = useCanDecide(request);
  const sent = approve.isPending || approve.isSuccess;
  const off = sent || !canAnswer;
  const sending = approve.variables?.decision;

  const { guard, note } = useUnsentTextWarning({ request, besides: leftOut, yes, no });
  const allow = guard((press) => approve.mutate({ decision: 'allow', ...allowWith, ...delayedFor(press) }));
  const deny = (press?: Press) => {
    const text = reasonToSend(reason).trim();
    approve.mutate({ decision: 'deny', ...(text === '' ? {} : { reason: text }), ...delayedFor(press) });
  };
  useVerdictKeys({ act: allow, isOff: off || incomplete }, { act: deny, isOff: off });
  const isReportedAbove = props.showsRefusal === true && isRefusedInput(approve.error);

  return (
    <div className={css.actions}>
      {approve.isError && !isReportedAbove && (
        <div className={css.problem}>
          <ErrorNote error={approve.error} />
        </div>
      )}
      <StillSending isPending={approve.isPending} />
      {!sent && note}
      {props.caption !== undefined && <div className={css.caption}>{props.caption}</div>}
      {props.reasonLabel !== null && <ReasonField request={request} placeholder={props.reasonLabel} disabled={sent} />}
      <div className={css.buttons}>
        {props.beside}
        <VerdictButton
          label={no}
          hint="D"
          variant="default"
          act={deny}
          disabled={off}
          loading={sent && sending === 'deny'}
        />
        <VerdictButton
          label={yes}
          hint="A"
          variant="filled"
          act={allow}
          disabled={off || incomplete}
          loading={sent && sending === 'allow'}
        />
      </div>
    </div>
  );
}

const same = (text: string) => text;

/** Whether the server refused the input. */
export const isRefusedInput = (error: Error | null): error is TransportError =>
  error instanceof TransportError && error.code === 'bad_request';

interface VerdictButtonProps {
  label: string;
  hint: 'A' | 'D';
  variant: 'filled' | 'default';
  act: (press: Press) => void;
  disabled: boolean;
  loading: boolean;
  /** `submit`: Enter in a field of the form presses the button. */
  type?: 'button' | 'submit';
}

/** A button of a form. It shows its key only while the key works. */
export function VerdictButton({ label, hint, variant, act, disabled, loading, type = 'button' }: VerdictButtonProps) {
  const keysWork = useKeysWork();
  return (
    <DecisionButton
      className={css.keyed}
      type={type}
      variant={variant}
      act={act}
      disabled={disabled}
      loading={loading}
      aria-keyshortcuts={keysWork ? hint.toLowerCase() : undefined}
      rightSection={<KeyHint isOff={!keysWork}>{hint}</KeyHint>}
    >
      {label}
    </DecisionButton>
  );
}
