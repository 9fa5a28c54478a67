import type { PendingRequest } from '@callboard/contract';
import { Button } from '@mantine/core';
import { createContext, type ReactNode, use } from 'react';
import { ApiError, errorText } from '../../../lib/api.ts';
import { requestKey } from '../../../lib/request-words.ts';
import { useCanAnswer } from '../../../live/live-context.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { useShortcuts } from '../../../ui/shortcut.ts';
import type { Approval, Verdict } from '../api/use-decide.ts';
import { useDraft } from '../api/use-draft.ts';
import { useArmed } from '../model/arming.ts';
import { useLeftOut } from './left-out.tsx';
import { ReasonField } from './reason-field.tsx';
import css from './request.module.css';
import { StillSending } from './still-sending.tsx';

/** Whether a form may take a letter that was typed on the page as its own shortcut. */
export type KeyPolicy = (event: KeyboardEvent) => boolean;

interface VerdictActionsProps {
  request: PendingRequest;
  keys: KeyPolicy;
  approve: Approval;
  reasonLabel: string;
  /** The reason as Claude gets it, where it is more than what was typed. */
  reasonToSend?: (typed: string) => string;
  /** What a decision does, above the buttons, where that has to be said. */
  caption?: ReactNode;
  /** The form shows by itself what the server finds wrong with what was filled in. */
  showsRefusal?: boolean;
  /** What an allowance takes along. */
  allowWith?: Omit<Verdict, 'decision' | 'reason'>;
  /** What was written besides the reason, and an allowance does not take along. */
  leftOut?: readonly string[];
  /** Something is still missing for an allowance. */
  incomplete?: boolean;
}

/** Allow and Deny, with the reason that the model reads. */
export function VerdictActions(props: VerdictActionsProps) {
  const { request, keys, approve, allowWith, leftOut = [], incomplete = false, reasonToSend = same } = props;
  const [{ reason }] = useDraft(request);
  const armed = useArmed(requestKey(request));
  const canAnswer = useCanAnswer();
  const sent = approve.isPending || approve.isSuccess;
  const off = sent || !armed || !canAnswer;
  const sending = approve.variables?.decision;

  const { guard, note } = useLeftOut({ request, besides: leftOut, yes: 'Allow', no: 'Deny' });
  const allow = guard(() => approve.mutate({ decision: 'allow', ...allowWith }));
  const deny = () => {
    const text = reasonToSend(reason).trim();
    approve.mutate({ decision: 'deny', ...(text === '' ? {} : { reason: text }) });
  };
  useVerdictKeys(keys, { act: allow, isOff: off || incomplete }, { act: deny, isOff: off });
  const isToldAbove = props.showsRefusal === true && isRefusedInput(approve.error);

  return (
    <div className={css.actions}>
      {approve.isError && !isToldAbove && (
        <div className={css.problem}>
          <FailureNote>{errorText(approve.error)}</FailureNote>
        </div>
      )}
      <StillSending isPending={approve.isPending} />
      {!sent && note}
      {props.caption !== undefined && <div className={css.caption}>{props.caption}</div>}
      <ReasonField request={request} placeholder={props.reasonLabel} disabled={sent} />
      <div className={css.buttons}>
        <VerdictButton
          label="Deny"
          hint="D"
          variant="default"
          act={deny}
          disabled={off}
          loading={sent && sending === 'deny'}
        />
        <VerdictButton
          label="Allow"
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

interface KeyAction {
  act: () => void;
  isOff: boolean;
}

/** A for a yes, D for a no, where the form may take them. */
export function useVerdictKeys(keys: KeyPolicy, yes: KeyAction, no: KeyAction): void {
  const byKey = (action: KeyAction) => (event: KeyboardEvent) => {
    if (action.isOff || !keys(event)) return false;
    action.act();
    return true;
  };
  useShortcuts({ a: byKey(yes), d: byKey(no) });
}

const same = (text: string) => text;

/** The server found something wrong with what was filled in. */
export const isRefusedInput = (error: Error | null): error is ApiError =>
  error instanceof ApiError && error.code === 'bad_request';

interface VerdictButtonProps {
  label: 'Allow' | 'Deny' | 'Decline' | 'Submit';
  hint: 'A' | 'D';
  variant: 'filled' | 'default';
  act: () => void;
  disabled: boolean;
  loading: boolean;
  /** `submit`: Enter in a field of the form presses it. */
  type?: 'button' | 'submit';
}

/** Whether the keys of a form do nothing just now, so that its buttons do not promise them. */
export const KeysHeld = createContext(false);

/** One of the two buttons of a form, with its key. */
export function VerdictButton({ label, hint, variant, act, disabled, loading, type = 'button' }: VerdictButtonProps) {
  const isHeld = use(KeysHeld);
  return (
    <Button
      type={type}
      variant={variant}
      onClick={act}
      disabled={disabled}
      loading={loading}
      aria-keyshortcuts={isHeld ? undefined : hint.toLowerCase()}
      rightSection={<KeyHint isOff={isHeld}>{hint}</KeyHint>}
    >
      {label}
    </Button>
  );
}
