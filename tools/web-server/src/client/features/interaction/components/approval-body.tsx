import { blockedPathText, type PendingRequest, visibleText } from '@callboard/contract';
import { Button, type ButtonProps } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useState } from 'react';
import { toolText } from '../../../lib/tool-words.ts';
import { ChangedInput } from '../../../ui/changed-input.tsx';
import { ErrorBoundary, lazyComponent } from '../../../ui/error-boundary.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { useShortcuts } from '../../../ui/shortcuts.ts';
import { RisksLine } from '../../../ui/stakes-line.tsx';
import { useDraft } from '../api/use-draft.ts';
import { useFolder } from '../api/use-request.ts';
import { useRuleOffer } from '../api/use-rule-offer.ts';
import { alwaysAllowOffers, editsOffer } from '../model/always-allow-offers.ts';
import { changedInput, editableText, editProblem } from '../model/edited-input.ts';
import type { FormProps } from '../model/verdict.ts';
import { realReason } from '../words/reason-words.ts';
import { AllowEdits } from './allow-edits.tsx';
import { AlwaysAllow } from './always-allow.tsx';
import { AskedInput } from './asked-input.tsx';
import content from './content.module.css';
import { useDecision, useKeysWork } from './decision-place.tsx';
import { LastSteps } from './last-steps.tsx';
import { LeavesSandbox } from './leaves-sandbox.tsx';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { isRefusedInput, VerdictActions } from './verdict-actions.tsx';

const InputEditor = lazyComponent(() => import('./input-editor.tsx'));

type Panel = 'always' | 'edits' | 'steps';

/** A tool call that waits for permission: what would run, on what, what is at risk, and why Claude Code asks. */
export function ApprovalBody({ request, approve }: FormProps) {
  const folder = useFolder(request.stageId);
  const [{ edited }, change] = useDraft(request);
  const sent = approve.isPending || approve.isSuccess;
  const isBroken = edited !== null && editProblem(request, edited) !== null;
  const [open, setOpen] = useState<Panel | null>(null);
  const [isAsked, setAsked] = useState(false);
  const toggle = (what: Panel) => setOpen(open === what ? null : what);
  const toggleEditor = () => {
    setAsked(edited === null);
    change({ edited: edited === null ? editableText(request) : null });
  };
  const keyWorks = useEditKey(toggleEditor, sent);
  const updatedInput = changedInput(request, edited);
  const allowWith = updatedInput === undefined ? {} : { updatedInput };
  const offers = alwaysAllowOffers(request);
  const edits = editsOffer(request);
  const habit = useRuleOffer(request);
  const granting = { approve, off: sent || isBroken || request.held !== undefined, allowWith };
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        {edited === null ? (
          <AskedInput request={request} folder={folder} />
        ) : (
          <ErrorBoundary name="The editor" fallback={<AskedInput request={request} folder={folder} />}>
            <InputEditor
              request={request}
              edited={edited}
              takesFocus={isAsked}
              disabled={sent}
              refusal={isRefusedInput(approve.error) ? approve.error.message : null}
              change={(text) => change({ edited: text })}
            />
          </ErrorBoundary>
        )}
        {request.inputChange !== undefined && (
          <ChangedInput toolName={request.toolName} {...request.inputChange} folder={folder} />
        )}
        <RisksLine stakes={request.stakes} />
        <Why request={request} folder={folder} />
        <div className={content.disclosures}>
          <Disclosure
            isOpen={edited !== null}
            disabled={sent}
            hint={{ key: 'E', isOff: !keyWorks }}
            onClick={toggleEditor}
          >
            {edited === null ? 'Edit before allowing' : 'Discard changes'}
          </Disclosure>
          {edits !== null && (
            <Disclosure isOpen={open === 'edits'} onClick={() => toggle('edits')}>
              Allow edits …
            </Disclosure>
          )}
          {(offers.length > 0 || habit !== null) && (
            <Disclosure isOpen={open === 'always'} onClick={() => toggle('always')}>
              {habit === null ? 'Always allow …' : `Always allow (allowed ${habit.times} times) …`}
            </Disclosure>
          )}
          <Disclosure isOpen={open === 'steps'} onClick={() => toggle('steps')}>
            Recent activity
          </Disclosure>
        </div>
        {open === 'edits' && edits !== null && <AllowEdits offer={edits} {...granting} />}
        {open === 'always' && <AlwaysAllow request={request} offers={offers} habit={habit} {...granting} />}
        {open === 'steps' && <LastSteps request={request} />}
      </div>
      <VerdictActions
        request={request}
        approve={approve}
        reasonLabel="Tell Claude why (optional)"
        allowWith={allowWith}
        incomplete={isBroken}
        showsRefusal={edited !== null}
      />
    </>
  );
}

/** E opens the editor while the form is armed. @returns whether the key works now */
function useEditKey(open: () => void, isOff: boolean): boolean {
  const { mayKeyDecide } = useDecision();
  const keysWork = useKeysWork();
  useShortcuts({
    e: (event) => {
      if (isOff || !mayKeyDecide(event)) return false;
      open();
      return true;
    },
  });
  return keysWork && !isOff;
}

/** What Claude says the call is for, and why it is asked for, where that says anything. */
export function Why({ request, folder }: { request: PendingRequest; folder: string | null }) {
  const { description, reason, blockedPath, leavesSandbox, toolName, input } = request;
  const isSaid = toolText(toolName, input, folder).object === visibleText(description ?? '', 'prose');
  const why = realReason(reason);
  return (
    <>
      {description !== null && description !== '' && !isSaid && (
        <p className={css.why}>
          Claude: <Seen text={description} kind="prose" />
        </p>
      )}
      {blockedPath !== null && (
        <p className={css.why}>{visibleText(blockedPathText(blockedPath, folder), 'command')}</p>
      )}
      {leavesSandbox !== null && <LeavesSandbox reason={leavesSandbox.reason} />}
      {leavesSandbox === null && why !== null && <p className={css.why}>{visibleText(why, 'prose')}</p>}
    </>
  );
}

interface DisclosureProps extends Pick<ButtonProps, 'children' | 'disabled'> {
  isOpen: boolean;
  /** The key that does the same. */
  hint?: { key: string; isOff: boolean };
  onClick: () => void;
}

/** Unfolds or folds details that most decisions do not need. */
function Disclosure({ isOpen, hint, ...props }: DisclosureProps) {
  return (
    <Button
      variant="subtle"
      size="compact-sm"
      fw={500}
      aria-expanded={isOpen}
      aria-keyshortcuts={hint?.isOff === false ? hint.key.toLowerCase() : undefined}
      rightSection={hint === undefined ? null : <KeyHint isOff={hint.isOff}>{hint.key}</KeyHint>}
      leftSection={<IconChevronRight className={content.chevron} size={14} aria-hidden />}
      classNames={{ section: content.chevronSection }}
      {...props}
    />
  );
}
