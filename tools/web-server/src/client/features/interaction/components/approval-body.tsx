import { visibleText } from '@callboard/contract';
import { Button, type ButtonProps } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useState } from 'react';
import { relativePath } from '../../../lib/paths.ts';
import { asSentence } from '../../../lib/request-text.ts';
import { toolWords } from '../../../lib/tool-words.ts';
import { ErrorBoundary, lazyComponent } from '../../../ui/error-boundary.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { StakesLine } from '../../../ui/stakes-line.tsx';
import { useDraft } from '../api/use-draft.ts';
import { useFolder } from '../api/use-request.ts';
import { alwaysAllowOffers } from '../model/always-allow-offers.ts';
import { changedInput, editableText, editProblem } from '../model/edited-input.ts';
import type { FormProps } from '../model/verdict.ts';
import { AlwaysAllow } from './always-allow.tsx';
import { AskedInput } from './asked-input.tsx';
import content from './content.module.css';
import { LastSteps } from './last-steps.tsx';
import { LeavesSandbox } from './leaves-sandbox.tsx';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { isRefusedInput, VerdictActions } from './verdict-actions.tsx';

const InputEditor = lazyComponent(() => import('./input-editor.tsx'));

/** Describes the path that made Claude Code ask: inside or outside the stage's folder. */
function pathWords(path: string, folder: string | null): string {
  const inFolder = relativePath(path, folder);
  return inFolder === path ? `Outside of the stage's folder: ${path}` : `On ${inFolder}`;
}

/** A tool call that waits for permission: what would run, on what, and why Claude Code asks. */
export function ApprovalBody({ request, approve }: FormProps) {
  const folder = useFolder(request.stageId);
  const [{ edited }, change] = useDraft(request);
  const { description, reason, blockedPath } = request;
  const isSaid = toolWords(request.toolName, request.input, folder).object === visibleText(description ?? '', 'prose');
  const sent = approve.isPending || approve.isSuccess;
  const isBroken = edited !== null && editProblem(request, edited) !== null;
  const offers = alwaysAllowOffers(request);
  const [open, setOpen] = useState<'always' | 'steps' | null>(null);
  const toggle = (what: 'always' | 'steps') => setOpen(open === what ? null : what);
  const updatedInput = changedInput(request, edited);
  const allowWith = updatedInput === undefined ? {} : { updatedInput };
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
              disabled={sent}
              refusal={isRefusedInput(approve.error) ? approve.error.message : null}
              change={(text) => change({ edited: text })}
            />
          </ErrorBoundary>
        )}
        <StakesLine stakes={request.stakes} />
        <div>
          {description !== null && !isSaid && (
            <p>
              <Seen text={description} kind="prose" />
            </p>
          )}
          {blockedPath !== null && <p className={css.why}>{visibleText(pathWords(blockedPath, folder), 'command')}</p>}
          {request.leavesSandbox === null ? (
            <p className={css.why}>Why it asks: {visibleText(asSentence(reason ?? 'no rule allows it'), 'prose')}</p>
          ) : (
            <LeavesSandbox reason={request.leavesSandbox.reason} />
          )}
        </div>
        <div className={content.disclosures}>
          <Disclosure
            isOpen={edited !== null}
            disabled={sent}
            onClick={() => change({ edited: edited === null ? editableText(request) : null })}
          >
            {edited === null ? 'Edit before allowing' : 'Leave as asked'}
          </Disclosure>
          {offers.length > 0 && (
            <Disclosure isOpen={open === 'always'} onClick={() => toggle('always')}>
              Always allow …
            </Disclosure>
          )}
          <Disclosure isOpen={open === 'steps'} onClick={() => toggle('steps')}>
            The last steps
          </Disclosure>
        </div>
        {open === 'always' && (
          <AlwaysAllow
            request={request}
            offers={offers}
            approve={approve}
            off={sent || isBroken}
            allowWith={allowWith}
          />
        )}
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

interface DisclosureProps extends Pick<ButtonProps, 'children' | 'disabled'> {
  isOpen: boolean;
  onClick: () => void;
}

/** Unfolds or folds details that most decisions do not need. */
function Disclosure({ isOpen, ...props }: DisclosureProps) {
  return (
    <Button
      variant="subtle"
      size="compact-sm"
      fw={500}
      aria-expanded={isOpen}
      leftSection={<IconChevronRight className={content.chevron} size={14} aria-hidden />}
      classNames={{ section: content.chevronSection }}
      {...props}
    />
  );
}
