import type { PendingRequest } from '@callboard/contract';
import { Button, Textarea } from '@mantine/core';
import { errorText } from '../../../lib/api.ts';
import { requestKey } from '../../../lib/request-words.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { useShortcuts } from '../../../ui/shortcut.ts';
import { useApprove, type Verdict } from '../api/use-decide.ts';
import { useArmed } from '../model/arming.ts';
import { useDraft, useDrafts } from '../model/drafts.ts';
import css from './request.module.css';

/** Whether a form may take a letter that was typed on the page as its own shortcut. */
export type KeyPolicy = (event: KeyboardEvent) => boolean;

interface VerdictActionsProps {
  request: PendingRequest;
  keys: KeyPolicy;
  reasonLabel: string;
  /** What an allowance takes along. */
  allowWith?: Omit<Verdict, 'decision' | 'reason'>;
  /** Something is still missing for an allowance. */
  incomplete?: boolean;
}

/** Allow and Deny, with the reason that the model reads. */
export function VerdictActions({ request, keys, reasonLabel, allowWith, incomplete = false }: VerdictActionsProps) {
  const key = requestKey(request);
  const { reason } = useDraft(key);
  const change = useDrafts((drafts) => drafts.change);
  const approve = useApprove(request);
  const armed = useArmed(key);
  const canCommand = useCanCommand();
  const sent = approve.isPending || approve.isSuccess;
  const off = sent || !armed || !canCommand;
  const sending = approve.variables?.decision;

  const allow = () => approve.mutate({ decision: 'allow', ...allowWith });
  const deny = () => approve.mutate({ decision: 'deny', ...(reason.trim() === '' ? {} : { reason: reason.trim() }) });
  const byKey = (act: () => void, isOff: boolean) => (event: KeyboardEvent) => {
    if (isOff || !keys(event)) return false;
    act();
    return true;
  };
  useShortcuts({ a: byKey(allow, off || incomplete), d: byKey(deny, off) });

  return (
    <div className={css.actions}>
      {approve.isError && (
        <div className={css.problem}>
          <FailureNote>{errorText(approve.error)}</FailureNote>
        </div>
      )}
      <Textarea
        className={css.reason}
        aria-label="Reason"
        placeholder={reasonLabel}
        autosize
        minRows={1}
        maxRows={6}
        value={reason}
        disabled={sent}
        onChange={(event) => change(key, { reason: event.currentTarget.value })}
      />
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

interface VerdictButtonProps {
  label: 'Allow' | 'Deny';
  hint: 'A' | 'D';
  variant: 'filled' | 'default';
  act: () => void;
  disabled: boolean;
  loading: boolean;
}

function VerdictButton({ label, hint, variant, act, disabled, loading }: VerdictButtonProps) {
  return (
    <Button
      variant={variant}
      onClick={act}
      disabled={disabled}
      loading={loading}
      aria-keyshortcuts={hint.toLowerCase()}
      rightSection={<KeyHint>{hint}</KeyHint>}
    >
      {label}
    </Button>
  );
}
