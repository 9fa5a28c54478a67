import { askedTexts, type PendingRequest } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { Box, Textarea } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { Hint } from '../../ui/primitives.tsx';
import { KeyHint } from '../../ui/shortcuts.tsx';
import { HiddenNote } from '../../ui/text.tsx';
import { DecisionButton, type Press, useKeysWork, useVerdictKeys } from './decision-slot.tsx';
import css from './request.module.css';
import { useDraft } from './request-drafts.ts';
import { type Approval, delayedFor, useCanDecide, type Verdict } from './use-request.ts';

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
        <Box flex="1 0 100%">
          <ErrorNote error={approve.error} />
        </Box>
      )}
      <StillSending isPending={approve.isPending} />
      {!sent && note}
      {props.caption !== undefined && props.caption !== false && (
        <Hint component="div" flex="1 0 100%">
          {props.caption}
        </Hint>
      )}
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
      flex="1 1 220px"
      miw={0}
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

/** Says that an answer has not arrived yet, if it was given while Callboard is unreachable. */
export function StillSending({ isPending }: { isPending: boolean }) {
  const isAway = !useCanCommand();
  return (
    <div className={css.sending} role="status">
      {isPending && isAway && (
        <Note>
          Not delivered yet: Callboard cannot be reached just now. Your answer is sent once it is back, as long as this
          page stays open.
        </Note>
      )}
    </div>
  );
}

/** A second press within this time belongs to the first. */
const ONE_PRESS_MS = 500;

interface UnsentTextWarning {
  request: PendingRequest;
  /** Other written text that is sent only with a denial: "2 comments". */
  besides?: readonly string[];
  /** The labels of the buttons. */
  yes: string;
  no: string;
}

/** An allowance carries no text for Claude. If a person wrote some, the first press warns and the second one allows. */
export function useUnsentTextWarning({ request, besides = [], yes, no }: UnsentTextWarning) {
  const [{ reason }] = useDraft(request);
  const [askedAt, setAskedAt] = useState<number | null>(null);
  const parts = [...besides, ...(reason.trim() === '' ? [] : ['the reason'])];
  const guard = (act: (press?: Press) => void) => (press?: Press) => {
    if (parts.length === 0) act(press);
    else if (askedAt === null) setAskedAt(performance.now());
    else if (performance.now() - askedAt > ONE_PRESS_MS) act(press);
  };
  const isAsked = askedAt !== null && parts.length > 0;
  const note = (
    <div className={css.sending} role="status">
      {isAsked && (
        <Note>
          “{yes}” leaves out what you wrote ({parts.join(' and ')}): Claude reads it only with “{no}”. Press “{yes}”
          again to go on without it.
        </Note>
      )}
    </div>
  );
  return { guard, note };
}

/** Whether the request contains hidden characters. Where it comes from and since when it waits is in the form's head. */
export const RequestMeta = ({ request }: { request: PendingRequest }) => <HiddenNote texts={askedTexts(request)} />;
